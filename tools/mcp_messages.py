"""The messages of MCP that Median writes and reads as a client. Pure: bytes and answers in, JSON out."""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, visible
from tools.client import Answer
from tools.manifest import MAX_DESCRIPTION, MAX_LABEL

VERSION: Final = "2025-11-25"
VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26")
OPENING: Final = "open"
PAUSE_S: Final = 1.0  # until a stream that ended is asked for again, where it does not say
LEAST_PAUSE_S: Final = 0.2
_LINE: Final = re.compile(r"\r\n|\n|\r")
_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")  # of an event


class Fault(Exception):
    """An answer that is no answer of the protocol. Its text says why."""


class ServerError(Fault):
    """The server answered with an error of the protocol; the text is its message."""


def session_of(answer: Answer) -> str:
    """The id of the session that an answer opens, or "". Raises Fault for one that no header could carry back."""
    named = answer.headers.get("mcp-session-id", "")
    if not (named.isascii() and (named.isprintable() or not named)):
        raise Fault("The id of its session cannot be sent back.")
    return named


def _message(method: str, params: dict[str, Json] | None = None, *, id: str = "") -> bytes:
    message: dict[str, Json] = {"jsonrpc": "2.0", "method": method}
    if id:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return strict_json.dumps(message).encode()


INITIALIZE: Final = _message(
    "initialize",
    {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "median", "version": "1"}},
    id=OPENING,
)
INITIALIZED: Final = _message("notifications/initialized")


def page_id(number: int) -> str:
    return f"list-{number}"


def list_tools(number: int, *, cursor: str) -> bytes:
    """The request for a page of tools, the first with the number 0 and no cursor."""
    return _message("tools/list", {"cursor": cursor} if cursor else {}, id=page_id(number))


def result(answer: Answer, *, id: str) -> dict[str, Json]:
    """The result of the request `id`, from an answer of status 200: JSON, or the first fitting event of a stream.

    Raises ServerError, or Fault when there is none.
    """
    for text in _texts(answer):
        if (message := _answering(text, id=id)) is None:
            continue
        error, found = message.get("error"), message.get("result")
        if isinstance(error, dict):
            raise ServerError(visible(str(error.get("message") or "It gave no reason."))[0])
        if isinstance(found, dict):
            return found
    raise Fault("The answer holds no result.")


class Resumption(NamedTuple):
    """How to go on with a stream of events that ended before the answer came."""

    last_event: str
    after_s: float


def resumption(answer: Answer, *, id: str) -> Resumption | None:
    """Where the stream of an answer goes on, if it ended without what was asked for and says where it ended."""
    if not _is_stream(answer.headers.get("content-type", "")):
        return None
    try:
        if any(_answering(text, id=id) is not None for text in _events(answer.text)):
            return None
    except Fault:
        return None
    said = dict(line.split(":", 1) for line in _LINE.split(answer.text) if ":" in line)
    last, after = said.get("id", "").strip(), said.get("retry", "").strip()
    if not last or not (last.isascii() and last.isprintable()):
        return None
    return Resumption(last, max(int(after) / 1000, LEAST_PAUSE_S) if after.isdecimal() and len(after) < 9 else PAUSE_S)


class Awaited:
    """Tells, while a stream of events comes in, when the answer of the request `id` has: a server may keep it open."""

    def __init__(self, id: str) -> None:
        self._id = id
        self._event = bytearray()

    def __call__(self, content_type: str, piece: bytes) -> bool:
        """Whether nothing more is awaited: the answer is there, or what breaks it."""
        if not _is_stream(content_type):
            return False
        searched = max(0, len(self._event) - 3)  # an end may have come in two pieces
        self._event += piece
        while end := _END.search(self._event, searched):
            texts = list(_events(self._event[: end.end()].decode(errors="replace")))
            del self._event[: end.end()]
            searched = 0
            if any(self._is_it(text) for text in texts):
                return True
        return False

    def _is_it(self, text: str) -> bool:
        try:
            return _answering(text, id=self._id) is not None
        except Fault:
            return True


def tools_of(listed: dict[str, Json]) -> tuple[list[Json], str]:
    """A page's tools, and the cursor of the next page or ""."""
    tools, cursor = listed.get("tools"), listed.get("nextCursor")
    if not isinstance(tools, list):
        raise Fault("/tools: The tools must be a list.")
    if not isinstance(cursor, str):
        return tools, ""
    if strict_json.has_nul_or_surrogate(cursor):
        raise Fault("/nextCursor: It holds what cannot be sent back.")
    return tools, cursor


def manifest_of(tools: list[Json]) -> bytes:
    """The tools of a server as a manifest serves them: what is wrong with one is told as it is of any other."""
    served: Json = {"version": 1, "sdk": "MCP", "tools": [_served(tool) for tool in tools]}
    try:
        return strict_json.dumps(served).encode()
    except JsonError:  # half a character, which is the one tool's fault
        return json.dumps(served).encode()


def _served(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    title = tool.get("title") or hints.get("title")
    reads_only = hints.get("readOnlyHint") is True and hints.get("destructiveHint") is not True
    served: dict[str, Json] = {
        "name": tool.get("name"),
        "description": _cut(tool.get("description") or title or tool.get("name"), MAX_DESCRIPTION),
        "risk": "low" if reads_only else "high",
        "input": tool.get("inputSchema"),
        "annotations": hints,
    }
    return served | ({"label": _cut(title, MAX_LABEL)} if title else {})


def _cut(text: Json, longest: int) -> Json:
    """Who wrote the server cannot be asked for fewer words, as who writes a manifest can."""
    return f"{text[: longest - 1]}…" if isinstance(text, str) and len(text) > longest else text


def _answering(text: str, *, id: str) -> dict[str, Json] | None:
    """The message if it answers the request `id`; a server sends others too. Raises Fault for what is no JSON."""
    try:
        message = strict_json.loads(text)
    except JsonError as broken:
        raise Fault(f"The answer is not JSON: {broken}") from broken
    answers = isinstance(message, dict) and message.get("id") == id and "method" not in message
    return message if answers and isinstance(message, dict) else None


def _is_stream(content_type: str) -> bool:
    return content_type.lower().startswith("text/event-stream")


def _texts(answer: Answer) -> Iterator[str]:
    """The JSON texts of an answer: the body, or the data of each event."""
    if _is_stream(answer.headers.get("content-type", "")):
        yield from _events(answer.text)
    else:
        yield answer.text


def _events(stream: str) -> Iterator[str]:
    data: list[str] = []
    for line in [*_LINE.split(stream), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            text, data = "\n".join(data), []
            if text.strip():  # a stream may begin with an empty event, for resuming
                yield text
