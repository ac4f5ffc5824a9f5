"""A row of the log as the page and the push show it."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from django.db.models import QuerySet
from markupsafe import Markup

from conversations.models import Conversation
from median_site.dashboard.sentences import sentence
from median_site.lib import clock, live, times
from median_site.lib.fragments import render
from median_site.lib.strict_json import Json
from team import chain
from team.models import Event, Workspace

SYMBOLS: Final[Mapping[str, str]] = {"system": "clock", "reviewer": "review", "api": "code"}
TONES: Final[Mapping[str, str]] = {"ran": "green", "refused": "amber", "passed": "amber", "failed": "red"}


def draw(events: Iterable[Event], *, agent: str) -> list[tuple[Event, Markup]]:
    """The events with their HTML. `agent` is what the workspace calls it. One query, for the customers' names."""
    events = list(events)
    threads = {event.conversation_id for event in events if event.conversation_id}
    found = Conversation.objects.filter(id__in=threads).select_related("customer") if threads else ()
    customers = {row.id: row.customer for row in found}
    return [(event, _row(event, agent=agent, customer=customers.get(event.conversation_id))) for event in events]


def shape(event: Event) -> dict[str, Json]:
    """The whole event, as it is shown opened."""
    whole = chain.shown(event) if event.position else chain.written(event)
    return {**whole, "type": event.type, "outcome": event.outcome or None}


def push(ask: live.Ask) -> list[live.Push]:
    """What the log's watchers get: the event that was named, those that a thread just wrote, or for a page that came
    back all since it was read, newest last."""
    rows = Event.objects.filter(workspace_id=ask.workspace_id)
    if ask.id.isdecimal():
        rows = rows.filter(id=int(ask.id))
    elif ask.id:
        rows = rows.filter(conversation_id=ask.id, at__gt=clock.now() - live.OVERLAP)
    else:
        rows = rows.filter(at__gt=ask.read_at)
    found = _newest(rows)
    if len(found) > live.MOST:
        return [live.refresh("log", 0)]
    agent = Workspace.objects.values_list("agent_name", flat=True).get(id=ask.workspace_id) if found else ""
    return [live.Push(0, _frame(event, html)) for event, html in draw(found[::-1], agent=agent)]


def _newest(rows: QuerySet[Event]) -> list[Event]:
    return list(rows.order_by("-at", "-id")[: live.MOST + 1])


def _frame(event: Event, html: Markup) -> Mapping[str, object]:
    return {
        "kind": "event",
        "id": f"event-{event.id}",
        "version": 1,
        "day": times.day(event.at),
        "html": html,
        "facets": {
            "type": event.type,
            "tool": event.tool_name,
            "outcome": event.outcome,
            "conversation": event.conversation_id,
            "actor_kind": event.actor_kind,
            "actor_id": event.actor_id,
        },
    }


def _row(event: Event, *, agent: str, customer: object) -> Markup:
    return render(
        "logs/_event.html",
        event=event,
        said=sentence(event, agent=agent),
        symbol=SYMBOLS.get(event.actor_kind, ""),
        tone=TONES.get(event.outcome, ""),
        customer=customer,
        exact=json.dumps(shape(event), indent=2, ensure_ascii=False),
    )
