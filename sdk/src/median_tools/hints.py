"""The input of a tool from the type hints of its function. Knows nothing of HTTP or of validation."""

import inspect
import types
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from median_tools import p
from median_tools.calls import ToolContext

_PLAIN: dict[object, Callable[[], p.Field]] = {
    str: p.string,
    int: p.integer,
    float: p.number,
    bool: p.boolean,
    dict: lambda: p.Field({"type": "object"}),
}


def fields_of(function: Callable[..., object]) -> tuple[dict[str, p.Field], str | None]:
    """The inputs a function names, and the parameter that takes the ToolContext (None when it takes none).

    Raises TypeError for a parameter without a hint, or with one that JSON Schema has no word for.
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, p.Field] = {}
    context: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: *args, **kwargs and positional-only parameters cannot be inputs")
        if hints.get(name) is ToolContext or (name == "context" and name not in hints):
            context = name
        elif name not in hints:
            raise TypeError(f"{function.__name__}: {name} needs a type hint, or give the tool input=")
        else:
            fields[name] = _with_default(_field(hints[name], at=f"{function.__name__}: {name}"), parameter.default)
    return fields, context


def _with_default(field: p.Field, default: object) -> p.Field:
    return field if default is inspect.Parameter.empty else field.optional()


def _field(hint: Any, *, at: str) -> p.Field:  # a type hint is any object; typing has no name for it
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(args, at=at)
    if hint in _PLAIN:
        return _PLAIN[hint]()
    if origin is Literal:
        return p.enum(args)
    if origin is list and args:
        return p.array(_field(args[0], at=at))
    if origin is dict and args and args[0] is str:
        return p.Field({"type": "object", "additionalProperties": _field(args[1], at=at).schema})
    if origin in (Union, types.UnionType):
        members = [_member(arg, at=at).schema for arg in args]
        if all(member.keys() == {"type"} for member in members):  # an input that does not fit is then told the types
            return p.Field({"type": [member["type"] for member in members]})
        return p.Field({"anyOf": [*members]})
    raise TypeError(f"{at} has the type {hint!r}; use str, int, float, bool, list, dict, Literal, a union, or input=")


def _annotated(args: tuple[Any, ...], *, at: str) -> p.Field:
    """Annotated[str, "What it is"], or Annotated[int, p.integer(minimum=1)] where the field says it all."""
    for note in args[1:]:
        if isinstance(note, p.Field):
            return note
    field = _field(args[0], at=at)
    texts = [note for note in args[1:] if isinstance(note, str)]
    return field.describe(texts[0]) if texts else field


def _member(hint: Any, *, at: str) -> p.Field:
    return p.Field({"type": "null"}) if hint is type(None) else _field(hint, at=at)
