"""A request in the lists of the Approvals page, as the page and the push show it: waiting, or decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from markupsafe import Markup

from approvals import cards
from approvals.fragments import shown_state
from approvals.models import DECIDABLE, State, ToolApproval
from median_site.dashboard import requests
from median_site.lib import clock, live, times
from median_site.lib.fragments import render
from team.facets import Type
from team.models import Event
from tools import values

# How far back a change of a thread looks for what it may have been about.
RECENT: Final = timedelta(seconds=60)
TONES: Final[Mapping[str, str]] = {State.COMPLETED: "green", State.FAILED: "red"}


@dataclass(frozen=True, slots=True)
class Row:
    """A request as it waits (`waiting`, with its card open) and as it is over (`settled`, with its card closed)."""

    request: ToolApproval
    version: int
    waiting: Markup
    settled: Markup


def draw(found: Sequence[ToolApproval]) -> list[Row]:
    """Requests of one workspace, from `cards.rows`. Costs what `cards.draw` does."""
    drawn = cards.draw(found)
    rows = []
    for request in found:
        item, card = drawn[request.id]
        state = shown_state(request)
        context = {
            "request": request,
            "version": item.version,
            "card": card,
            "customer": request.conversation.customer,
            "line": values.rows_of(request.input).one_line,
            "status": requests.STATUSES[requests.STATUS_OF[state]][0],
            "tone": TONES.get(state, ""),
            # Descending, so that the soonest expiry stands first and the rest follows below.
            "order": -times.millis(request.expires_at),
        }
        waiting = render("approvals/_request.html", **context)
        rows.append(Row(request, item.version, waiting, render("approvals/_request_row.html", **context)))
    return rows


def push(ask: live.Ask) -> list[live.Push]:
    """What pages get: the requests of a thread that changed, or for a page that came back all that changed since."""
    changed = Event.objects.filter(workspace_id=ask.workspace_id)
    if ask.id:
        changed = changed.filter(conversation_id=ask.id, at__gt=clock.now() - RECENT, tool_name__gt="")
    else:
        changed = changed.filter(type=Type.TOOLS, at__gt=ask.read_at)
    ids = list(changed.order_by("-at", "-id").values_list("subject_id", flat=True)[: live.MOST + 1])
    if len(ids) > live.MOST:
        return [live.refresh("requests", 0)]
    found = list(cards.rows(ask.workspace_id).filter(id__in=ids)) if ids else []
    return [live.Push(row.version, _frame(row)) for row in draw(found)]


def _frame(row: Row) -> Mapping[str, object]:
    state = shown_state(row.request)
    return {
        "kind": "request",
        "id": row.request.id,
        "version": row.version,
        "waits": state in DECIDABLE,
        "pending": state == State.PENDING,
        "says": f"Needs approval: {row.request.tool_label}",
        "waiting": row.waiting,
        "settled": row.settled,
        "facets": {
            "status": requests.STATUS_OF[state],
            "tool": row.request.tool_name,
            "risk": row.request.risk,
        },
    }
