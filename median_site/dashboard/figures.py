"""What the Dashboard counts. Reads only; every count is bounded, or read off an index that holds all it needs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, Count, DurationField, F, Q
from django.db.models.functions import TruncDate

from approvals.models import DECIDABLE, State, ToolApproval
from conversations.models import Conversation, Handler, Status
from median_site.dashboard.queue import COUNTED_UP_TO
from median_site.lib import clock, times
from median_site.lib.actors import ActorKind
from team.events import Kind
from team.models import Event
from tools.models import RunState, Starter, ToolRun

DAYS: Final = 14
FAILING: Final = timedelta(days=7)
THREADS: Final = 10_000
SHOWN: Final = 3
ENDINGS: Final[Mapping[str, str]] = {Kind.APPROVED: "approved", Kind.DENIED: "denied", Kind.EXPIRED: "expired"}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Requests that wait now, of at most COUNTED_UP_TO read: how many for the team and for the reviewer, and the first
    to expire of those for the team."""

    pending: int
    reviewing: int
    first: list[ToolApproval]
    oldest: datetime | None

    @property
    def is_all(self) -> bool:
        return self.pending + self.reviewing < COUNTED_UP_TO


@dataclass(frozen=True, slots=True)
class Deciding:
    """How long teammates took, from the request to their answer: how many answers, and what 10, 25, 50, 75 and 90 in
    100 of them stayed below."""

    count: int
    spread: list[timedelta]


@dataclass(frozen=True, slots=True)
class Day:
    date: date
    approved: int = 0
    denied: int = 0
    expired: int = 0

    @property
    def total(self) -> int:
        return self.approved + self.denied + self.expired


@dataclass(frozen=True, slots=True)
class Failing:
    """A tool whose calls failed, how often of how many, and the last fault."""

    name: str
    label: str
    failed: int
    total: int
    fault: str


@dataclass(frozen=True, slots=True)
class Runs:
    """Calls of FAILING that ended: the tools that failed, most often first, and how the others did."""

    failing: list[Failing]
    failed: int
    total: int
    others: int
    others_total: int


@dataclass(frozen=True, slots=True)
class Threads:
    """Open threads by who has them, most first: id ("" for the agent and for nobody), name, count."""

    holders: list[tuple[str, str, int]]
    with_agent: int
    total: int

    @property
    def is_all(self) -> bool:
        return self.total < THREADS


def threads(workspace_id: str, *, agent: str) -> Threads:
    """One query, over at most THREADS open threads, the newest."""
    opened = Conversation.objects.filter(workspace_id=workspace_id, status=Status.OPEN)
    newest = opened.order_by("-last_at", "-id").values_list("handler", "assignee_id", "assignee__name")[:THREADS]
    held = Counter(newest)
    with_agent = sum(count for (handler, _, _), count in held.items() if handler == Handler.AGENT)
    people: Counter[tuple[str, str]] = Counter()
    for (handler, person, name), count in held.items():
        if handler != Handler.AGENT:
            people[(person or "", name or "Nobody")] += count
    holders = [("", agent, with_agent)] if with_agent else []
    holders += [(person, name, count) for (person, name), count in people.most_common()]
    return Threads(holders, with_agent, held.total())


def waiting(workspace_id: str) -> Waiting:
    """One query for the requests, the first to expire first."""
    rows = ToolApproval.objects.filter(workspace_id=workspace_id, state__in=DECIDABLE, expires_at__gt=clock.now())
    found = list(rows.select_related("conversation__customer").order_by("expires_at", "id")[:COUNTED_UP_TO])
    pending = [row for row in found if row.state == State.PENDING]
    oldest = min((row.requested_at for row in pending), default=None)
    return Waiting(len(pending), len(found) - len(pending), pending[:SHOWN], oldest)


class _Spread(Aggregate):
    """What 10, 25, 50, 75 and 90 in 100 values stay below."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(ARRAY[0.1, 0.25, 0.5, 0.75, 0.9]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(DurationField())


def deciding(workspace_id: str) -> Deciding:
    """Answers of teammates since the first of the DAYS days. One query."""
    rows = ToolApproval.objects.filter(
        workspace_id=workspace_id, decided_by_kind=ActorKind.TEAMMATE, decided_at__gte=times.start_of(_first_day())
    )
    found = rows.aggregate(count=Count("id"), spread=_Spread(F("decided_at") - F("requested_at")))
    return Deciding(found["count"], found["spread"] or [])


def days(workspace_id: str) -> list[Day]:
    """How requests ended on each of the last DAYS days, today last, whoever decided. One query."""
    first = _first_day()
    rows = Event.objects.filter(workspace_id=workspace_id, kind__in=ENDINGS, at__gte=times.start_of(first))
    counts = rows.values_list(TruncDate("at"), "kind").annotate(count=Count("id")).order_by()
    found: dict[date, dict[str, int]] = {}
    for day, kind, count in counts:
        found.setdefault(day, {})[ENDINGS[kind]] = count
    dates = [first + timedelta(days=number) for number in range(DAYS)]
    return [Day(each, **found.get(each, {})) for each in dates]


def runs(workspace_id: str) -> Runs:
    """Calls that ended in the last FAILING, tests apart, by tool. Two queries; one when nothing failed."""
    since = clock.now() - FAILING
    ended = ToolRun.objects.filter(workspace_id=workspace_id, ended_at__gte=since).exclude(started_by=Starter.TEST)
    failures = Count("id", filter=Q(state=RunState.FAILED))
    counted = list(ended.values_list("tool_name", "tool_label").annotate(total=Count("id"), failed=failures).order_by())
    by_tool: dict[str, tuple[str, int, int]] = {}
    for name, label, total, failed in counted:
        before = by_tool.get(name, (label, 0, 0))
        by_tool[name] = (label, before[1] + total, before[2] + failed)
    bad = sorted(((name, *row) for name, row in by_tool.items() if row[2]), key=lambda row: -row[3])
    faults = _faults(workspace_id, [name for name, *_ in bad[:SHOWN]], since=since)
    failing = [Failing(name, label, failed, total, faults[name]) for name, label, total, failed in bad[:SHOWN]]
    good = [row for row in by_tool.values() if not row[2]]
    return Runs(
        failing,
        failed=sum(row[2] for row in by_tool.values()),
        total=sum(row[1] for row in by_tool.values()),
        others=len(good),
        others_total=sum(row[1] for row in good),
    )


def _faults(workspace_id: str, names: list[str], *, since: datetime) -> Mapping[str, str]:
    """The last fault of each tool."""
    if not names:
        return {}
    rows = ToolRun.objects.filter(
        workspace_id=workspace_id, tool_name__in=names, state=RunState.FAILED, ended_at__gte=since
    ).exclude(started_by=Starter.TEST)
    return dict(rows.order_by("tool_name", "-ended_at").distinct("tool_name").values_list("tool_name", "error"))


def _first_day() -> date:
    return times.today() - timedelta(days=DAYS - 1)
