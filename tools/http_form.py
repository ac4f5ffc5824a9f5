"""The form of an HTTP tool: what was typed, kept as it was typed, and as the raw definition that is checked."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from django.http import QueryDict

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools.http_checks import Fault
from tools.http_definitions import Definition

BLANK_ROWS: Final = 3
_ROW: Final = "parameters["
_TEXTS: Final = (
    "name", "label", "description", "risk", "method", "url", "requires", "subject_name", "subject_place",
)  # fmt: skip


class Row(NamedTuple):
    """One row of the table of parameters; `schema` is JSON text."""

    name: str = ""
    place: str = "query"
    required: bool = True
    schema: str = '{"type": "string"}'

    @property
    def is_blank(self) -> bool:
        return not self.name.strip()


class Typed(NamedTuple):
    """The form's fields as text; `rows` always end with some blank ones."""

    name: str = ""
    label: str = ""
    description: str = ""
    risk: str = "low"
    method: str = "GET"
    url: str = ""
    requires: str = ""
    subject_name: str = ""
    subject_place: str = "query"
    session_start: bool = False
    rows: tuple[Row, ...] = (Row(),) * BLANK_ROWS

    def raw(self) -> dict[str, Json]:
        """What http_checks.read takes. A row without a name is none."""
        parameters: list[Json] = [
            {"name": row.name, "place": row.place, "required": row.required, "schema": row.schema or None}
            for row in self.rows
            if not row.is_blank
        ]
        subject: Json = {"name": self.subject_name, "place": self.subject_place} if self.subject_name.strip() else None
        return {
            "name": self.name, "label": self.label, "description": self.description, "risk": self.risk,
            "method": self.method, "url": self.url, "parameters": parameters, "subject": subject,
            "requires": self.requires, "sessionStart": self.session_start,
        }  # fmt: skip


def of(definition: Definition) -> Typed:
    """The form filled with a definition."""
    rows = [Row(each.name, each.place, each.required, strict_json.dumps(each.schema)) for each in definition.parameters]
    return Typed(
        name=definition.name,
        label=definition.label,
        description=definition.description,
        risk=definition.risk,
        method=definition.method,
        url=definition.url,
        requires=definition.requires,
        subject_name=definition.subject.name if definition.subject else "",
        subject_place=definition.subject.place if definition.subject else "query",
        session_start=definition.session_start,
        rows=_with_blanks(rows),
    )


def read(post: QueryDict) -> Typed:
    """What was typed; blank rows between others close up, so that a fault's number is its row's."""
    columns = [post.getlist(f"parameter_{column}") for column in ("name", "place", "need", "schema")]
    rows = [Row(name, place, need == "required", schema) for name, place, need, schema in zip(*columns, strict=False)]
    given = [row for row in rows if not row.is_blank]
    texts = {field: post.get(field, "") for field in _TEXTS}
    return Typed(**texts, session_start=post.get("session_start") == "1", rows=_with_blanks(given))


def by_field(faults: list[Fault]) -> Mapping[str, str]:
    """The sentences beside their fields; those of a row's parts stand at the row, as `parameters[2]`."""
    shown: dict[str, str] = {}
    for fault in faults:
        field = fault.field.partition("]")[0] + "]" if fault.field.startswith(_ROW) else fault.field
        shown[field] = f"{shown[field]} {fault.message}" if field in shown else fault.message
    return shown


def _with_blanks(rows: list[Row]) -> tuple[Row, ...]:
    return (*rows, *(Row(),) * BLANK_ROWS)
