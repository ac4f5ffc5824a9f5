"""Whether what a person, a program or an imported document wrote is the definition of an HTTP tool. Pure."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, visible_json
from tools import characters, manifest, schema, subschemas
from tools.http_definitions import METHODS, PLACEHOLDER, PLACES, Definition, Parameter, Place, Subject
from tools.manifest import label_from_name
from tools.schema import SchemaError

MAX_URL: Final = 2_000
MAX_PARAMETERS: Final = 50

_NAME: Final = re.compile("[A-Za-z][A-Za-z0-9_-]{0,63}")
# What every model's API takes as a key.
_KEY: Final = re.compile("[A-Za-z0-9_.-]{1,64}")
KEY_RULE: Final = "1 to 64 letters, digits, _, . or -"
_PLAIN: Final = {"string", "integer", "number", "boolean", "null"}


class Fault(NamedTuple):
    """What is wrong with a definition: the field, as parameters[2].schema, and a sentence."""

    field: str
    message: str


TOO_MANY: Final = Fault("parameters", f"The parameters are a list of at most {MAX_PARAMETERS}.")


def read(raw: Mapping[str, Json]) -> tuple[Definition | None, list[Fault]]:
    """Check what a person or program wrote, in the form of `as_json`; a schema may be JSON text.

    Gives the definition, or None and every fault. Whether the URL's host may be called is not asked here.
    """
    faults: list[Fault] = []
    parameters = tuple(_parameters(raw.get("parameters") or [], faults))
    made = Definition(
        name=_text(raw, "name"),
        label=characters.disarmed(_text(raw, "label")) or label_from_name(_text(raw, "name")),
        description=characters.disarmed(_text(raw, "description")),
        risk=_text(raw, "risk") or "high",
        method=_text(raw, "method").upper() or "GET",
        url=_text(raw, "url"),
        parameters=parameters,
        subject=_subject(raw.get("subject"), faults),
        requires=_text(raw, "requires"),
        session_start=raw.get("sessionStart") is True,
    )
    faults += found(made)
    return (None if faults else made), faults


def found(made: Definition) -> list[Fault]:
    """What is wrong with a definition whose parameters were checked one by one."""
    return [*_wording(made), *_url(made), *_whole(made)]


def _text(raw: Mapping[str, Json], key: str) -> str:
    value = raw.get(key)
    return cast(str, visible_json(value.strip())) if isinstance(value, str) else ""


def _parameters(raw: Json, faults: list[Fault]) -> Iterator[Parameter]:
    if not isinstance(raw, list) or len(raw) > MAX_PARAMETERS:
        faults.append(TOO_MANY)
        return
    for at, each in enumerate(raw):
        field = f"parameters[{at}]"
        if not isinstance(each, dict):
            faults.append(Fault(field, "A parameter has a name, a place and a schema."))
            continue
        name, place = _text(each, "name"), _text(each, "place")
        if not _KEY.fullmatch(name):
            faults.append(Fault(f"{field}.name", f"A parameter's name has {KEY_RULE}."))
        if place not in PLACES:
            faults.append(Fault(f"{field}.place", f"The place of {name or 'a parameter'} is path, query or body."))
        checked: dict[str, Json] = {}
        try:
            checked = parameter_schema(each.get("schema"), place=place)
        except SchemaError as error:
            faults.append(Fault(f"{field}.schema", f"The schema of {name or 'this parameter'}: {error}"))
        yield Parameter(name, checked, bool(each.get("required")), cast(Place, place))


def check_key(name: str) -> None:
    """Raises SchemaError for a name that a parameter cannot have."""
    if not _KEY.fullmatch(name):
        raise SchemaError(f"A parameter's name has {KEY_RULE}.")


def parameter_schema(raw: Json, *, place: str) -> dict[str, Json]:
    """A parameter's schema, given as an object or as JSON text, if its values can stand there. Raises SchemaError."""
    try:
        value = strict_json.loads(raw) if isinstance(raw, str) else raw
        text = strict_json.dumps(value)
    except JsonError as error:
        raise SchemaError(error.message, error.path) from error
    if not isinstance(value, dict):
        raise SchemaError('It must be a JSON Schema, as {"type": "string"}.')
    _check(text, place)
    return value


@lru_cache(maxsize=1024)  # a document says the same of the same parameter again and again
def _check(text: str, place: str) -> None:
    if '"$ref"' in text:
        raise SchemaError("A parameter's schema stands alone, without $ref.")
    schema.check(f'{{"type":"object","properties":{{"value":{text}}}}}')
    if place != "body":
        value = cast(dict[str, Json], strict_json.loads(text))
        kinds = _kinds(value)
        allowed = _PLAIN | ({"array"} if place == "query" else set())
        if not kinds or not kinds <= allowed:
            what = "a text, number or boolean" if place == "path" else "a text, number, boolean, or an array of them"
            raise SchemaError(f"In the {place} only {what} can stand, and the schema must say which.")
        items = [part.get("items") for part in subschemas.in_place(value, root=value)] if "array" in kinds else []
        if "array" in kinds and not any(items):
            raise SchemaError("An array in the query must say what its items are.")
        if any(not _kinds(item) or not _kinds(item) <= _PLAIN for item in items if item is not None):
            raise SchemaError("The items of an array in the query are texts, numbers or booleans.")


def _kinds(value: Json) -> set[str]:
    """The types that a schema names, itself or by its constants; empty when it names none."""
    kinds: set[str] = set()
    for part in subschemas.in_place(value, root=value if isinstance(value, dict) else {}):
        said = part.get("type")
        kinds |= {str(kind) for kind in (said if isinstance(said, list) else [said]) if kind}
        constants = part.get("enum", [part["const"]] if "const" in part else [])
        if not said and isinstance(constants, list):
            kinds |= {_kind(constant) for constant in constants}
    return kinds


def _kind(value: Json) -> str:
    named = {str: "string", bool: "boolean", int: "integer", list: "array", type(None): "null"}
    return "object" if isinstance(value, dict) else named.get(type(value), "number")


def _subject(raw: Json, faults: list[Fault]) -> Subject | None:
    if not raw:
        return None
    name, place = (_text(raw, "name"), _text(raw, "place")) if isinstance(raw, dict) else ("", "")
    if not _KEY.fullmatch(name):
        faults.append(Fault("subject.name", f"The subject's name has {KEY_RULE}."))
    if place not in PLACES:
        faults.append(Fault("subject.place", "The subject's place is path, query or body."))
    return Subject(name, cast(Place, place))


def _wording(made: Definition) -> Iterator[Fault]:
    if not _NAME.fullmatch(made.name):
        yield Fault("name", "The name must be a letter and then up to 63 letters, digits, _ or -.")
    if characters.is_blank(made.label) or len(made.label) > manifest.MAX_LABEL:
        yield Fault("label", f"The label has 1 to {manifest.MAX_LABEL} characters.")
    if characters.is_blank(made.description) or len(made.description) > manifest.MAX_DESCRIPTION:
        yield Fault("description", f"The description has 1 to {manifest.MAX_DESCRIPTION:,} characters.")
    if made.risk not in manifest.RISKS:
        yield Fault("risk", "The risk is low, medium, reviewed or high.")
    if made.method not in METHODS:
        yield Fault("method", "The method is GET, POST, PUT, PATCH or DELETE.")
    if len(made.requires) > manifest.MAX_REQUIRES:
        yield Fault("requires", f"The required entitlement has at most {manifest.MAX_REQUIRES} characters.")


def _url(made: Definition) -> Iterator[Fault]:
    """The URL's own shape, and that its placeholders and the path parameters are the same, each once."""
    if len(made.url) > MAX_URL or not re.fullmatch("https?://[^\\s\\\\\x00-\x1f\x7f]+", made.url):
        yield Fault("url", "The URL must start with https:// and hold no spaces.")
        return
    head, _, _ = made.url.partition("#")
    outside = PLACEHOLDER.sub("", made.url)
    beyond_path = made.url.split("/")[2] + made.url[len(head.partition("?")[0]) :]
    if "{" in outside or "}" in outside or "{" in beyond_path:
        yield Fault("url", "A {placeholder} stands in the path of the URL, and nowhere else.")
    if "#" in made.url:
        yield Fault("url", "The URL must not have a part after #.")
    sample = urlsplit(PLACEHOLDER.sub("x", head))
    if any(unquote(segment) in {".", ".."} for segment in sample.path.split("/")):
        yield Fault("url", "The path of the URL must not hold . or .. as a part.")
    found = PLACEHOLDER.findall(made.url)
    path = [each.name for each in made.parameters if each.place == "path"]
    path += [made.subject.name] if made.subject and made.subject.place == "path" else []
    for name in dict.fromkeys([*found, *path]):
        if found.count(name) > 1:
            yield Fault("url", f"{{{name}}} stands more than once in the URL.")
        elif name not in path:
            yield Fault("url", f"{{{name}}} in the URL has no path parameter of that name.")
        elif name not in found:
            yield Fault("url", f"The path parameter {name} has no {{{name}}} in the URL.")


def _whole(made: Definition) -> Iterator[Fault]:
    names = [each.name for each in made.parameters]
    for at, each in enumerate(made.parameters):
        if each.name in names[:at]:
            yield Fault(f"parameters[{at}].name", f"Two parameters are called {each.name}.")
        if each.place == "path" and not each.required:
            yield Fault(f"parameters[{at}].required", f"{each.name} stands in the path, so it is always required.")
    if made.subject and made.subject.name in names:
        yield Fault(
            "subject.name", f"A parameter is called {made.subject.name} already; the subject is filled for you."
        )
    if made.session_start and any(each.required for each in made.parameters):
        yield Fault("sessionStart", "A tool that runs at session start has nobody to give it a value but the subject.")
    if made.session_start and made.risk != "low":
        yield Fault("sessionStart", "Only a tool of low risk runs at session start: nobody is asked before it.")
    if len(names) > MAX_PARAMETERS:
        yield TOO_MANY
    elif len(set(names)) == len(names):
        try:
            schema.check_together(made.input_schema)  # each parameter's part of it was checked
        except SchemaError as error:
            yield Fault("parameters", str(error))
