"""What an HTTP tool is: its definition, its input schema, and how two lists of definitions differ. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NamedTuple, cast

from median_site.lib import strict_json
from median_site.lib.strict_json import Json

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
PLACES: Final = ("path", "query", "body")
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")

Place = Literal["path", "query", "body"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that the model or a form gives, and where in the request it goes."""

    name: str
    schema: dict[str, Json]
    required: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Subject:
    """The reserved parameter of a per-user tool. Only the customer's session token fills it."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition that was checked. In `url` each {placeholder} stands for the path parameter of that name."""

    name: str
    label: str
    description: str
    risk: str
    method: str
    url: str
    parameters: tuple[Parameter, ...] = ()
    subject: Subject | None = None
    requires: str = ""
    session_start: bool = False

    @property
    def input_schema(self) -> dict[str, Json]:
        """The schema of the input that the model and forms see: every parameter but the subject."""
        properties: dict[str, Json] = {each.name: each.schema for each in self.parameters}
        required: list[Json] = [each.name for each in self.parameters if each.required]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def as_json(self) -> dict[str, Json]:
        """The form in which definitions are stored, shown and sent."""
        made = cast(dict[str, Json], asdict(self))
        made["sessionStart"] = made.pop("session_start")
        return made | {"parameters": [cast(Json, asdict(each)) for each in self.parameters]}


class Change(NamedTuple):
    """How one tool differs: `what` is added, changed or gone; each field with its old and new value as text."""

    name: str
    label: str
    what: Literal["added", "changed", "gone"]
    fields: list[tuple[str, str, str]]


def from_json(stored: Json) -> Definition:
    """The definition that `as_json` wrote."""
    made = cast(dict[str, Json], stored)
    parameters = cast(list[dict[str, Json]], made["parameters"])
    subject = cast("dict[str, str] | None", made["subject"])
    return Definition(
        name=cast(str, made["name"]),
        label=cast(str, made["label"]),
        description=cast(str, made["description"]),
        risk=cast(str, made["risk"]),
        method=cast(str, made["method"]),
        url=cast(str, made["url"]),
        parameters=tuple(Parameter(**each) for each in parameters),  # type: ignore[arg-type]  # as_json wrote it
        subject=Subject(subject["name"], cast(Place, subject["place"])) if subject else None,
        requires=cast(str, made["requires"]),
        session_start=cast(bool, made["sessionStart"]),
    )


def without_subject(definition: Definition | None, value: Json) -> Json:
    """The value itself, or one without what it holds for the subject."""
    subject = definition.subject.name if definition and definition.subject else None
    if not isinstance(value, dict) or subject not in value:
        return value
    return {key: part for key, part in value.items() if key != subject}


def diff(old: Sequence[Definition], new: Sequence[Definition]) -> list[Change]:
    """What publishing `new` over `old` changes, tool by tool in the order of their names."""
    before, after = {each.name: each for each in old}, {each.name: each for each in new}
    changes = []
    for name in sorted(before.keys() | after.keys()):
        was, becomes = before.get(name), after.get(name)
        if was != becomes:
            what: Literal["added", "changed", "gone"] = "changed" if was and becomes else "added" if becomes else "gone"
            shown = becomes or was
            changes.append(Change(name, shown.label if shown else "", what, list(_fields(was, becomes))))
    return changes


def _fields(was: Definition | None, becomes: Definition | None) -> Iterator[tuple[str, str, str]]:
    before, after = _flat(was), _flat(becomes)
    for field in [*after, *(gone for gone in before if gone not in after)]:
        old, new = before.get(field, ""), after.get(field, "")
        if old != new:
            yield field, old, new


def _flat(definition: Definition | None) -> dict[str, str]:
    """A definition as lines to compare: one for each field and one for each parameter."""
    if definition is None:
        return {}
    flat = {key: value for key, value in definition.as_json().items() if key not in {"name", "parameters"}}
    for each in definition.parameters:
        flat[f"parameter {each.name}"] = {
            "in": each.place,
            "required": each.required,
            "schema": cast(Json, each.schema),
        }
    return {key: _line(value) for key, value in flat.items() if value not in (None, "", False)}


def _line(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_line(part)}" for key, part in value.items() if key != "schema") + (
            f", {strict_json.dumps(value['schema'])}" if "schema" in value else ""
        )
    return value if isinstance(value, str) else {True: "yes", False: "no"}[bool(value)]
