"""What a sync changed, tool by tool and field by field, as JSON to keep and as one line to read. Pure."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from median_site.lib.strict_json import Json
from median_site.lib.text import excerpt

Kind = Literal["added", "gone", "back", "changed"]

MAX_LINES: Final = 120  # kept of one schema's difference
COMPARED: Final = 300  # lines of two schemas that are matched up with each other; of longer ones the middle is replaced
SUMMARY: Final = 300

_TEXTS: Final = ("label", "description", "risk", "requires", "session_start")
_JSON: Final = ("input", "extra")


class Content(NamedTuple):
    """What a manifest says of a tool. `input` and `extra` are JSON text, `session_start` is "yes" or "no"."""

    label: str
    description: str
    risk: str
    requires: str
    session_start: str
    input: str
    extra: str


def change(kind: Kind, name: str, *, new: Content, old: Content | None = None, off: bool = False) -> dict[str, Json]:
    """One tool's change: {"tool", "label", "risk", "change", "off", "fields"}.

    A field is {"field", "old", "new"}, or of the schema and the other fields {"field", "lines", "more"}: lines as a
    unified diff has them, and how many were left out. `off`: it was switched off because too many are on.
    """
    fields = list(_fields(old, new)) if old else []
    return {"tool": name, "label": new.label, "risk": new.risk, "change": kind, "off": off, "fields": fields}


def risk_moved(change: Mapping[str, Json]) -> tuple[str, str] | None:
    """The old and the new risk of a change that moved it."""
    fields = change.get("fields")
    for field in fields if isinstance(fields, list) else []:
        if isinstance(field, dict) and field["field"] == "risk":
            return str(field["old"]), str(field["new"])
    return None


def summary(changes: Sequence[Mapping[str, Json]]) -> str:
    """All changes on one line, moved risks by name: "2 added; Refund order is low risk now, was reviewed"."""
    counted = [
        f"{count} {words}"
        for kind, words in (("added", "added"), ("back", "back"), ("changed", "changed"), ("gone", "gone"))
        if (count := sum(change["change"] == kind for change in changes))
    ]
    moved = [
        f"{change['label']} is {_risk(risk[1])} now, was {_risk(risk[0])}"
        for change in changes
        if (risk := risk_moved(change))
    ]
    off = sum(bool(change["off"]) for change in changes)
    parts = [", ".join(counted), *moved, f"{off} left switched off" if off else ""]
    return excerpt("; ".join(filter(None, parts)), SUMMARY)


def _risk(level: str) -> str:
    return level if level == "reviewed" else f"{level} risk"


def _fields(old: Content, new: Content) -> Iterator[Json]:
    for field in _TEXTS:
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            yield {"field": field, "old": before, "new": after}
    for field in _JSON:
        before, after = getattr(old, field), getattr(new, field)
        if before != after and (lines := list(_lines(_pretty(before), _pretty(after)))):
            shown: list[Json] = [*lines[:MAX_LINES]]
            yield {"field": field, "lines": shown, "more": len(lines) - len(shown)}


def _pretty(text: str) -> list[str]:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()


def _lines(old: list[str], new: list[str]) -> Iterator[str]:
    """A unified diff, in time that is bounded whatever the two are."""
    if len(old) + len(new) <= 2 * COMPARED:
        yield from (line for line in difflib.unified_diff(old, new, n=2, lineterm="") if line[:3] not in {"---", "+++"})
        return
    start, end = _same(old, new), 0
    end = _same(old[start:][::-1], new[start:][::-1])
    yield from (f" {line}" for line in old[max(0, start - 2) : start])
    yield from (f"-{line}" for line in old[start : len(old) - end])
    yield from (f"+{line}" for line in new[start : len(new) - end])
    yield from (f" {line}" for line in old[len(old) - end :][:2])


def _same(old: list[str], new: list[str]) -> int:
    """How many lines the two have in common at their start."""
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
