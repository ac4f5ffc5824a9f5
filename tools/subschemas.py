"""The schemas within a schema: where they stand, bounds on all of them, closing them to undeclared keys. Pure."""

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from median_site.lib.strict_json import Json, Step, pointer

MAX_LEVELS: Final = 8
MAX_PARTS: Final = 5_000  # references followed; a chain that doubles at every step would take for ever to check
MAX_PATTERNS: Final = 20

# Keywords whose values are schemas, and of them those that speak of a part of the value, not of the value itself.
_MAPS: Final = {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
_LISTS: Final = {"allOf", "anyOf", "oneOf", "prefixItems"}
_TESTS: Final = {"not", "if", "contains", "propertyNames", "contentSchema"}
_ONES: Final = _TESTS | {"items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "then", "else"}
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_OF_PARTS: Final = {
    "properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
    "items", "prefixItems", "unevaluatedItems",
}  # fmt: skip
_IN_PLACE: Final = {"allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"}


class SchemaError(ValueError):
    """A schema that cannot be used, and the JSON pointer of the fault within it ("" for the whole)."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def survey(root: dict[str, Json]) -> None:
    """Follow every schema and reference of a schema; raises SchemaError where it is too large, or points elsewhere."""
    stack: list[tuple[tuple[Step, ...], Json, int]] = [((), root, 1)]
    patterns: set[str] = set()
    parts = 0
    while stack:
        path, schema, level = stack.pop()
        parts += 1
        if parts > MAX_PARTS:
            raise SchemaError(f"The schema has more than {MAX_PARTS} parts, its references followed.")
        if not isinstance(schema, dict):
            continue
        if level > MAX_LEVELS:
            message = f"The schema is deeper than {MAX_LEVELS} levels; one that refers to itself has no end."
            raise SchemaError(message, pointer(path))
        patterns |= _patterns(schema)
        if len(patterns) > MAX_PATTERNS:
            raise SchemaError(f"The schema has more than {MAX_PATTERNS} patterns.", pointer(path))
        stack += [((*path, *steps), part, level + 1) for steps, part in _within(schema)]
        if (referred := target(schema, root=root, path=path)) is not None:
            stack.append(((*path, "$ref"), referred, level))


def closed(root: dict[str, Json]) -> dict[str, Json]:
    """A copy that refuses undeclared keys wherever keys are declared and the schema leaves the others unsaid."""
    return _closed(root, root=root, seals=True)


def in_place(schema: Json, *, root: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The schema and all that speak of the same value beside it: its reference, its alternatives, its conditions."""
    if not isinstance(schema, dict):
        return
    yield schema
    beside = [part for steps, part in _within(schema) if steps[0] in _IN_PLACE]
    for part in [target(schema, root=root), *beside]:
        yield from in_place(part, root=root)


def of_key(schema: dict[str, Json], key: str) -> list[Json]:
    """The schemas for the value under a key. Patterns are not run: all of them count."""
    properties = schema.get("properties")
    if isinstance(properties, dict) and key in properties:
        return [properties[key]]
    patterns = schema.get("patternProperties")
    others = [schema.get("additionalProperties"), schema.get("unevaluatedProperties")]
    return [*(patterns.values() if isinstance(patterns, dict) else ()), *others]


def of_item(schema: dict[str, Json], at: int) -> list[Json]:
    """The schemas for the item at a place of a list."""
    first = schema.get("prefixItems")
    if isinstance(first, list) and at < len(first):
        return [first[at]]
    return [schema.get("items"), schema.get("unevaluatedItems")]


def target(schema: dict[str, Json], *, root: dict[str, Json], path: tuple[Step, ...] = ()) -> Json:
    """What the schema's reference points at, None without one. Raises SchemaError when it is not in this schema."""
    for key in ("$dynamicRef", "$recursiveRef", *(["$id"] if path else [])):
        if key in schema:
            raise SchemaError(f"{key} is not supported here.", pointer((*path, key)))
    # The validator would read the part by the rules of that draft, and these bounds by those of 2020-12.
    if path and schema.get("$schema", _DRAFT) != _DRAFT:
        raise SchemaError("A part of a schema cannot be of another draft.", pointer((*path, "$schema")))
    if "$ref" not in schema:
        return None
    ref = schema["$ref"]
    if not isinstance(ref, str) or (ref != "#" and not ref.startswith("#/")):
        raise SchemaError("A reference must point into this schema, as #/$defs/Name does.", pointer((*path, "$ref")))
    found: Json = root
    # As the validator reads it: a name in another spelling would lead the two to different schemas.
    for step in unquote(ref).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            raise SchemaError(f"{ref} is not in the schema.", pointer((*path, "$ref")))
        found = found[name]
    return found


def _within(schema: dict[str, Json]) -> Iterator[tuple[tuple[Step, ...], Json]]:
    for key, held in schema.items():
        if key in _MAPS and isinstance(held, dict):
            yield from (((key, name), part) for name, part in held.items())
        elif key in _LISTS and isinstance(held, list):
            yield from (((key, at), part) for at, part in enumerate(held))
        elif key in _ONES:
            yield (key,), held


def _patterns(schema: dict[str, Json]) -> set[str]:
    by_name = schema.get("patternProperties")
    pattern = schema.get("pattern")
    return {*(by_name if isinstance(by_name, dict) else ()), *([pattern] if isinstance(pattern, str) else [])}


def _closed(schema: dict[str, Json], *, root: dict[str, Json], seals: bool) -> dict[str, Json]:
    """`seals` is false beside another schema of the same value: keys of one are not the other's to refuse."""

    def inner(part: Json, *, key: str) -> Json:
        return _closed(part, root=root, seals=key in _OF_PARTS) if isinstance(part, dict) else part

    made: dict[str, Json] = {}
    for key, held in schema.items():
        if key in _MAPS and isinstance(held, dict):
            made[key] = {name: inner(part, key=key) for name, part in held.items()}
        elif key in _LISTS and isinstance(held, list):
            made[key] = [inner(part, key=key) for part in held]
        else:
            made[key] = inner(held, key=key) if key in _ONES - _TESTS else held
    said = {"additionalProperties", "unevaluatedProperties"} & schema.keys()
    if seals and not said and (schema is root or any("properties" in part for part in in_place(schema, root=root))):
        made["unevaluatedProperties"] = False
    return made
