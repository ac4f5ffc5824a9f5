"""What Agent > Tools shows, read in a handful of statements whatever the number of tools. Nothing changes here."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from django.db.models import CharField, Count, DateTimeField, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import TruncDate
from django.utils.timezone import localdate

from median_site.lib import clock
from team.models import SigningKey
from tools import differences, failures, signals, sync_log
from tools import keys as signing_keys
from tools.models import Endpoint, EndpointSync, RunState, Starter, Tool, ToolRun

DAYS: Final = 7
BAR_HEIGHT: Final = 15
LAST_RUNS: Final = 5
NEW_FOR: Final = timedelta(days=3)


class EndpointRow(NamedTuple):
    """An endpoint with its tools and how its last sync went; `fault`, `detail` and `fix` are empty when it worked."""

    endpoint: Endpoint
    tools: list[Tool]
    # Requests that would expire if it were removed.
    waiting: int
    is_syncing: bool
    fault: str
    detail: str
    fix: str
    # The last sync that changed something: its line, and when.
    change: str
    changed_at: datetime | None

    @property
    def state(self) -> str:
        """What the picture beside it shows."""
        if self.is_syncing:
            return "syncing"
        return "failed" if self.fault else "synced" if self.endpoint.synced_at else "new"

    @property
    def refused(self) -> list[dict[str, str]]:
        return [{**tool, "fix": failures.refusal_fix(tool["code"])} for tool in self.endpoint.refused]


class Bar(NamedTuple):
    """One day of the small chart, in its own units."""

    x: int
    y: int
    height: int


class ToolRow(NamedTuple):
    """A tool with when it last ran, and its runs of the last seven days, of which some failed. Tests do not count."""

    tool: Tool
    last_used_at: datetime | None
    runs: int
    failed: int
    bars: list[Bar]

    @property
    def failure_rate(self) -> int:
        """In per cent, rounded up: one failure is never none."""
        return -(-100 * self.failed // self.runs) if self.runs else 0

    @property
    def is_new(self) -> bool:
        return self.tool.created_at > clock.now() - NEW_FOR and not self.last_used_at


class SyncRow(NamedTuple):
    """A sync that is kept; `fault` and `detail` are empty when it worked."""

    row: EndpointSync
    fault: str
    detail: str

    @property
    def is_lost(self) -> bool:
        return sync_log.is_lost(self.row)

    @property
    def moves_risk(self) -> bool:
        return any(differences.risk_moved(change) for change in self.row.changes)


class KeyRow(NamedTuple):
    """A signing key; `state` is "next" until it signs, "signs", and "verifies" once another took over."""

    key: SigningKey
    state: str


def tools(workspace_id: str) -> list[ToolRow]:
    """Every tool that can be used or switched on, oldest first. Two statements."""
    newest = _real_runs(workspace_id).filter(tool=OuterRef("pk")).order_by("-queued_at").values("queued_at")[:1]
    shown = Tool.objects.filter(workspace_id=workspace_id, present=True, endpoint__removed_at=None)
    rows = shown.select_related("endpoint").order_by("created_at", "name").annotate(last=Subquery(newest))
    counts = _counts(workspace_id, [tool.id for tool in rows])
    return [_tool_row(tool, getattr(tool, "last"), counts.get(tool.id, {})) for tool in rows]  # noqa: B009  # annotated


def endpoints(workspace_id: str, tools: list[ToolRow]) -> list[EndpointRow]:
    """The endpoints, oldest first, with those of `tools` that are theirs. Two statements."""
    waiting: dict[str, int] = {}
    signals.waiting_asked.send(sender=Endpoint, workspace_id=workspace_id, waiting=waiting)
    served = defaultdict(list)
    for row in tools:
        served[row.tool.endpoint_id].append(row.tool)
    syncs = EndpointSync.objects.filter(workspace_id=workspace_id, endpoint=OuterRef("pk")).order_by("-id")
    changed = syncs.exclude(summary="")
    under_way = syncs.filter(ended_at=None, at__gt=clock.now() - sync_log.LOST_AFTER)
    rows = Endpoint.objects.filter(workspace_id=workspace_id, removed_at=None).order_by("created_at").annotate(
        change=Subquery(changed.values("summary")[:1], output_field=CharField()),
        changed_at=Subquery(changed.values("ended_at")[:1], output_field=DateTimeField()),
        is_syncing=Exists(under_way),
    )  # fmt: skip
    return [
        EndpointRow(
            endpoint=row,
            tools=served[row.id],
            waiting=waiting.get(row.id, 0),
            is_syncing=row.is_syncing,
            fault=failures.sentence(row.failure, row.failure_detail) if row.failure else "",
            detail=failures.fine_print(row.failure, row.failure_detail) if row.failure else "",
            fix=failures.fix(row.failure) if row.failure else "",
            change=row.change or "",
            changed_at=row.changed_at,
        )
        for row in rows
    ]


def keys(workspace_id: str) -> list[KeyRow]:
    """The published keys, newest first. One statement."""
    now, rows = clock.now(), signing_keys.listed(workspace_id)
    signs = max((row for row in rows if row.signs_from <= now), key=lambda row: row.signs_from, default=None)
    return [KeyRow(row, "next" if row.signs_from > now else "signs" if row is signs else "verifies") for row in rows]


def last_runs(tool: Tool) -> list[ToolRun]:
    """The newest runs of a tool with their conversations, tests too."""
    rows = ToolRun.objects.filter(workspace_id=tool.workspace_id, tool=tool)
    return list(rows.select_related("conversation__customer").order_by("-queued_at")[:LAST_RUNS])


def last_syncs(endpoint: Endpoint) -> list[SyncRow]:
    """The syncs that are kept, newest first."""
    rows = EndpointSync.objects.filter(workspace_id=endpoint.workspace_id, endpoint=endpoint)
    return [
        SyncRow(
            row,
            failures.sentence(row.code, row.detail) if row.code else "",
            failures.fine_print(row.code, row.detail) if row.code else "",
        )
        for row in rows.order_by("-id")[: sync_log.KEPT]
    ]


def _real_runs(workspace_id: str) -> QuerySet[ToolRun]:
    return ToolRun.objects.filter(workspace_id=workspace_id).exclude(started_by=Starter.TEST)


def _counts(workspace_id: str, tool_ids: list[str]) -> Mapping[str, Mapping[date, tuple[int, int]]]:
    """Runs, and those of them that failed, of each tool and day."""
    recent = _real_runs(workspace_id).filter(tool_id__in=tool_ids, queued_at__gte=clock.now() - timedelta(days=DAYS))
    grouped = recent.values("tool_id", day=TruncDate("queued_at")).annotate(
        runs=Count("id"), failed=Count("id", filter=Q(state=RunState.FAILED))
    )
    counts: dict[str, dict[date, tuple[int, int]]] = defaultdict(dict)
    for row in grouped:
        counts[row["tool_id"]][row["day"]] = (row["runs"], row["failed"])
    return counts


def _tool_row(tool: Tool, last_used_at: datetime | None, counts: Mapping[date, tuple[int, int]]) -> ToolRow:
    today = localdate(clock.now())
    daily = [counts.get(today - timedelta(days=ago), (0, 0))[0] for ago in reversed(range(DAYS))]
    most = max(*daily, 1)
    heights = [max(1, round(BAR_HEIGHT * count / most)) for count in daily]
    bars = [Bar(5 * at, BAR_HEIGHT + 1 - height, height) for at, height in enumerate(heights)]
    runs, failed = (sum(column) for column in zip(*counts.values(), strict=True)) if counts else (0, 0)
    return ToolRow(tool, last_used_at, runs, failed, bars)
