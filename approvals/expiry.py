"""Requests and reviews that end without a decision, found and written down. Deadlines are decided in decisions."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from approvals import alarm, decisions, reviews
from approvals.models import ExpiredBecause, ToolApproval, ToolApprovalQuerySet
from median_site.lib import clock
from median_site.lib.statement import fetch
from tools.models import Endpoint

# Decisions in the batch's conversations wait for it, some 12 ms, and all others for its bytes to reach the disk.
BATCH: Final = 100
REVIEW_TIMED_OUT: Final = "The review timed out. A teammate must approve or decline this request."


_FIRST: Final = """
    select (select expires_at from approvals_toolapproval
             where state in ('reviewing', 'pending') order by expires_at, id limit 1),
           (select queued_at + %s::interval from approvals_review
             where state <> 'done' order by queued_at limit 1),
           (select at from approvals_expiryalarm where id = 1)
"""


class _First(NamedTuple):
    """The earliest deadline of an open request and of an open review, and when the alarm rings; None where none is."""

    request_at: datetime | None
    review_at: datetime | None
    alarm_at: datetime | None


def expire_due() -> int:
    """Expire every request past its time, leave overdue reviews to the team, and set the next alarm.

    Gives how many expired. Safe to run twice at once, and while people decide: each request ends once. One statement
    when nothing is due.
    """
    first, expired = _first(), 0
    if _is_past(first.review_at) or _is_past(first.request_at):
        time_out_reviews()
        expired = _expire(ToolApproval.objects.due(clock.now()), because=ExpiredBecause.UNANSWERED)
        first = _first()
    deadline = min((at for at in (first.request_at, first.review_at) if at), default=None)
    if deadline and not (first.alarm_at and clock.now() < first.alarm_at <= deadline):
        alarm.set_for(deadline)
    return expired


def expire_with_endpoint(endpoint_id: str) -> int:
    """The endpoint was removed: requests that wait on it expire. Gives how many."""
    return _expire(ToolApproval.objects.filter(endpoint_id=endpoint_id), because=ExpiredBecause.ENDPOINT_REMOVED)


def expire_removed() -> int:
    """Expire requests whose endpoint is gone: those that the removing process did not get to. Gives how many."""
    gone = Endpoint.objects.exclude(removed_at=None).values("id")
    return _expire(ToolApproval.objects.filter(endpoint_id__in=gone), because=ExpiredBecause.ENDPOINT_REMOVED)


def time_out_reviews() -> int:
    """Leave to the team what the reviewer has had for five minutes, whatever became of its process. Gives how many."""
    overdue = ToolApproval.objects.filter(id__in=reviews.overdue()).values_list("id", "workspace_id")
    return sum(
        decisions.unchecked(row_id, workspace_id=workspace_id, reason=REVIEW_TIMED_OUT)
        for row_id, workspace_id in overdue
    )


def _first() -> _First:
    found: tuple[Any, ...] = fetch(_FIRST, reviews.LIMIT)[0]
    return _First(*found)


def _is_past(at: datetime | None) -> bool:
    return at is not None and at <= clock.now()


def _expire(rows: ToolApprovalQuerySet, *, because: ExpiredBecause) -> int:
    return sum(decisions.expire_all(batch, because=because) for batch in _batches(rows.decidable()))


def _batches(rows: ToolApprovalQuerySet) -> Iterator[list[str]]:
    """Their ids, the earliest deadline first. By key: asking for the first ones again would walk what has expired."""
    keys = rows.order_by("expires_at", "id").values_list("expires_at", "id")
    batch = list(keys[:BATCH])
    while batch:
        yield [id for _, id in batch]
        at, id = batch[-1]
        batch = list(keys.filter(expires_at__gte=at).exclude(expires_at=at, id__lte=id)[:BATCH])
