"""Checks an input against a tool's schema, and says in one sentence what does not fit. No network, no files."""

import json
from typing import NoReturn

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from median_tools.answers import Json, ToolError, encode

MAX_BYTES = 32 * 1024

_BOUNDS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "pattern": "must match {}",
    "format": "must be a valid {}",
}


def compiled(schema: dict[str, Json]) -> Draft202012Validator:
    """A validator for a tool's input. Raises ValueError when Median would refuse the schema."""
    if schema.get("type") != "object":
        raise ValueError('the top of an input schema must have "type": "object"')
    if len(encode(schema)) > MAX_BYTES:
        raise ValueError(f"an input schema may have {MAX_BYTES} bytes")
    return Draft202012Validator(schema, retriever=_fetch_nothing, validate_formats=True, pattern_options=RegexOptions())


def check(validator: Draft202012Validator, given: dict[str, Json]) -> None:
    """Raises ToolError 422 `invalid_input` with one sentence about the first thing that does not fit."""
    try:
        validator.validate(given)
    except ValidationError as error:
        field, sentence = _fault(error)
        raise ToolError("invalid_input", sentence, status=422, field=field or None) from None
    except ValueError:
        raise ToolError("invalid_input", "The input is nested too deeply.", status=422) from None


def _fault(error: ValidationError) -> tuple[str, str]:
    """The path of the field at fault, and the sentence about it."""
    at, kind, value = list(error.instance_path), error.kind.name, error.kind.value
    if kind == "required":
        field = _path([*at, value])
        return field, f"{field} is needed to run this."
    if kind == "additionalProperties":
        field = _path([*at, value[0]])
        return field, f"{field} is not an input of this tool."
    field = _path(at)
    subject = field or "The input"
    if kind == "type":
        types = " or ".join(sorted(value, key="null".__eq__))  # null last
        return field, f"{subject} must be of type {types}, not {_type_name(error.instance)}."
    if kind == "enum":
        return field, f"{subject} must be one of {', '.join(_shown(option) for option in value)}."
    if kind in _BOUNDS:
        return field, f"{subject} {_BOUNDS[kind].format(value)}."
    return field, f"{subject} does not fit the tool's schema ({kind})."


def _path(steps: list[str | int]) -> str:
    """["items", 0, "sku"] → "items[0].sku"."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _shown(option: Json) -> str:
    return option if isinstance(option, str) else json.dumps(option)


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "something else")


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside of the schema")
