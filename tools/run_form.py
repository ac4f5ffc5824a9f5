"""What was typed into a form (tools.run_fields) as the input it stands for, and back. Pure.

Nothing is trimmed, rounded or guessed. Beside a field's own control, posted under its name, stand `kind:` (is there a
value, or null), `shape:` (which of several), `items:` (the keys of a list's items, in order) and `zone:` (of a moment).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, Step
from tools import schema
from tools.http_definitions import Definition, without_subject
from tools.run_fields import Field, Kind
from tools.schema import Compiled

Typed: TypeAlias = Mapping[str, Sequence[str]]

ITEMS_AT_ONCE: Final = 10  # of a list that must have some, when the form opens

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_TO_THE_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)", re.ASCII)
_LAST_STEP: Final = re.compile(r"(\[\d+\]|\.?[^.\[]*)$")


class NoFit(ValueError):
    """An input that the fields cannot show."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form as it is drawn: `errors` are by the name of the control at fault, "" for the form as a whole."""

    root: Field
    typed: Typed
    errors: Mapping[str, str] = field(default_factory=dict)

    def said(self, name: str) -> str:
        return _said(self.typed, name)

    def fault(self, name: str) -> str:
        return self.errors.get(name, "")

    def has_kind(self, part: Field, kind: str) -> bool:
        """Whether a field that may be null or left out is a "value", "null", or "" (left out)."""
        return (self.said(f"kind:{part.name}") or ("" if part.may_be_left_out else "value")) == kind

    def items(self, part: Field) -> list[Field]:
        return [part.item(key) for key in self.typed.get(f"items:{part.name}", ())]


@dataclass(frozen=True, slots=True)
class Reading:
    """The input, and what is wrong with it: sentences by the name of the control at fault."""

    input: Json
    errors: Mapping[str, str]
    names: Mapping[str, str]

    def control_of(self, path: str) -> str:
        """The name of the control that holds a part of the input (`items[0].sku`), or holds what it is in."""
        while path not in self.names:
            path = _LAST_STEP.sub("", path, count=1)
        return self.names[path]


def read(form: Field, typed: Typed, *, compiled: Compiled, definition: Definition | None = None) -> Reading:
    """The input that was typed, checked against the schema. A value for an HTTP tool's subject is let pass: it is
    dropped later, where that is logged."""
    reader = _Reader(typed)
    value = next(iter(reader.read(form, ())), None)
    reading = Reading(value, dict(reader.errors), reader.names)
    passed = without_subject(definition, value)
    faults = [] if form.name in reader.errors else schema.check_input(compiled, passed)
    more: dict[str, str] = {}
    for fault in faults:
        name = reading.control_of(fault.path)
        if not any(_is_within(known, name) for known in reader.errors):
            more[name] = f"{more[name]} {fault.message}" if name in more else fault.message
    return replace(reading, errors={**reader.errors, **more})


def peek(form: Field, typed: Typed) -> Json:
    """What was typed as JSON for editing by hand: unchecked, and what is no value yet stands as text."""
    return next(iter(_Reader(typed, lenient=True).read(form, ())), {})


def start(part: Field) -> dict[str, list[str]]:
    """What a form starts with: the schema's defaults, and nothing else."""
    if "default" in part.schema:
        try:
            return fill(part, part.schema["default"])
        except NoFit:
            pass  # a default that its own field cannot hold
    if part.kind == Kind.LIST:
        least = part.schema.get("minItems")
        count = min(least, ITEMS_AT_ONCE) if part.required and isinstance(least, int) else 0
        keys = [str(at) for at in range(count)]
        typed = {f"items:{part.name}": keys}
        inner = [part.item(key) for key in keys]
    else:
        typed, inner = {}, list(part.parts)
    for each in inner:
        typed |= start(each)
    return typed


def fill(part: Field, value: Json) -> dict[str, list[str]]:
    """What somebody would type for this value, so that reading it gives exactly the value again. Raises NoFit."""
    typed = _filled(part, value)
    reader = _Reader(typed)
    back = reader.read(part, ())
    if [_exact(each) for each in back] != [_exact(value)]:
        raise NoFit
    return typed


def with_item(form: Field, typed: Typed, *, name: str) -> Typed:
    """One more item at the end of the list of that name; as it was when there is no such list."""
    part = _find(form, name)
    if part is None or part.kind != Kind.LIST:
        return typed
    keys = typed.get(f"items:{name}", ())
    new = str(1 + max((int(key) for key in keys if key.isdecimal() and len(key) < 9), default=-1))
    return {**typed, **start(part.item(new)), f"items:{name}": [*keys, new]}


def without_item(typed: Typed, *, name: str) -> Typed:
    """Without the item of that name, "/items/1"."""
    name_of_list, _, gone = name.rpartition("/")
    keys = typed.get(f"items:{name_of_list}", ())
    return {**typed, f"items:{name_of_list}": [key for key in keys if key != gone]}


class _Reader:
    """Reads fields, and remembers faults and which control holds which part of the input."""

    def __init__(self, typed: Typed, *, lenient: bool = False) -> None:
        self.typed = typed
        self.lenient = lenient
        self.errors: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def read(self, part: Field, path: Sequence[Step]) -> tuple[Json, ...]:
        """The value, or nothing when none is sent."""
        called = schema.name_of(path)
        self.names[called] = part.name
        got = self._value(part, path)
        if not got and part.required and not any(_is_within(name, part.name) for name in self.errors):
            self.errors[part.name] = f"{called or 'The input'} is needed to run this."
        return got

    def _value(self, part: Field, path: Sequence[Step]) -> tuple[Json, ...]:
        kind = _said(self.typed, f"kind:{part.name}")
        if part.nullable and kind == "null":
            return (None,)
        if part.kind == Kind.GROUP:
            if part.may_be_left_out and kind != "value":
                return ()
            return ({each.key: value for each in part.parts for value in self.read(each, (*path, each.key))},)
        if part.kind == Kind.LIST:
            keys = self.typed.get(f"items:{part.name}", ())
            items = [got for at, key in enumerate(keys) for got in self.read(part.item(key), (*path, at))]
            return (items,) if keys or part.required else ()
        if part.kind == Kind.SHAPES:
            return self._shape(part, path)
        if part.kind == Kind.FIXED:
            return (strict_json.loads(part.options[0].text),)
        text = _said(self.typed, part.name).replace("\r\n", "\n").replace("\r", "\n")
        return self._typed(part, text, called=schema.name_of(path) or "The input") if text else ()

    def _shape(self, part: Field, path: Sequence[Step]) -> tuple[Json, ...]:
        chosen = _said(self.typed, f"shape:{part.name}")
        if part.nullable and chosen == "null":
            return (None,)
        shape = next((each for each in part.parts if each.name == f"{part.name}|{chosen}"), None)
        return self.read(shape, path) if shape else ()

    def _typed(self, part: Field, text: str, *, called: str) -> tuple[Json, ...]:
        try:
            if part.kind in {Kind.INTEGER, Kind.NUMBER}:
                return (_number(text.strip(), part.kind),)
            if part.kind == Kind.CHOICE:
                return (_chosen(text, part),)
            if part.kind == Kind.JSON:
                return (strict_json.loads_unique(text),) if text.strip() else ()
        except JsonError as error:
            self.errors[part.name] = f"{called} {error.message}" if part.kind != Kind.JSON else _bad_json(called, error)
            return (text,) if self.lenient else ()
        if part.kind == Kind.MOMENT:
            seconds = ":00" if _TO_THE_MINUTE.fullmatch(text) else ""
            return (f"{text}{seconds}{_said(self.typed, f'zone:{part.name}')}",)
        return (text,)


def _is_within(name: str, outer: str) -> bool:
    return name == outer or name.startswith((f"{outer}/", f"{outer}|"))


def _said(typed: Typed, name: str) -> str:
    posted = typed.get(name)
    return posted[-1] if posted else ""


def _number(text: str, kind: Kind) -> Json:
    wanted = "an integer" if kind == Kind.INTEGER else "a number"
    if not _NUMBER.fullmatch(text):
        raise JsonError(f'must be {wanted}, not "{text if len(text) <= 40 else text[:39] + "…"}".')
    try:
        return strict_json.loads(text)
    except JsonError:
        raise JsonError("is beyond what a number can hold.") from None


def _chosen(text: str, part: Field) -> Json:
    if all(option.text != text for option in part.options):
        raise JsonError("must be one of its choices.")
    return strict_json.loads(text)


def _bad_json(called: str, error: JsonError) -> str:
    return f"{called} is not valid JSON: {error.message[:1].lower()}{error.message[1:]}"


def _filled(part: Field, value: Json) -> dict[str, list[str]]:
    if value is None and part.nullable:
        return {f"{'shape' if part.kind == Kind.SHAPES else 'kind'}:{part.name}": ["null"]}
    if part.kind == Kind.GROUP and isinstance(value, dict):
        typed = {f"kind:{part.name}": ["value"]}
        for each in part.parts:
            typed |= _filled(each, value[each.key]) if each.key in value else {}
        return typed
    if part.kind == Kind.LIST and isinstance(value, list):
        typed = {f"items:{part.name}": [str(at) for at in range(len(value))]}
        for at, each_value in enumerate(value):
            typed |= _filled(part.item(str(at)), each_value)
        return typed
    if part.kind == Kind.SHAPES:
        return _fitting(part, value)
    if part.kind == Kind.MOMENT:
        moment = _MOMENT.fullmatch(value) if isinstance(value, str) else None
        return {part.name: [moment[1]], f"zone:{part.name}": [moment[2]]} if moment else {}
    if part.kind == Kind.JSON:
        return {part.name: [pretty(value)]}
    is_text = part.kind in {Kind.LINE, Kind.TEXT, Kind.DATE} and isinstance(value, str)
    return {part.name: [value if is_text and isinstance(value, str) else strict_json.dumps(value)]}


def _fitting(part: Field, value: Json) -> dict[str, list[str]]:
    for at, shape in enumerate(part.parts):
        try:
            return {f"shape:{part.name}": [str(at)], **fill(shape, value)}
        except NoFit:
            continue
    raise NoFit


def pretty(value: Json, indent: str = "") -> str:
    """JSON text for editing: indented, every digit as it came."""
    inner = indent + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{strict_json.dumps(key)}: {pretty(each, inner)}" for key, each in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + pretty(each, inner) for each in value) + f"\n{indent}]"
    return strict_json.dumps(value)


def _exact(value: Json) -> str:
    return strict_json.dumps(value, sort_keys=True)


def _find(part: Field, name: str) -> Field | None:
    if part.name == name:
        return part
    inner = list(part.parts)
    if part.kind == Kind.LIST and name.startswith(f"{part.name}/"):
        inner = [part.item(re.split(r"[/|]", name.removeprefix(f"{part.name}/"))[0])]
    return next((found for each in inner if (found := _find(each, name))), None)
