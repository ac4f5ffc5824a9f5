"""The log as the Logs page reads it: which events a filter lists, page by page, newest first. Reads only.

A filter by one thing has an index of its own. A mix of several, and any text, is looked for among the next LOOK events
of the workspace, so that the rarest combination costs what the most common one does; the page says how far it looked.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Final, Self

from django.db.models import Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.db.models.lookups import IContains
from django.http import QueryDict

from median_site.dashboard.keyset import Place
from median_site.lib import clock, times
from median_site.lib.actors import ActorKind
from median_site.lib.text import clean
from team.facets import Outcome, Type
from team.models import Event

PAGE: Final = 50
LOOK: Final = 100_000
LOOK_FIRST: Final = 2_000
WORDS: Final = 5

TIMES: Final[Mapping[str, timedelta]] = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
_WHOLE_ID: Final = re.compile(r"(call|test)_[0-9a-f]{32}|[0-9a-z]{32}")


@dataclass(frozen=True, slots=True)
class Filter:
    """What a query string asks for; each field is empty when it asks for nothing. `since` and `until` are days."""

    type: str = ""
    tool: str = ""
    actor: str = ""
    conversation: str = ""
    outcome: str = ""
    time: str = ""
    since: str = ""
    until: str = ""
    q: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """What it gets wrong counts as not asked for."""
        words = {name: clean(query.get(name, ""))[0].strip()[:100] for name in cls.__dataclass_fields__}
        allowed = {"type": Type, "outcome": Outcome, "time": TIMES}
        words |= {name: words[name] if words[name] in set(known) else "" for name, known in allowed.items()}
        return cls(**words | {name: words[name] if _day(words[name]) else "" for name in ("since", "until")})

    def query(self, **changes: str) -> str:
        """The query string of this filter with changes, and without the page."""
        asked = {name: value for name, value in (asdict(self) | changes).items() if value}
        query = QueryDict(mutable=True)
        query.update(asked)
        return f"?{query.urlencode()}" if query else "?"

    @property
    def is_empty(self) -> bool:
        return self == type(self)()

    @property
    def facets(self) -> Mapping[str, list[str]]:
        """Which facets a pushed event must have to come into the list: name to allowed values."""
        asked = {"type": self.type, "tool": self.tool, "outcome": self.outcome, "conversation": self.conversation}
        asked["actor_kind" if self._names_a_kind else "actor_id"] = self.actor
        return {name: [value] for name, value in asked.items() if value}

    @property
    def may_follow(self) -> bool:
        """Whether an event that just happened can belong to the list, as far as its facets say."""
        return not self.q and not self.until

    @property
    def is_wide(self) -> bool:
        """No single index leads to its rows."""
        if self.conversation or _WHOLE_ID.fullmatch(self.q):
            return False
        return bool(self.q) or sum(map(bool, (self.type, self.tool, self.actor, self.outcome))) > 1

    @property
    def _names_a_kind(self) -> bool:
        return self.actor in set(ActorKind)

    def rows(self, workspace_id: str) -> QuerySet[Event]:
        """The workspace's events that this filter lists."""
        return _about(self, _within(self, Event.objects.filter(workspace_id=workspace_id)))


@dataclass(frozen=True, slots=True)
class Page:
    """Events, newest first; the places to go on from, or None; and, when it had to stop looking before the page was
    full, the moment up to which it has looked."""

    events: list[Event]
    newer: Place | None = None
    older: Place | None = None
    looked_to: datetime | None = None


def page(workspace_id: str, *, by: Filter, before: Place | None = None, after: Place | None = None) -> Page:
    """The newest events, or those next to a place. One query; up to four for a filter that is wide: it looks nearby
    first, where what is common fills the page."""
    near = after or before
    rows = by.rows(workspace_id)
    if near:
        rows = rows.filter(near.newer("at") if after else near.older("at"))
    found, stopped = [] if by.is_wide else _take(rows, after), None
    if by.is_wide:
        for look in (LOOK_FIRST, LOOK):
            stop = _stop(workspace_id, look, by=by, before=before, after=after)
            found = _take(
                rows.filter(stop.next.older("at") if after else stop.next.newer("at")) if stop else rows, after
            )
            stopped = stop.last if stop and len(found) <= PAGE else None
            if not stopped:
                break
    shown = found[:PAGE][::-1] if after else found[:PAGE]
    goes_on = stopped or (_place(found[PAGE - 1]) if len(found) > PAGE else None)
    looked_to = stopped.at if stopped else None
    if after:
        older = _place(shown[-1]) if shown else _beside(after, 1)
        return Page(shown, newer=goes_on, older=older, looked_to=looked_to)
    newer = (_place(shown[0]) if shown else _beside(before, -1)) if before else None
    return Page(shown, newer=newer, older=goes_on, looked_to=looked_to)


def _take(rows: QuerySet[Event], after: Place | None) -> list[Event]:
    return list(rows.order_by(*_order(after))[: PAGE + 1])


@dataclass(frozen=True, slots=True)
class _Stop:
    """Where looking ends: the last event that is looked at, and the next one, which is not."""

    last: Place
    next: Place


def _stop(workspace_id: str, look: int, *, by: Filter, before: Place | None, after: Place | None) -> _Stop | None:
    """After so many events of the workspace; None when there are no more than that."""
    rows = _within(by, Event.objects.filter(workspace_id=workspace_id))
    if after:
        rows = rows.filter(after.newer("at"))
    elif before:
        rows = rows.filter(before.older("at"))
    places = [
        Place(at, str(id)) for at, id in rows.order_by(*_order(after)).values_list("at", "id")[look - 1 : look + 1]
    ]
    return _Stop(*places) if len(places) == 2 else None


def _order(after: Place | None) -> tuple[str, str]:
    return ("at", "id") if after else ("-at", "-id")


def _place(event: Event) -> Place:
    return Place(event.at, str(event.id))


def _beside(place: Place, by: int) -> Place:
    """So that the event at the place itself is on the other side: of a page without events the way leads back to it."""
    return Place(place.at, str(max(int(place.id) + by, 0)))


def _within(by: Filter, rows: QuerySet[Event]) -> QuerySet[Event]:
    """Between two days, where one is named; else in the last so many."""
    since, until = _day(by.since), _day(by.until)
    if since:
        rows = rows.filter(at__gte=times.start_of(since))
    if until:
        rows = rows.filter(at__lt=times.start_of(until + timedelta(days=1)))
    if by.time and not since and not until:
        rows = rows.filter(at__gte=clock.now() - TIMES[by.time])
    return rows


def _about(by: Filter, rows: QuerySet[Event]) -> QuerySet[Event]:
    asked = {"type": by.type, "tool_name": by.tool, "outcome": by.outcome, "conversation_id": by.conversation}
    asked["actor_kind" if by._names_a_kind else "actor_id"] = by.actor
    rows = rows.filter(**{name: value for name, value in asked.items() if value})
    if _WHOLE_ID.fullmatch(by.q):
        return rows.filter(Q(subject_id=by.q) | Q(conversation_id=by.q))
    searched = ["kind", "actor_name", "tool_name", "subject_id", Cast("data", TextField())]
    pieces = [piece for each in searched for piece in (each, Value(" "))]
    words = Concat(*pieces, output_field=TextField())
    for word in by.q.split()[:WORDS]:
        rows = rows.filter(IContains(words, word))
    return rows


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in range(1970, 9999) else None
