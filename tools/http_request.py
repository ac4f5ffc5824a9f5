"""The request of an HTTP tool: definition, input and subject in; method, URL and body out. Pure.

A path value stays in its own segment, whatever it holds and however often the server decodes it.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from median_site.lib import strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from tools.http_definitions import PLACEHOLDER, Definition

_DECODINGS: Final = 8


class Request(NamedTuple):
    """What leaves; `body` is None when the request has none."""

    method: str
    url: str
    body: bytes | None


class BadValue(DomainError):
    """A value that cannot stand where its parameter goes; `field` is the parameter."""

    code = "invalid_input"
    status = 422

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message, field=name)


def build(definition: Definition, values: Mapping[str, Json], *, subject: str) -> Request:
    """The request for an input that fits the definition's schema. Raises BadValue.

    `subject` goes where the definition places it; a value of that name in `values` is never used.
    """
    placed = {place: dict(_placed(definition, values, place, subject)) for place in ("path", "query", "body")}
    url = _path(definition, placed["path"])
    query = "&".join(_pairs(placed["query"]))
    if query:
        url += ("&" if "?" in url else "?") + query
    has_body = any(each.place == "body" for each in (*definition.parameters, definition.subject) if each)
    return Request(definition.method, url, strict_json.dumps(placed["body"]).encode() if has_body else None)


def check(definition: Definition, values: Mapping[str, Json]) -> list[BadValue]:
    """What no schema refuses: values of an input that could not be placed in the request."""
    faults = []
    for each in definition.parameters:
        if each.place == "body" or each.name not in values:
            continue
        try:
            if each.place == "path":
                _segment_part(each.name, values[each.name])
            else:
                list(_pairs({each.name: values[each.name]}))
        except BadValue as fault:
            faults.append(fault)
    return faults


def _placed(definition: Definition, values: Mapping[str, Json], place: str, subject: str) -> Iterator[tuple[str, Json]]:
    for each in definition.parameters:
        if each.place == place and each.name in values:
            yield each.name, values[each.name]
    if definition.subject and definition.subject.place == place:
        yield definition.subject.name, subject


def _path(definition: Definition, values: Mapping[str, Json]) -> str:
    url, question, rest = definition.url.partition("?")
    parts = url.split("/")
    for at, part in enumerate(parts):
        names = PLACEHOLDER.findall(part)
        if not names:
            continue
        for name in names:
            if name not in values:
                raise BadValue(name, f"{name} is needed to run this.")
            part = part.replace(f"{{{name}}}", _segment_part(name, values[name]), 1)
        if _decoded(part).partition(";")[0] in {".", ".."}:
            raise BadValue(names[0], f"{names[0]} must not make a part of the path that is . or ..")
        parts[at] = part
    return "/".join(parts) + question + rest


def _segment_part(name: str, value: Json) -> str:
    """A path value, encoded. One that some server could take for more than a part of its segment is refused."""
    text = _plain(name, value)
    if not text:
        raise BadValue(name, f"{name} must not be empty: it stands in the path.")
    decoded = _decoded(text)
    if "/" in decoded or "\\" in decoded:
        raise BadValue(name, f"{name} must not hold / or \\: it is one part of the path.")
    if decoded.partition(";")[0] in {".", ".."}:  # some servers read ..;x as ..
        raise BadValue(name, f"{name} must not be . or ..: it is one part of the path.")
    return quote(text, safe="")


def _decoded(text: str) -> str:
    """The text as a server sees it that decodes again and again."""
    for _ in range(_DECODINGS):
        if text == (text := unquote(text)):
            break
    return text


def _pairs(values: Mapping[str, Json]) -> Iterator[str]:
    """The query: an array repeats its key, null leaves it out."""
    for name, value in values.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                yield f"{quote(name, safe='')}={quote(_plain(name, each), safe='')}"


def _plain(name: str, value: Json) -> str:
    """A text as it is; a number or boolean as JSON writes it."""
    if isinstance(value, dict | list) or value is None:
        raise BadValue(name, f"{name} must be a text, a number or a boolean here.")
    return value if isinstance(value, str) else strict_json.dumps(value)
