"""The fields of a form for a tool's input, made from its JSON Schema. Pure; values are the business of tools.run_form.

What no field fits is one field for JSON text. The form never promises that an input is right: the schema decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import subschemas, values
from tools.schema import Compiled

FIELD_LIMIT: Final = 150  # of a form; a larger one is written as JSON
LONG_TEXT: Final = 120  # characters: a field that takes more gets room for lines
LONG_FORMATS: Final = {"multiline", "textarea", "markdown"}
KEYBOARDS: Final = {"email": "email", "uri": "url", "iri": "url"}

_COMBINING: Final = ("oneOf", "anyOf")
# Of these two parts of one schema must say the same; of all others the outer part speaks.
_DECISIVE: Final = {"type", "enum", "const", "items", "prefixItems", *_COMBINING}
# A branch without any of these only narrows what the fields beside it say.
_SHAPING: Final = _DECISIVE | {"properties", "format"}
_WORDS: Final = ("title", "description", "default")


class Kind(StrEnum):
    LINE = "line"
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    MOMENT = "moment"
    CHOICE = "choice"
    FIXED = "fixed"
    GROUP = "group"
    LIST = "list"
    SHAPES = "shapes"
    JSON = "json"


WORDS: Final[Mapping[Kind, str]] = {
    Kind.LINE: "Text", Kind.TEXT: "Text", Kind.INTEGER: "Whole number", Kind.NUMBER: "Number", Kind.DATE: "Date",
    Kind.MOMENT: "Date and time", Kind.CHOICE: "Choice", Kind.GROUP: "Filled in", Kind.LIST: "List", Kind.JSON: "JSON",
}  # fmt: skip
_YES_OR_NO: Final = {"true": "Yes", "false": "No"}
_NUMBERS: Final = {"integer": Kind.INTEGER, "number": Kind.NUMBER}


@dataclass(frozen=True, slots=True)
class Option:
    """One value to choose: its JSON text, which is what is posted, and what it is called."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field, or what holds others.

    `name` is its control's name, unlike every other in the form: "/shipTo/city", "/items/0", "/where|1" for a shape.
    `parts` are a group's fields, a list's item (named "/items/*"), or one field for each shape.
    """

    kind: Kind
    name: str
    key: str
    label: str
    hint: str
    required: bool
    schema: Mapping[str, Json]
    nullable: bool = False
    options: tuple[Option, ...] = ()
    parts: tuple["Field", ...] = ()

    @property
    def word(self) -> str:
        return WORDS.get(self.kind, self.label)

    @property
    def is_yes_or_no(self) -> bool:
        return {option.text for option in self.options} >= _YES_OR_NO.keys() and len(self.options) <= 3

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What is posted and what it is called, for each option; the first stands for nothing."""
        nothing = ("", "Choose one" if self.required else "Not sent")
        return [nothing, *((option.text, option.label) for option in self.options)]

    @property
    def keyboard(self) -> str:
        """The on-screen keyboard that helps: HTML's inputmode."""
        kinds = {Kind.INTEGER: "numeric", Kind.NUMBER: "decimal"}
        return kinds.get(self.kind) or KEYBOARDS.get(str(self.schema.get("format")), "text")

    @property
    def may_be_left_out(self) -> bool:
        """A group that is sent only when somebody says so: empty fields cannot tell {} from nothing."""
        return self.kind == Kind.GROUP and not self.required

    def item(self, key: str) -> "Field":
        """A list's item under this key."""
        return _moved(self.parts[0], of=f"{self.name}/*", to=f"{self.name}/{key}")


AS_JSON: Final = Field(Kind.JSON, "json", "", "Input", "", required=True, schema={"default": {}})


def fields_of(compiled: Compiled) -> Field:
    """The whole input as one field: a group, shapes of one, or AS_JSON where the schema is more than a form can be."""
    try:
        form = _Builder(compiled.schema).field(compiled.schema, key="", name="", required=True)
    except _TooMany:
        return AS_JSON
    return AS_JSON if form.kind == Kind.JSON else form


class _TooMany(Exception): ...


class _Builder:
    """Follows one schema, and counts its fields."""

    def __init__(self, root: dict[str, Json]) -> None:
        self.root = root
        self.left = FIELD_LIMIT

    def field(self, schema: Json, *, key: str, name: str, required: bool, label: str = "") -> Field:
        self.left -= 1
        if self.left < 0:
            raise _TooMany
        flat = self.flat(schema)
        said = flat if flat is not None else schema if isinstance(schema, dict) else {}
        title, called = said.get("title"), values.label_of(key) if key.isidentifier() else key
        words = title if isinstance(title, str) and title else label or called
        made = Field(Kind.JSON, name, key, words, _hint(said), required=required, schema=said)
        return made if flat is None else self._of_branches(flat, made)

    def flat(self, schema: Json) -> dict[str, Json] | None:
        """The schema with its reference and allOf laid into it; None where parts of it disagree."""
        if not isinstance(schema, dict):
            return None
        flat: dict[str, Json] | None = {key: said for key, said in schema.items() if key not in {"$ref", "allOf"}}
        beside = schema.get("allOf")
        inner = [subschemas.target(schema, root=self.root)] if "$ref" in schema else []
        for part in [*inner, *(beside if isinstance(beside, list) else ())]:
            under = self.flat(part)
            flat = _laid(flat, under) if flat is not None and under is not None else None
        return flat

    def _of_branches(self, flat: dict[str, Json], made: Field) -> Field:
        """What oneOf, anyOf or several types leave to choose between."""
        types = _types(flat)
        combining = [word for word in _COMBINING if word in flat]
        if not combining and ({"enum", "const"} & flat.keys() or len(types) < 2):
            return self._of_type(flat, made)
        base = {key: said for key, said in flat.items() if key not in {*combining, *_WORDS}}
        if not combining:
            real = [{**base, "type": each} for each in types if each != "null"]
            return self._choose(real, replace(made, nullable="null" in types))
        listed = flat[combining[0]]
        found = [self.flat(branch) for branch in listed] if isinstance(listed, list) else [None]
        branches = [branch for branch in found if branch is not None and branch.get("type") != "null"]
        if None in found or len(combining) > 1 or not branches:
            return made
        if not any(_SHAPING & branch.keys() for branch in branches):
            words = {key: said for key, said in flat.items() if key in _WORDS}
            return self._of_branches({**base, **words}, made)
        nullable = len(branches) < len(found)
        if all("const" in branch for branch in branches):
            consts = [(branch["const"], branch.get("title")) for branch in branches]
            return _choice(made, consts + [(None, None)] * nullable)
        whole = [_laid(branch, base) for branch in branches]
        return (
            made if None in whole else self._choose([each for each in whole if each], replace(made, nullable=nullable))
        )

    def _choose(self, branches: Sequence[dict[str, Json]], made: Field) -> Field:
        if len(branches) == 1:
            words = {key: said for key, said in made.schema.items() if key in _WORDS}
            only = self._of_branches({**branches[0], **words}, made)
            if only.kind == Kind.CHOICE and made.nullable:
                return replace(only, nullable=False, options=(*only.options, Option("null", "null")))
            return only
        parts = [
            self.field(branch, key=made.key, name=f"{made.name}|{at}", required=True)
            for at, branch in enumerate(branches)
        ]
        labels = [_shape_label(part) for part in parts]
        told = [
            replace(part, label=label if labels.count(label) == 1 else f"{label} {at}")
            for at, (part, label) in enumerate(zip(parts, labels, strict=True), start=1)
        ]
        return replace(made, kind=Kind.SHAPES, parts=tuple(told))

    def _of_type(self, flat: dict[str, Json], made: Field) -> Field:
        made = replace(made, schema=flat, hint=_hint(flat))
        enum = flat.get("enum")
        kind = next(iter(_types(flat)), "")
        if "const" in flat or kind == "null":
            made = _choice(made, [(flat.get("const"), None)])
            return replace(made, kind=Kind.FIXED) if made.required else made
        if isinstance(enum, list):
            return _choice(made, [(each, None) for each in enum])
        if kind == "boolean":
            return replace(made, kind=Kind.CHOICE, options=tuple(Option(*pair) for pair in _YES_OR_NO.items()))
        if kind == "object":
            return self._group(flat, made)
        items = flat.get("items")
        if kind == "array" and isinstance(items, dict) and "prefixItems" not in flat:
            item = self.field(items, key="", name=f"{made.name}/*", required=True, label="Item")
            return replace(made, kind=Kind.LIST, parts=(item,))
        return replace(made, kind=_string_kind(flat) if kind == "string" else _NUMBERS.get(kind, Kind.JSON))

    def _group(self, flat: dict[str, Json], made: Field) -> Field:
        properties, needed = flat.get("properties"), flat.get("required")
        declared = properties if isinstance(properties, dict) else {}
        if not declared and made.name:
            return made
        needs = needed if isinstance(needed, list) else []
        parts = [
            self.field(part, key=key, name=f"{made.name}/{quote(key, safe='')}", required=key in needs)
            for key, part in declared.items()
        ]
        labels = [part.label for part in parts]
        told = [part if labels.count(part.label) == 1 else replace(part, label=part.key) for part in parts]
        return replace(made, kind=Kind.GROUP, parts=tuple(told))


def _types(schema: Mapping[str, Json]) -> list[str]:
    said = schema.get("type")
    if isinstance(said, list):
        return [str(each) for each in said]
    if isinstance(said, str):
        return [said]
    held = {"properties": "object", "items": "array"}
    return [kind for key, kind in held.items() if key in schema][:1]


def _laid(over: dict[str, Json], under: dict[str, Json]) -> dict[str, Json] | None:
    """Two schemas of one value as one; None where they disagree on what kind of value it is."""
    if any(over[key] != under[key] for key in _DECISIVE & over.keys() & under.keys()):
        return None
    made = {**under, **over}
    above, below = over.get("properties"), under.get("properties")
    if isinstance(above, dict) and isinstance(below, dict):
        both: dict[str, Json] = {key: {"allOf": [below[key], above[key]]} for key in above.keys() & below.keys()}
        made["properties"] = {**below, **above, **both}
    first, second = under.get("required"), over.get("required")
    if isinstance(first, list) and isinstance(second, list):
        made["required"] = [*first, *second]
    return made


def _string_kind(schema: Mapping[str, Json]) -> Kind:
    wanted, limit = schema.get("format"), schema.get("maxLength")
    if wanted in {"date", "date-time"}:
        return Kind.DATE if wanted == "date" else Kind.MOMENT
    long = wanted in LONG_FORMATS or (isinstance(limit, int) and limit > LONG_TEXT)
    return Kind.TEXT if long else Kind.LINE


def _choice(made: Field, listed: Sequence[tuple[Json, Json]]) -> Field:
    """Values to choose from, each with a title or None. Texts are shown as they are where all values are texts."""
    plain = all(isinstance(value, str) and value.isprintable() and value.strip() == value for value, _ in listed)
    options = {}
    for value, title in listed:
        text = strict_json.dumps(value)
        exact = (value or "empty text") if plain and isinstance(value, str) else text
        options[text] = Option(text, f"{title} ({exact})" if isinstance(title, str) and title != exact else exact)
    return replace(made, kind=Kind.CHOICE, nullable=False, options=tuple(options.values()))


def _shape_label(part: Field) -> str:
    """What a shape is called: its title, the value that only it allows somewhere, or its kind."""
    title = part.schema.get("title")
    fixed = next((each for each in part.parts if each.kind == Kind.FIXED), None)
    return title if isinstance(title, str) and title else fixed.options[0].label if fixed else part.word


def _hint(schema: Mapping[str, Json]) -> str:
    """The description, and the bounds of a number in words."""
    described = schema.get("description")
    kind = {"integer": "Whole number", "number": "Number"}.get(str(schema.get("type")), "")
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = {
        (True, True): f", {least} to {most}", (True, False): f", {least} or more", (False, True): f", {most} or less",
    }.get((least is not None, most is not None), "")  # fmt: skip
    parts = [described if isinstance(described, str) else "", f"{kind}{bounds}." if kind and bounds else ""]
    return " ".join(part for part in parts if part)


def _moved(field: Field, *, of: str, to: str) -> Field:
    parts = tuple(_moved(part, of=of, to=to) for part in field.parts)
    return replace(field, name=to + field.name.removeprefix(of), parts=parts)
