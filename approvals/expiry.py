"""Requests and reviews that end without a decision, found and written down. Deadlines are decided in decisions."""

from collections.abc import Iterator
from typing import Final

from django.db.models import Min

from approvals import alarm, decisions, reviews
from approvals.models import ExpiredBecause, ToolApproval, ToolApprovalQuerySet
from median_site.lib import clock
from tools.models import Endpoint

# Decisions in the batch's conversations wait for it: some 50 ms.
BATCH: Final = 500
REVIEW_TIMED_OUT: Final = "The review timed out. A teammate must approve or decline this request."


def expire_due() -> int:
    """Expire every request past its time and set the next alarm. Gives how many expired.

    Safe to run twice at once, and while people decide: each request ends once.
    """
    expired = _expire(ToolApproval.objects.due(clock.now()), because=ExpiredBecause.UNANSWERED)
    ensure_alarm()
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


def ensure_alarm() -> None:
    """Set the alarm for the earliest deadline, of a request or a review, if there is one."""
    expires_at = ToolApproval.objects.decidable().aggregate(at=Min("expires_at"))["at"]
    deadlines = [at for at in (expires_at, reviews.earliest_limit()) if at]
    if deadlines:
        alarm.set_for(min(deadlines))


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
