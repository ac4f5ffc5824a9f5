"""The log as a file: CSV for spreadsheets, JSON lines for programs, written while it is read.

Rows are read piece by piece from where the last piece ended: whoever downloads slowly holds no transaction and no
connection, and the file may be as long as it likes.
"""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from django.http import StreamingHttpResponse

from median_site.dashboard import log_rows
from median_site.dashboard.journal import Filter
from median_site.dashboard.keyset import Place
from median_site.dashboard.sentences import sentence
from median_site.lib import clock
from median_site.lib.db import in_thread
from team import chain
from team.models import Event, Workspace

PIECE: Final = 2_000
COLUMNS: Final = (
    "id", "at", "type", "kind", "outcome", "event", "actor_kind", "actor_id", "actor_name", "tool", "conversation_id",
    "subject_id", "data",
)  # fmt: skip

# What a spreadsheet takes for the start of a formula, the full-width forms too. A number is none.
_FORMULA: Final = re.compile("[=+\\-@\t\r\n＝＋－＠]")
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")

Write = Callable[[Event, str], str]


def response(workspace: Workspace, *, by: Filter, form: str) -> StreamingHttpResponse:
    """A download of the events that a filter lists now, newest first. `form` is a key of FORMS."""
    content_type, first_line, write = FORMS[form]
    body = _lines(workspace, by=by, first_line=first_line, write=write)
    name = f"{workspace.slug}-log-{clock.now():%Y-%m-%d}.{form}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-store",
        "X-Accel-Buffering": "no",
    }
    return StreamingHttpResponse(body, content_type=f"{content_type}; charset=utf-8", headers=headers)


def cell(value: str) -> str:
    """A value as a spreadsheet should take it: as text, or as the number it is, never as a formula."""
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


async def _lines(workspace: Workspace, *, by: Filter, first_line: str, write: Write) -> AsyncIterator[str]:
    yield first_line
    place: Place | None = None
    while piece := await in_thread(_piece, workspace.id, by=by, place=place):
        yield "".join(write(event, workspace.agent_name) for event in piece)
        place = Place(piece[-1].at, str(piece[-1].id))


def _piece(workspace_id: str, *, by: Filter, place: Place | None) -> list[Event]:
    rows = by.rows(workspace_id)
    if place:
        rows = rows.filter(place.older("at"))
    return list(rows.order_by("-at", "-id")[:PIECE])


def _csv(event: Event, agent: str) -> str:
    shape = log_rows.shape(event)
    values = (
        event.id, shape["at"], event.type, event.kind, event.outcome, sentence(event, agent=agent), event.actor_kind,
        event.actor_id, event.actor_name, event.tool_name, event.conversation_id, event.subject_id,
        json.dumps(event.data, ensure_ascii=False),
    )  # fmt: skip
    return _row(*(cell(str(value)) for value in values))


def _row(*values: str) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue()


def _json(event: Event, agent: str) -> str:
    whole = log_rows.shape(event) | chain.shown(event) | {"event": sentence(event, agent=agent)}
    return json.dumps(whole, ensure_ascii=False) + "\n"


# form: content type, what stands before the first event, and what makes a line
FORMS: Final[Mapping[str, tuple[str, str, Write]]] = {
    "csv": ("text/csv", _row(*COLUMNS), _csv),
    "jsonl": ("application/x-ndjson", "", _json),
}
