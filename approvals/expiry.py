"""Requests that nobody answered. The deadline itself is decided in approvals.decisions; this only writes it down."""

from typing import Final

from django.db.models import Min, Q

from approvals import alarm, decisions
from approvals.models import ExpiredBecause, ToolApproval
from median_site.lib import clock
from tools.models import Endpoint

BATCH: Final = 500


def expire_due() -> int:
    """Expire every request past its time, in batches by key, and set the next alarm. Gives how many expired.

    Safe to run twice at once: each request expires in a transaction of its own, by one conditional statement.
    """
    expired, now = 0, clock.now()
    rows = ToolApproval.objects.due(now).order_by("expires_at", "id").values_list("expires_at", "id")
    batch = list(rows[:BATCH])
    while batch:
        expired += sum(decisions.expire_one(row_id, because=ExpiredBecause.UNANSWERED) for _, row_id in batch)
        at, row_id = batch[-1]
        batch = list(rows.filter(Q(expires_at__gt=at) | Q(expires_at=at, id__gt=row_id))[:BATCH])
    ensure_alarm()
    return expired


def expire_removed() -> int:
    """Expire requests whose endpoint is gone: those that the removing process did not get to. Gives how many."""
    gone = Endpoint.objects.exclude(removed_at=None).values("id")
    rows = ToolApproval.objects.decidable().filter(endpoint_id__in=gone).values_list("id", flat=True)
    return sum(decisions.expire_one(row_id, because=ExpiredBecause.ENDPOINT_REMOVED) for row_id in rows)


def ensure_alarm() -> None:
    """Set the alarm for the earliest deadline, if there is one."""
    earliest = ToolApproval.objects.decidable().aggregate(at=Min("expires_at"))["at"]
    if earliest:
        alarm.set_for(earliest)
