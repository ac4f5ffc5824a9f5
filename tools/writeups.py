"""What came back of a call, as a headline and a few rows. Pure, without a model; every value is in the raw output.

Nothing is rounded, translated or computed: no sum, no currency sign, no count of anything but what was returned.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from median_site.lib import strict_json, text
from median_site.lib.strict_json import Json
from tools import values

HEADLINE_LIMIT: Final = 120
VALUE_LIMIT: Final = 200
ROW_LIMIT: Final = 8
DEPTH_LIMIT: Final = 3
NOTHING: Final = "Done. The tool returned nothing."

# Keys whose text says in a few words how it went, most telling first.
_TELLING: Final = ("status", "state", "result", "outcome", "message", "summary", "title", "name")


@dataclass(frozen=True, slots=True)
class Row:
    """A label in words, the value as people read it, and the value exactly as JSON writes it."""

    label: str
    value: str
    exact: str


@dataclass(frozen=True, slots=True)
class WriteUp:
    headline: str
    rows: tuple[Row, ...] = ()

    def as_json(self) -> list[Json]:
        """As `ToolRun.rows` keeps it: [[label, value, exact], …]."""
        return [[row.label, row.value, row.exact] for row in self.rows]


def write_up(*, label: str, result: Json, refusal: Mapping[str, Json] | None) -> WriteUp:
    """Write up one completed run of the tool `label`.

    `result` is the parsed result, or its text when the tool answered in plain text; `refusal` is {"reason", "detail"}
    when the tool said no. The headline has at most 120 characters.
    """
    if refusal:
        reason = refusal.get("reason") or f"{label} gave no reason"
        return WriteUp(_cut(f"The tool refused: {reason}"), _rows({"detail": refusal.get("detail")}))
    if result is None or (isinstance(result, str | list | dict) and not result):
        return WriteUp(NOTHING)
    if isinstance(result, str):
        return _of_text(label, result)
    if isinstance(result, list):
        return WriteUp(_cut(f"{label} returned {_counted(len(result), 'item')}"), _rows(result))
    if isinstance(result, dict):
        return WriteUp(_headline(label, result), _rows(result))
    return WriteUp(_cut(f"{label}: {spoken(result)}"))


def _of_text(label: str, result: str) -> WriteUp:
    line = text.excerpt(result, HEADLINE_LIMIT)
    if line == result.strip():
        return WriteUp(line)
    return WriteUp(_cut(f"{label} returned text"), (Row("Text", spoken(result), strict_json.dumps(result)),))


def _headline(label: str, result: Mapping[str, Json]) -> str:
    """How it went in the result's own words, or how much came back."""
    for key in _TELLING:
        said = result.get(key)
        if isinstance(said, str) and said.strip() and "\n" not in said and len(f"{label}: {said}") <= HEADLINE_LIMIT:
            return f"{label}: {said}"
    flags = [(key, value) for key, value in result.items() if isinstance(value, bool)]
    if len(flags) == 1:
        key, value = flags[0]
        return _cut(f"{label}: {'' if value else 'not '}{values.label_of(key).lower()}")
    return _cut(f"{label} returned {_counted(len(result), 'field')}")


def _rows(result: Json) -> tuple[Row, ...]:
    """The first few plain values in order, nested ones under the words of their path; not null and empty text."""
    made: list[Row] = []
    for path, value in _leaves(result, ()):
        if len(made) == ROW_LIMIT:
            break
        label = values.label_of("_".join(path)) or " ".join(path)
        made.append(Row(label, spoken(value), strict_json.dumps(value)))
    return tuple(made)


def _leaves(value: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Json]]:
    if isinstance(value, Mapping | list):
        if len(path) < DEPTH_LIMIT:
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
            for key, each in pairs:
                yield from _leaves(each, (*path, str(key)))
    elif value is not None and value != "":
        yield path, value


def spoken(value: Json) -> str:
    """A plain value as people read it. A long text is cut, and shows that it is; the raw output has all of it."""
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, str):
        return value if len(value) <= VALUE_LIMIT else value[: VALUE_LIMIT - 1] + "…"
    return str(value) if isinstance(value, int | float | Decimal) else strict_json.dumps(value)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _cut(line: str) -> str:
    return text.excerpt(line, HEADLINE_LIMIT)
