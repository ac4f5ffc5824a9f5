"""Fields of a tool's input, like p.string("The order number."): JSON Schema that knows whether it may be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from median_tools.answers import Json


@dataclass(frozen=True)
class Field:
    """One input: its JSON Schema, and whether a call must carry it. Never changed in place."""

    schema: dict[str, Json]
    required: bool = True

    def optional(self) -> Field:
        """The same field, which a call may leave out."""
        return replace(self, required=False)

    def describe(self, text: str) -> Field:
        """The same field with a description, which the agent reads."""
        return replace(self, schema={**self.schema, "description": text})


def string(
    description: str | None = None,
    *,
    min_length: int | None = None,
    max_length: int | None = None,
    pattern: str | None = None,
    format: str | None = None,
) -> Field:
    """Text. Lengths count characters; `pattern` is a regular expression without look-around or back-references."""
    return _field(
        {"type": "string"}, description, minLength=min_length, maxLength=max_length, pattern=pattern, format=format
    )


def number(
    description: str | None = None,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    multiple_of: float | None = None,
) -> Field:
    """A number; bounds are inclusive."""
    return _field({"type": "number"}, description, minimum=minimum, maximum=maximum, multipleOf=multiple_of)


def integer(description: str | None = None, *, minimum: int | None = None, maximum: int | None = None) -> Field:
    """A whole number; bounds are inclusive. 7.0 is one, "7" and true are not."""
    return _field({"type": "integer"}, description, minimum=minimum, maximum=maximum)


def boolean(description: str | None = None) -> Field:
    """true or false."""
    return _field({"type": "boolean"}, description)


def enum(options: Sequence[str | int | float | bool | None], description: str | None = None) -> Field:
    """One of these values, exactly."""
    return _field({"enum": list(options)}, description)


def array(
    items: Field, description: str | None = None, *, min_items: int | None = None, max_items: int | None = None
) -> Field:
    """A list whose every item fits `items`."""
    return _field({"type": "array", "items": items.schema}, description, minItems=min_items, maxItems=max_items)


def object(fields: Mapping[str, Field], description: str | None = None) -> Field:
    """An object with these fields and no others."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }
    return _field(schema, description)


def _field(schema: dict[str, Json], description: str | None, **bounds: str | float | None) -> Field:
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    field = Field({**schema, **given})
    return field if description is None else field.describe(description)
