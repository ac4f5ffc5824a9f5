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
_EXAMPLES: Final[Mapping[str, Json]] = {
    "whole number": 1, "number": 1, "yes or no": True, "list": [], "fields": {}, "nothing": None,
}  # fmt: skip
MOST_CHOICES: Final = 20


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
    return {row.name: _example(row) for row in fields(schema) if row.required}


def _example(row: FieldWords) -> Json:
    if row.choices:
        return row.choices[0]
    return _EXAMPLES.get(row.kind, "")


def _field(name: str, schema: dict[str, Json], *, required: bool) -> FieldWords:
    listed, description = schema.get("enum"), schema.get("description")
    values = listed if isinstance(listed, list) else []
    choices = [value if isinstance(value, str) else strict_json.dumps(value) for value in values[:MOST_CHOICES]]
    kind = "one of" if choices else _kind(schema)
    return FieldWords(name, kind, required, description if isinstance(description, str) else "", choices)


def _kind(schema: dict[str, Json]) -> str:
    said = schema.get("type")
    kinds = said if isinstance(said, list) else [said]
    return " or ".join(_WORDS[kind] for kind in kinds if isinstance(kind, str) and kind in _WORDS) or "any value"
