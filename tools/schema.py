"""Input schemas (JSON Schema 2020-12): checked and compiled once, then applied to inputs exactly, nothing converted.

Pure: no schema makes this module open a connection or a file, and no pattern makes it slow.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, Step, pointer
from tools import subschemas
from tools.spoken import PATTERNS, Spoken
from tools.subschemas import SchemaError

__all__ = [
    "Compiled", "FieldError", "SchemaError", "check", "check_together", "check_input", "compile_schema", "for_model",
    "name_of", "normalize",
]  # fmt: skip

MAX_BYTES: Final = 32 * 1024  # of a schema, and of an input
MAX_ERRORS: Final = 20
MAX_FAULTS: Final = 50_000  # that the validator may come to, each part of a value against each of a schema

_MASK: Final = "\ufffdvalue\ufffd"
_FORMATS: Final = {
    "date": "a date, like 2026-01-31",
    "date-time": "a date and time, like 2026-01-31T09:30:00Z",
    "time": "a time, like 09:30:00Z",
    "email": "an email address",
    "uri": "a whole URL, like https://example.com",
    "uuid": "a UUID",
}
_ARTICLES: Final = {"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}
# Not understood at the top of a tool's parameters by every model's API.
_COMBINING: Final = {
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "enum",
    "const",
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """Why an input does not fit: the field as people write it (`items[0].sku`, "" for the whole), and a sentence."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """A schema that was checked, ready for inputs."""

    schema: dict[str, Json]
    validator: jsonschema_rs.Draft202012Validator
    spoken: Spoken
    parts: int  # its references followed

    @property
    def needs_input(self) -> bool:
        """Whether the tool cannot run on {}."""
        return bool(check_input(self, {}))


def compile_schema(schema: Json) -> Compiled:
    """The schema, as a value or as JSON text, ready for inputs; None and {} mean no fields. Raises SchemaError."""
    try:
        value = strict_json.loads(schema) if isinstance(schema, str) else schema
        return _compiled(strict_json.dumps({"type": "object"} if value in (None, {}) else value))
    except JsonError as error:
        raise SchemaError(error.message, error.path) from error


def check(text: str) -> None:
    """Raise SchemaError for JSON text that compile_schema would refuse, and keep nothing of it."""
    _bounded(json.loads(text), text)
    _validator(text)


def check_together(schema: dict[str, Json]) -> None:
    """Raise SchemaError where properties that were checked one by one are too much for one schema."""
    text = strict_json.dumps(schema)
    # As a rule a glance shows that there is no need to count.
    if len(text) * 4 > MAX_BYTES or text.count('"pattern') > subschemas.MAX_PATTERNS:
        _bounded(schema, text)


def check_input(compiled: Compiled, value: Json) -> list[FieldError]:
    """What is wrong with an input, at most 20 faults; empty when it may be sent."""
    if not isinstance(value, dict):
        return [FieldError("", f"The input must be an object, not {_came(value)}.")]
    errors = list(_unsendable(value))
    if not errors and len(strict_json.dumps(value).encode()) > MAX_BYTES:
        errors = [FieldError("", "The input is larger than 32 KB.")]
    return errors or _unfit(compiled, value)


def normalize(compiled: Compiled, value: Json) -> Json:
    """The input with 7.0 and 7e0 as 7 where the schema says integer, and everything else untouched."""
    return _normalized(value, compiled.spoken)


def for_model(schema: Json) -> dict[str, Json]:
    """The schema as every model's API takes it: an object with properties, those of combined schemas side by side."""
    root = compile_schema(schema).schema
    declared: dict[str, dict[str, Json]] = {}
    for part in subschemas.in_place(root, root=root):
        properties = part.get("properties")
        for name, said in properties.items() if isinstance(properties, dict) else ():
            declared.setdefault(name, {})[strict_json.dumps(said)] = said
    fields = {name: _one_of(list(said.values())) for name, said in declared.items()}
    return {key: part for key, part in root.items() if key not in _COMBINING} | {"properties": fields}


def _one_of(schemas: list[Json]) -> Json:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def name_of(path: Sequence[Step]) -> str:
    """A path as people write it, long keys cut: ["items", 0, "sku"] is items[0].sku."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step[:80]}" for step in path).removeprefix(".")


@lru_cache(maxsize=512)  # about 10 kB each: more than a workspace may have switched on, so that a sync finds its own
def _compiled(text: str) -> Compiled:
    root, parts = _bounded(strict_json.loads(text), text)
    return Compiled(root, _validator(text), Spoken.of(root), parts)


def _bounded(root: Json, text: str) -> tuple[dict[str, Json], int]:
    """The schema, which `text` is too, if it may be one as a whole, and how many parts it has."""
    if len(text.encode()) > MAX_BYTES:
        raise SchemaError("The schema is larger than 32 KB.")
    if not isinstance(root, dict) or root.get("type") != "object":
        raise SchemaError('The top of the schema must say "type": "object".')
    if "\\u0000" in text:  # as a NUL is written, but a backslash before u0000 may be as well
        for path, part in strict_json.walk(root):
            if strict_json.has_nul_or_surrogate([*path[-1:], part if isinstance(part, str) else None]):
                raise SchemaError("The schema holds a NUL character.", strict_json.visible(pointer(path))[0])
    return root, subschemas.survey(root)


def _validator(text: str) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(
            text,
            retriever=_refuse,
            validate_formats=True,
            pattern_options=PATTERNS,
            mask=_MASK,
        )
    except jsonschema_rs.ValidationError as error:
        path = pointer(error.instance_path)
        if isinstance(error.kind, Kind.Format) and error.kind.format == "regex":
            raise SchemaError("The pattern cannot be run in linear time, or is too large.", path) from error
        raise SchemaError(f"{error.message[:300].replace(_MASK, 'It')}.", path) from error


def _refuse(uri: str) -> Json:
    raise ValueError("Nothing is fetched.")


def _unsendable(value: Json) -> Iterator[FieldError]:
    """What no schema could allow: numbers that JSON lacks, characters that cannot be stored."""
    try:
        for path, part in strict_json.walk(value):
            if isinstance(part, float) and not math.isfinite(part):
                yield FieldError(name_of(path), f"{name_of(path)} must be a finite number.")
            elif strict_json.has_nul_or_surrogate([*path[-1:], part if isinstance(part, str) else None]):
                name = strict_json.visible(name_of(path))[0]
                yield FieldError(name, f"{name} holds a NUL or half a character (a lone surrogate).")
    except JsonError as error:
        yield FieldError("", error.message)


def _unfit(compiled: Compiled, value: Json) -> list[FieldError]:
    found = [each for error in _faults(compiled, value) for each in _sentences(error)]
    # Where a schema says itself that there are no other keys, both tell of one.
    return list(dict.fromkeys([*found, *_undeclared(value, compiled.spoken)]))[:MAX_ERRORS]


def _faults(compiled: Compiled, value: Json) -> Iterable[jsonschema_rs.ValidationError]:
    """All faults, or the first where all could be so many that finding them takes the processor for itself."""
    exact = _exact(value)
    if compiled.parts * sum(1 for _ in strict_json.walk(value)) <= MAX_FAULTS:
        return compiled.validator.iter_errors(exact)
    try:
        compiled.validator.validate(exact)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _undeclared(value: Json, spoken: Spoken, *, path: tuple[Step, ...] = ()) -> Iterator[FieldError]:
    """Keys that nothing declares, where anything declares keys and leaves the others unsaid, and at the top always."""
    if isinstance(value, dict):
        for key, part in value.items():
            if inner := spoken.of_key(key):
                yield from _undeclared(part, inner, path=(*path, key))
            elif spoken.declares_keys or not path:
                yield _not_a_field([*path, key])
    elif isinstance(value, list):
        for at, (part, inner) in enumerate(zip(value, spoken.of_items(len(value)), strict=True)):
            yield from _undeclared(part, inner, path=(*path, at))


def _not_a_field(path: Sequence[Step]) -> FieldError:
    name = name_of(path)
    return FieldError(name, f"{name} is not a field of this tool.")


def _sentences(error: jsonschema_rs.ValidationError) -> list[FieldError]:
    kind, path = error.kind, error.instance_path
    name = name_of(path) or "The input"
    if isinstance(kind, Kind.Required):
        name = name_of([*path, kind.property])
        return [FieldError(name, f"{name} is needed to run this.")]
    if isinstance(kind, Kind.UnevaluatedProperties | Kind.AdditionalProperties):
        return [_not_a_field([*path, key]) for key in kind.unexpected]
    if isinstance(kind, Kind.Type):
        wanted = " or ".join(_ARTICLES.get(each, f"a {each}") for each in sorted(kind.types, key="null".__eq__))
        return [FieldError(name_of(path), f"{name} must be {wanted}, not {_came(error.instance)}.")]
    if isinstance(kind, Kind.Format):
        wanted = _FORMATS.get(kind.format, f'of the format "{kind.format}"')
        return [FieldError(name_of(path), f"{name} must be {wanted}, not {_came(error.instance)}.")]
    message = error.message if _MASK in error.message else f"{_MASK}: {error.message}"
    return [FieldError(name_of(path), f"{message[:300].replace(_MASK, name)}.")]


def _came(value: object) -> str:
    if isinstance(value, str):
        return f'the string "{value if len(value) <= 40 else value[:39] + "…"}"'
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "an array"
    return "null" if value is None else f"the number {value}"


def _exact(value: Json) -> object:
    """The value with fractions as decimals, which the validator computes with exactly."""
    if isinstance(value, dict):
        return {key: _exact(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


def _normalized(value: Json, spoken: Spoken | None) -> Json:
    if spoken is None:
        return value
    if isinstance(value, float):
        return int(Decimal(repr(value))) if "integer" in spoken.types and value.is_integer() else value
    if isinstance(value, dict):
        return {key: _normalized(part, spoken.of_key(key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_normalized(*each) for each in zip(value, spoken.of_items(len(value)), strict=True)]
    return value
