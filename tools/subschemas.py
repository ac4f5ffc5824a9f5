"""The schemas within a schema: where they stand, bounds on all of them, which of them speak of one value. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast
from urllib.parse import unquote

from median_site.lib.strict_json import Json, Step, pointer

MAX_LEVELS: Final = 8
MAX_PARTS: Final = 5_000  # references followed; a chain that doubles at every step would take for ever to check
MAX_HOPS: Final = 20  # from one reference to the next
MAX_PATTERNS: Final = 20

# Keywords whose values are schemas, and of them those that speak of a part of the value, not of the value itself.
_MAPS: Final = {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
_LISTS: Final = {"allOf", "anyOf", "oneOf", "prefixItems"}
_TESTS: Final = {"not", "if", "contains", "propertyNames", "contentSchema"}
_ONES: Final = _TESTS | {"items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "then", "else"}
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_IN_PLACE: Final = {"allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}


class SchemaError(ValueError):
    """A schema that cannot be used, and the JSON pointer of the fault within it ("" for the whole)."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def survey(root: dict[str, Json]) -> int:
    """Follow every schema and reference of a schema and give how many parts that are.

    Raises SchemaError where it is too large, or points elsewhere.
    """
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
            if path[-MAX_HOPS:] == ("$ref",) * MAX_HOPS:
                raise SchemaError(
                    "A reference leads to the next one without end.", pointer(path[:-MAX_HOPS] + ("$ref",))
                )
            stack.append(((*path, "$ref"), referred, level))
    return parts


def in_place(*schemas: Json, root: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The schemas and all that speak of the same value beside them, each once: what they refer to, their alternatives,
    their conditions.
    """
    seen: set[int] = set()
    stack = list(reversed(schemas))
    while stack:
        schema = stack.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema
        beside = [part for steps, part in _within(schema) if steps[0] in _IN_PLACE]
        stack += reversed([target(schema, root=root), *beside])


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
    try:
        return pointed_at(ref, root=root)
    except LookupError:
        raise SchemaError(f"{ref} is not in the schema.", pointer((*path, "$ref"))) from None


def pointed_at(ref: str, *, root: Mapping[str, Json]) -> Json:
    """What #/a/0/b points at, as the validator reads it: a name in another spelling would lead the two to different
    places. Raises LookupError.
    """
    found: Json = cast(dict[str, Json], root)
    for step in unquote(ref).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and re.fullmatch("0|[1-9][0-9]{0,8}", name):
            found = found[int(name)]
        elif isinstance(found, dict):
            found = found[name]
        else:
            raise LookupError(ref)
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
