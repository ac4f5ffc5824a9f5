"""An OpenAPI 3 document, in JSON, read into definitions of HTTP tools. Pure, and bounded whatever it holds.

Each operation that can be a tool becomes one; every other is listed with its reason. Nothing is fetched.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, cast
from urllib.parse import urljoin

from median_site.lib import strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json, JsonError, visible_json
from median_site.lib.text import excerpt
from tools import characters, http_checks, manifest, openapi_schemas
from tools.http_definitions import Definition, Parameter, Place
from tools.openapi_schemas import Resolver, Unresolved
from tools.schema import SchemaError

MAX_BYTES: Final = 15_000_000
MAX_OPERATIONS: Final = 5_000

_METHODS: Final = ("get", "post", "put", "patch", "delete")
_OTHERS: Final = ("head", "options", "trace", "query")
_JSON: Final = re.compile(r"application/([a-z0-9.+-]+\+)?json(\s*;.*)?|\*/\*|application/\*", re.IGNORECASE)
_UNSTORABLE: Final = re.compile(rb"\\u(0000|[dD][89a-fA-F])")  # a NUL or half a character, as JSON escapes them
_IGNORED_HEADERS: Final = {"accept", "content-type", "authorization"}  # OpenAPI has no meaning for these


class NotOpenApi(DomainError):
    """A document of which nothing can be used."""

    code = "not_openapi"
    status = 422


class Operation(NamedTuple):
    """`where` is the method and path; `left_out` are optional parameters that the tool goes without, and why."""

    where: str
    definition: Definition
    left_out: list[str]


class Unsupported(NamedTuple):
    """An operation that is no tool, and why."""

    where: str
    reason: str


class Read(NamedTuple):
    operations: list[Operation]
    unsupported: list[Unsupported]


class _Reason(Exception):
    """Why an operation cannot be a tool."""


@dataclass(frozen=True, slots=True)
class _Found:
    """One operation as it stands in the document, with what its path says for all of its operations."""

    path: str
    method: str
    item: Mapping[str, Json]
    said: Mapping[str, Json]

    @property
    def where(self) -> str:
        return excerpt(f"{self.method.upper()} {self.path}", 200)

    @property
    def id(self) -> str:
        said = self.said.get("operationId")
        return said if isinstance(said, str) and said.strip() else f"{self.method}_{self.path.strip('/')}"


def read(document: str | bytes, *, server: str = "", only: str = "") -> Read:
    """Read a document. `server` is the base URL where it names none, or a relative one's; `only` picks operations
    whose operation id or path contains it. Raises NotOpenApi, and nothing else.
    """
    root = _root(document)
    resolver = Resolver(root)
    operations: list[Operation] = []
    unsupported: list[Unsupported] = []
    names: set[str] = set()
    for found in _operations(root, resolver, only.strip().lower(), unsupported):
        try:
            operation = _operation(found, root, resolver, server=server.strip(), names=names)
        except (_Reason, Unresolved) as why:
            unsupported.append(Unsupported(found.where, str(why)))
        else:
            names.add(operation.definition.name)
            operations.append(operation)
    return Read(operations, unsupported)


def _root(document: str | bytes) -> dict[str, Json]:
    raw = document.encode(errors="replace") if isinstance(document, str) else document
    if len(raw) > MAX_BYTES:
        raise NotOpenApi("The document is larger than 15 MB.", field="document")
    try:
        root = strict_json.loads(raw)
    except JsonError as error:
        hint = " A YAML document must be turned into JSON first." if _looks_like_yaml(raw) else ""
        raise NotOpenApi(f"The document is not JSON. {error}{hint}", field="document") from error
    if not isinstance(root, dict):
        raise NotOpenApi("The document must be a JSON object.", field="document")
    version = root.get("openapi")
    if not isinstance(version, str) or not re.match(r"3\.[0-9]", version):
        raise NotOpenApi(
            'The document must say "openapi": "3.1" or another 3. Convert older ones first.', field="document"
        )
    if not isinstance(root.get("paths"), dict):
        raise NotOpenApi("The document has no paths.", field="document")
    # Only an escape brings in what cannot be stored; a document without one is not copied.
    return cast(dict[str, Json], visible_json(root)) if _UNSTORABLE.search(raw) else root


def _looks_like_yaml(document: bytes) -> bool:
    return re.search(rb"^\s*(openapi|swagger|info|paths)\s*:", document[:2_000], re.MULTILINE) is not None


def _operations(
    root: Mapping[str, Json], resolver: Resolver, only: str, unsupported: list[Unsupported]
) -> Iterator[_Found]:
    paths = cast(dict[str, Json], root["paths"])
    count = 0
    for path, held in paths.items():
        try:
            item = resolver.target(held)
        except Unresolved as why:
            unsupported.append(Unsupported(excerpt(path, 200), str(why)))
            continue
        item = {} if path.startswith("x-") or not isinstance(item, dict) else item
        more = item.get("additionalOperations")
        others = more if isinstance(more, dict) else {}
        for method in (*_METHODS, *_OTHERS, *others):
            said = item.get(method, others.get(method))
            if not isinstance(said, dict):
                continue
            found = _Found(path, method, item, said)
            if only and only not in found.path.lower() and only not in found.id.lower():
                continue
            count += 1
            if reason := _no_tool(found, count):
                unsupported.append(Unsupported(found.where, reason))
                continue
            yield found


def _no_tool(found: _Found, count: int) -> str:
    if found.method not in _METHODS:
        return "A tool is GET, POST, PUT, PATCH or DELETE."
    if not found.path.startswith("/"):
        return "A path begins with /."
    return "There are too many." if count > MAX_OPERATIONS else ""


def _operation(
    found: _Found, root: Mapping[str, Json], resolver: Resolver, *, server: str, names: set[str]
) -> Operation:
    left_out: list[str] = []
    parameters = list(_parameters(found, resolver, left_out))
    taken = {each.name for each in parameters}
    parameters += _body(found, resolver, left_out, taken=taken)
    summary, description = _words(found.said, "summary"), _words(found.said, "description")
    name, label = _name(found.id, taken=names), summary.rstrip(".")
    definition = Definition(
        name=name,
        label=label if 0 < len(label) <= manifest.MAX_LABEL else manifest.label_from_name(name),
        description=(summary or description or found.where)[: manifest.MAX_DESCRIPTION].strip(),
        risk="low" if found.method == "get" else "high",
        method=found.method.upper(),
        url=_base(found, root, server=server) + found.path,
        parameters=tuple(parameters),
    )
    if faults := http_checks.found(definition):
        raise _Reason(faults[0].message)
    return Operation(found.where, definition, left_out)


def _parameters(found: _Found, resolver: Resolver, left_out: list[str]) -> Iterator[Parameter]:
    """Those of the path and of the operation; one of the operation takes the place of the path's own."""
    said: dict[tuple[str, str], dict[str, Json]] = {}
    for held in (found.item.get("parameters"), found.said.get("parameters")):
        for each in held if isinstance(held, list) else []:
            parameter = resolver.target(each)
            if isinstance(parameter, dict):
                said[str(parameter.get("in")), str(parameter.get("name"))] = parameter
    for (place, name), parameter in said.items():
        if place == "header" and name.lower() in _IGNORED_HEADERS:
            continue
        required = parameter.get("required") is True or place == "path"
        try:
            yield _placed(name, place, parameter, resolver, required=required)
        except (SchemaError, Unresolved, _Reason) as error:
            if required:
                raise _Reason(f"The parameter {excerpt(name, 64)}: {error}") from error
            left_out.append(f"{excerpt(name, 64)}: {error}")


def _placed(name: str, place: str, parameter: Mapping[str, Json], resolver: Resolver, *, required: bool) -> Parameter:
    if place not in {"path", "query"}:
        raise _Reason(f"A tool sends nothing in a {place if place in {'header', 'cookie'} else 'place of that name'}.")
    if "content" in parameter:
        raise _Reason("It is written as a document of its own.")
    schema = resolver.schema(parameter.get("schema"))
    form, plain = (parameter.get("style"), "simple" if place == "path" else "form")
    is_list = "array" in openapi_schemas.kinds(schema)
    if form not in (None, plain) or (is_list and parameter.get("explode") is False):
        raise _Reason("It is written in a style that tools do not have.")
    http_checks.check_key(name)
    schema = http_checks.parameter_schema(_described(schema, parameter), place=place)
    return Parameter(name, schema, required, cast(Place, place))


def _body(found: _Found, resolver: Resolver, left_out: list[str], *, taken: set[str]) -> Iterator[Parameter]:
    """The fields of a JSON object in the body, each a parameter of its own."""
    body = resolver.target(found.said.get("requestBody"))
    if not isinstance(body, dict):
        return
    content = body.get("content")
    kinds = content if isinstance(content, dict) else {}
    media = next((held for kind, held in kinds.items() if _is_json(kind)), None)
    if not isinstance(media, dict):
        if body.get("required") is True or not kinds:
            raise _Reason(f"Its body is {excerpt(next(iter(kinds), '') or 'not described', 60)}; a tool's is JSON.")
        return
    fields, needed = openapi_schemas.fields(resolver.schema(media.get("schema")))
    if fields is None:
        raise _Reason("Its body is not one JSON object with named fields.")
    for name, schema in fields.items():
        required = name in needed and body.get("required") is True
        try:
            http_checks.check_key(name)
            if name in taken:
                raise _Reason("A parameter of this name stands in the path or the query.")
            checked = http_checks.parameter_schema(schema, place="body")
        except (SchemaError, _Reason) as error:
            if name in needed:
                raise _Reason(f"The field {excerpt(name, 64)}: {error}") from error
            left_out.append(f"{excerpt(name, 64)}: {error}")
            continue
        yield Parameter(name, checked, required, "body")


def _is_json(kind: str) -> bool:
    return _JSON.fullmatch(kind) is not None


def _described(schema: dict[str, Json], parameter: Mapping[str, Json]) -> dict[str, Json]:
    description = _words(parameter, "description")
    return {**schema, "description": description} if description and "description" not in schema else schema


def _base(found: _Found, root: Mapping[str, Json], *, server: str) -> str:
    """The URL that the path is appended to, the operation's own server before its path's before the document's."""
    for held in (found.said, found.item, root):
        servers = held.get("servers")
        first = servers[0] if isinstance(servers, list) and servers else None
        if isinstance(first, dict) and isinstance(first.get("url"), str):
            url = _filled(cast(str, first["url"]), first.get("variables"))
            absolute = url if re.match("https?://", url) else urljoin(server, url) if server else ""
            if not absolute:
                break
            if "?" in absolute or "#" in absolute:
                raise _Reason("A path cannot be appended to the server's URL.")
            return absolute.rstrip("/")
    if not server:
        raise _Reason("The document names no server. Give its base URL.")
    return server.rstrip("/")


def _filled(url: str, variables: Json) -> str:
    """A server's URL with the defaults of its variables."""
    for name, variable in (variables if isinstance(variables, dict) else {}).items():
        default = variable.get("default") if isinstance(variable, dict) else None
        url = url.replace(f"{{{name}}}", default if isinstance(default, str) else "")
    return url


def _name(said: str, *, taken: set[str]) -> str:
    """A tool's name from an operation id: what a name cannot hold becomes _, and a number tells equal ones apart."""
    clean = re.sub("[^A-Za-z0-9_-]+", "_", said).strip("_-")
    name = (clean if re.match("[A-Za-z]", clean) else f"op_{clean}")[:64]
    number = 2
    while name in taken:
        name = f"{re.sub('_[0-9]+$', '', name)[:60]}_{number}"
        number += 1
    return name


def _words(said: Mapping[str, Json], key: str) -> str:
    value = said.get(key)
    return characters.disarmed(" ".join(value.split())) if isinstance(value, str) else ""
