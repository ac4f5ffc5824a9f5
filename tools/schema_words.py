"""A tool's input schema in words: its fields, what kind of value each takes, and what it is for. Pure."""

import json
import shlex
from collections.abc import Mapping
from typing import Final, NamedTuple

from median_site.lib import strict_json
from median_site.lib.strict_json import Json

_WORDS: Final[Mapping[str, str]] = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no", "array": "list",
    "object": "fields", "null": "nothing",
}  # fmt: skip
_EXAMPLES: Final[Mapping[str, Json]] = {"integer": 1, "number": 1, "boolean": True, "null": None}
MOST_CHOICES: Final = 20
MOST_ITEMS: Final = 3  # of a list in an example


class FieldWords(NamedTuple):
    """One field at the top of a schema; `choices` are the values that it may have, where they are listed."""

    name: str
    kind: str
    required: bool
    description: str
    choices: list[str]


def fields(schema: str) -> list[FieldWords]:
    """The fields of a schema that was checked (JSON text), in its order; of what is too intricate for a row, none."""
    top = strict_json.loads(schema)
    properties = top.get("properties") if isinstance(top, dict) else None
    required = top.get("required") if isinstance(top, dict) else None
    needed = required if isinstance(required, list) else []
    rows = properties.items() if isinstance(properties, dict) else []
    return [_field(name, each if isinstance(each, dict) else {}, required=name in needed) for name, each in rows]


def pretty(schema: str) -> str:
    """The schema with line breaks, for reading."""
    return json.dumps(json.loads(schema), indent=2, ensure_ascii=False)


def example(schema: str) -> str:
    """An input to start a test from: each required field with a value of its kind."""
    return json.dumps(_examples(schema), indent=2, ensure_ascii=False)


def command(name: str, *, schema: str) -> str:
    """The line that tests the tool from a terminal, with the same input."""
    given = _examples(schema)
    lines = [f"--input {shlex.quote(strict_json.dumps(given))}"] if given else []
    return " \\\n  ".join([f"median tools test {name}", *lines, "--as user_123"])


def _examples(schema: str) -> dict[str, Json]:
    made = _example(strict_json.loads(schema))
    return made if isinstance(made, dict) else {}


def _example(schema: Json) -> Json:
    """A value to start from: one that the schema names, else the least of its kind."""
    said = schema if isinstance(schema, dict) else {}
    for key in ("default", "const"):
        if key in said:
            return said[key]
    for key in ("enum", "examples"):
        if isinstance(listed := said.get(key), list) and listed:
            return listed[0]
    kind = next((kind for kind in _kinds(said) if kind != "null"), "null" if "null" in _kinds(said) else "")
    if kind == "object":
        properties, required = said.get("properties"), said.get("required")
        held = properties if isinstance(properties, dict) else {}
        return {str(name): _example(held.get(str(name))) for name in required} if isinstance(required, list) else {}
    if kind == "array":
        least = said.get("minItems")
        return [_example(said.get("items"))] * (min(least, MOST_ITEMS) if isinstance(least, int) else 0)
    return _EXAMPLES.get(kind, "")


def _field(name: str, schema: dict[str, Json], *, required: bool) -> FieldWords:
    listed, description = schema.get("enum"), schema.get("description")
    values = listed if isinstance(listed, list) else []
    choices = [value if isinstance(value, str) else strict_json.dumps(value) for value in values[:MOST_CHOICES]]
    kind = "one of" if choices else _kind(schema)
    return FieldWords(name, kind, required, description if isinstance(description, str) else "", choices)


def _kind(schema: dict[str, Json]) -> str:
    return " or ".join(_WORDS[kind] for kind in _kinds(schema) if kind in _WORDS) or "any value"


def _kinds(schema: Mapping[str, Json]) -> list[str]:
    said = schema.get("type")
    return [kind for kind in (said if isinstance(said, list) else [said]) if isinstance(kind, str)]
