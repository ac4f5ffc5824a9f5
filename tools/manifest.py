"""Reading a manifest: what an endpoint says its tools are. Pure. One tool that is wrong never costs the others."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, visible, visible_json
from tools import characters, schema
from tools.schema import SchemaError

MAX_BYTES: Final = 1_000_000
MAX_TOOLS: Final = 100
MAX_LABEL: Final = 80
MAX_DESCRIPTION: Final = 2_000
MAX_REQUIRES: Final = 100
RISKS: Final = ("low", "medium", "reviewed", "high")

_NAME: Final = re.compile("[A-Za-z][A-Za-z0-9_-]{0,63}")
_WORD: Final = re.compile("[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_KNOWN: Final = {"name", "label", "description", "risk", "input", "sessionStart", "requires"}

ManifestCode = Literal["too_large", "not_json", "invalid_manifest", "too_many_tools"]
RefusalCode = Literal["invalid_tool", "duplicate_tool"]


class ManifestError(Exception):
    """A manifest of which nothing can be used. `path` is a JSON pointer, "" for the whole."""

    def __init__(self, code: ManifestCode, message: str, path: str = "") -> None:
        super().__init__(message)
        self.code: ManifestCode = code
        self.message = f"{path}: {message}" if path else message
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestTool:
    """One tool as the endpoint serves it. `input_schema` is JSON text; `extra` keeps the fields not known here."""

    name: str
    label: str
    description: str
    risk: str
    input_schema: str
    session_start: bool
    requires: str | None
    extra: dict[str, Json]
    content_hash: str


@dataclass(frozen=True, slots=True)
class RefusedTool:
    """A tool that is left out: its name as far as it has one, the JSON pointer of the fault, and why."""

    name: str
    path: str
    reason: str
    code: RefusalCode = "invalid_tool"


@dataclass(frozen=True, slots=True)
class Manifest:
    version: int
    sdk: str
    tools: list[ManifestTool]
    refused: list[RefusedTool]


class _Fault(Exception):
    """What is wrong with one tool, and where in it."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def parse(body: bytes) -> Manifest:
    """Read a manifest as it came over the wire. Raises ManifestError; a tool that is wrong is in `refused` instead."""
    if len(body) > MAX_BYTES:
        raise ManifestError("too_large", "The manifest is larger than 1 MB.")
    try:
        read, repeats = strict_json.loads_noting_repeats(body)
    except JsonError as error:
        raise ManifestError("not_json", error.message, error.path) from error
    if not isinstance(read, dict):
        raise ManifestError("invalid_manifest", "The manifest must be an object.")
    for key in ("version", "sdk", "tools"):
        if f"/{key}" in repeats:
            raise ManifestError("invalid_manifest", "The key stands twice.", f"/{key}")
    version, sdk, served = read.get("version"), read.get("sdk"), read.get("tools")
    if version != 1 or isinstance(version, bool):
        raise ManifestError("invalid_manifest", "The version must be 1.", "/version")
    if not isinstance(served, list):
        raise ManifestError("invalid_manifest", "The tools must be a list.", "/tools")
    if len(served) > MAX_TOOLS:
        raise ManifestError("too_many_tools", f"A manifest has at most {MAX_TOOLS} tools.", "/tools")
    tools, refused = _sorted_out(served, repeats)
    return Manifest(1, visible(sdk)[0] if isinstance(sdk, str) else "", tools, refused)


def label_from_name(name: str) -> str:
    """A tool's name in words: "refundOrder" and "refund_order" are "Refund order", "orderID" is "Order ID"."""
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(name)]
    line = " ".join(words) or name
    return line[:1].upper() + line[1:]


def _sorted_out(served: list[Json], repeats: list[str]) -> tuple[list[ManifestTool], list[RefusedTool]]:
    tools: list[ManifestTool] = []
    refused: list[RefusedTool] = []
    times = Counter(_name(tool) for tool in served)
    for at, tool in enumerate(served):
        path, name = f"/tools/{at}", _name(tool)
        twice = [repeat for repeat in repeats if repeat.startswith(f"{path}/")]
        if name and times[name] > 1:
            reason = f"{times[name]} tools of this manifest have this name."
            refused.append(RefusedTool(name, f"{path}/name", reason, "duplicate_tool"))
        elif twice:
            refused.append(RefusedTool(name, twice[0], "The key stands twice.", "duplicate_tool"))
        else:
            try:
                tools.append(_tool(tool))
            except _Fault as fault:
                refused.append(RefusedTool(name, path + fault.path, fault.message))
    return tools, refused


def _name(tool: Json) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return visible(name)[0][:MAX_LABEL] if isinstance(name, str) else ""


def _tool(tool: Json) -> ManifestTool:
    if not isinstance(tool, dict):
        raise _Fault("A tool must be an object.")
    name = tool.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _Fault("The name must be a letter and then up to 63 letters, digits, _ or -.", "/name")
    risk = tool.get("risk", "low")
    if not isinstance(risk, str) or risk not in RISKS:
        raise _Fault("The risk must be low, medium, reviewed or high.", "/risk")
    try:
        compiled = schema.compile_schema(_schema(tool))
    except SchemaError as error:
        raise _Fault(error.message, f"/input{error.path}") from error
    session_start = tool.get("sessionStart") or False
    if not isinstance(session_start, bool):
        raise _Fault("sessionStart must be true or false.", "/sessionStart")
    if session_start and compiled.needs_input:
        raise _Fault("A tool that needs input cannot run at the start of a session.", "/sessionStart")
    description, requires = _text(tool, "description", MAX_DESCRIPTION), _text(tool, "requires", MAX_REQUIRES)
    if description is None:
        raise _Fault("A tool must have a description.", "/description")
    label = _text(tool, "label", MAX_LABEL) or label_from_name(name)
    extra = {visible(key)[0]: visible_json(value) for key, value in tool.items() if key not in _KNOWN}
    content: list[Json] = [name, label, description, risk, compiled.schema, session_start, requires, extra]
    return ManifestTool(
        name=name,
        label=label,
        description=description,
        risk=risk,
        input_schema=strict_json.dumps(compiled.schema),
        session_start=session_start,
        requires=requires,
        extra=extra,
        content_hash=hashlib.sha256(strict_json.dumps(content, sort_keys=True).encode()).hexdigest(),
    )


def _schema(tool: Mapping[str, Json]) -> Json:
    """The tool's own schema; a text is none, though the compiler would read one."""
    given = tool.get("input")
    if isinstance(given, str):
        raise _Fault("The input must be a JSON Schema.", "/input")
    return given


def _text(tool: Mapping[str, Json], key: str, longest: int) -> str | None:
    given = tool.get(key)
    if given is None:
        return None
    told = characters.disarmed(visible(given)[0]) if isinstance(given, str) else ""
    if characters.is_blank(told) or len(told) > longest:
        raise _Fault(f"The {key} must be a text of 1 to {longest:,} characters.", f"/{key}")
    return told
