"""Alerts on their way: the row of a request and channel is the queue. Made from the log's events, claimed, recorded."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Case, F, QuerySet, Value, When

from approvals.alerts import channels
from approvals.models import Alert, AlertChannel, ToolApproval
from median_site.lib import clock
from median_site.lib.actors import system
from median_site.lib.strict_json import Json
from team import events as log
from team.events import Kind
from team.models import Event
from webhooks import outcomes
from webhooks.told import Told

# Longer than any attempt takes. After it the alert is due again, in any process.
HELD: Final = timedelta(seconds=30)
# A change that could not be told for so long is given up.
PATIENCE: Final = timedelta(days=1)
LEAVES: Final = {Kind.APPROVAL_REQUESTED, Kind.APPROVAL_PASSED_ON, Kind.APPROVAL_UNCHECKED}
CHANGES: Final = {
    Kind.APPROVED, Kind.DENIED, Kind.EXPIRED, Kind.RUN_COMPLETED, Kind.RUN_FAILED, Kind.RUN_STUCK,
}  # fmt: skip

# One of each channel at a time in a process, so that the messages keep their order and within the services' limits.
_DUE: Final = """
select due.id from approvals_alertchannel channel
cross join lateral (
    select id, due_at from approvals_alert
    where channel_id = channel.id and due_at <= %s
    order by due_at limit 1
    for update skip locked
) due
where channel.removed_at is null and channel.off = '' and (channel.quiet_until is null or channel.quiet_until <= %s)
  and not channel.id = any(%s)
order by due.due_at limit %s
"""


def queue(events: Iterable[Event], *, workspace_id: str) -> None:
    """Newly linked events: requests left to the team, and what became of them. In the caller's transaction; again, or
    in another order, it ends in the same messages."""
    asked = {event.subject_id: event.at for event in events if event.kind in LEAVES}
    if asked:
        _make(asked.keys(), workspace_id=workspace_id)
    again({event.subject_id for event in events if event.kind in CHANGES}, workspace_id=workspace_id)


def again(approval_ids: Collection[str], *, workspace_id: str) -> None:
    """The messages about these requests are to be rewritten. One under way is sent once more after that."""
    if not approval_ids:
        return
    now = clock.now()
    held = When(claimed_at__gt=now - HELD, then=F("due_at"))
    Alert.objects.filter(workspace_id=workspace_id, approval_id__in=approval_ids, channel__removed_at=None).update(
        wanted=F("wanted") + 1, wanted_at=now, attempts=0, due_at=Case(held, default=Value(now))
    )


def claim(*, limit: int, busy: Collection[str]) -> list[Alert]:
    """Take up to `limit` alerts that are due, each for one process; none of the channels in `busy`."""
    now = clock.now()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_DUE, [now, now, list(busy), max(0, limit)])
            due = [row_id for (row_id,) in cursor.fetchall()]
        taken = Alert.objects.filter(id__in=due)
        if due:
            taken.update(due_at=now + HELD, claimed_at=now, attempts=F("attempts") + 1)
        return list(taken.select_related("channel")) if due else []


def record(alert: Alert, told: Told) -> None:
    """What became of an attempt, as long as the claim is ours. A change that came meanwhile is due at once."""
    match told.verdict:
        case "done":
            _settle(alert, message_id=(told.at("ts") or told.at("id"))[:32] or alert.message_id)
            _keep_quiet(alert, told)
        case "gone":
            _settle(alert, message_id="", error=told.error)
        case "off":
            _try_again(alert, pause=timedelta(0), error=told.error, counts=False)
            channels.stop(alert.channel, why=told.error)
        case "limited":
            _keep_quiet(alert, told)
            _fail(alert, told.error, pause=max(told.wait, timedelta(seconds=1)), counts=False)
        case "unfit" if not alert.is_short:
            Alert.objects.filter(id=alert.id).update(is_short=True)
            _fail(alert, told.error, pause=timedelta(0))
        case _:
            _fail(alert, told.error, pause=outcomes.pause(alert.attempts, wait=told.wait))


def settle(alert: Alert) -> None:
    """There is nothing to tell: it was decided before anybody heard of it."""
    _settle(alert, message_id=alert.message_id)


def _make(approval_ids: Collection[str], *, workspace_id: str) -> None:
    into = list(AlertChannel.objects.filter(workspace_id=workspace_id, removed_at=None))
    approvals = ToolApproval.objects.filter(workspace_id=workspace_id, id__in=approval_ids) if into else ()
    Alert.objects.bulk_create(
        [
            Alert(workspace_id=workspace_id, channel=channel, approval=approval, due_at=clock.now())
            for approval in approvals
            for channel in into
        ],
        ignore_conflicts=True,
    )


def _keep_quiet(alert: Alert, told: Told) -> None:
    """Nothing more goes to this channel until the service takes it again."""
    if told.wait:
        AlertChannel.objects.filter(id=alert.channel_id).update(quiet_until=clock.now() + told.wait)


def _settle(alert: Alert, *, message_id: str, error: str = "") -> None:
    newest = When(wanted=alert.wanted, then=Value(None))
    _ours(alert).update(
        message_id=message_id, shown=alert.wanted, claimed_at=None, attempts=0, error=error,
        due_at=Case(newest, default=Value(clock.now())),
    )  # fmt: skip


def _fail(alert: Alert, error: str, *, pause: timedelta | None, counts: bool = True) -> None:
    """Try it again after the pause, unless its day is over. The log hears of the first failure and of the end."""
    over = pause is None or alert.wanted_at <= clock.now() - PATIENCE
    with transaction.atomic():
        if not _try_again(alert, pause=None if over else pause, error=error, counts=counts):
            return
        if over or (counts and alert.attempts == 1):
            _log(Kind.ALERT_GIVEN_UP if over else Kind.ALERT_FAILED, alert, why=error)


def _try_again(alert: Alert, *, pause: timedelta | None, error: str, counts: bool) -> int:
    return _ours(alert).update(
        claimed_at=None, error=error, attempts=F("attempts") - (0 if counts else 1),
        due_at=None if pause is None else clock.now() + pause,
    )  # fmt: skip


def _ours(alert: Alert) -> QuerySet[Alert]:
    return Alert.objects.filter(id=alert.id, claimed_at=alert.claimed_at)


def _log(kind: Kind, alert: Alert, *, why: str) -> None:
    approval = ToolApproval.objects.get(id=alert.approval_id)
    data: dict[str, Json] = {"service": alert.channel.get_service_display(), "label": approval.tool_label, "why": why}
    log.record(kind, by=system(alert.workspace_id), subject_id=approval.id, tool_name=approval.tool_name, data=data)
