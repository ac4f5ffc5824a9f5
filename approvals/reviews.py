"""The queue of reviews: putting a request in, claiming, keeping a claim alive, closing. Requests are not moved here.

A review has five minutes from its request on. Within them it may be done again when its process died.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from approvals.models import Review, ReviewOutcome, ReviewState, ToolApproval
from median_site.lib import clock, live
from median_site.lib.statement import Statement

LIMIT: Final = timedelta(minutes=5)
# A process says that it lives every BEAT; a review whose process was silent for SILENT is taken up by another.
BEAT: Final = timedelta(seconds=2)
SILENT: Final = timedelta(seconds=8)
ATTEMPTS: Final = 5


def queue(approval: ToolApproval) -> None:
    """A request waits for the reviewer, from the caller's transaction on."""
    Review.objects.create(workspace_id=approval.workspace_id, approval=approval, queued_at=approval.requested_at)
    live.wake("agent")


def claim(process: str, *, limit: int, holding: Iterable[str] = ()) -> list[Review]:
    """Take up to `limit` reviews that wait, or that a silent process left behind. Each goes to one process.

    `holding` are the requests' ids that this process works on, however late its signs of life come.
    """
    silent = Q(state=ReviewState.RUNNING, beat_at__lt=clock.now() - SILENT) & ~Q(approval__in=list(holding))
    due = Review.objects.filter(Q(state=ReviewState.QUEUED) | silent, attempts__lt=ATTEMPTS)
    with transaction.atomic():
        rows = list(due.order_by("queued_at").select_for_update(skip_locked=True)[:limit])
        for row in rows:
            row.state, row.claimed_by, row.beat_at = ReviewState.RUNNING, process, clock.now()
            row.attempts += 1
            row.save(update_fields=["state", "claimed_by", "beat_at", "attempts"])
    return rows


def beat(process: str, approval_ids: list[str]) -> None:
    """Say that `process` still works on these."""
    held = Review.objects.filter(approval_id__in=approval_ids, state=ReviewState.RUNNING, claimed_by=process)
    held.update(beat_at=clock.now())


def give_back(process: str) -> None:
    """A process that ends in good order leaves its reviews to the others at once."""
    held = Review.objects.filter(state=ReviewState.RUNNING, claimed_by=process)
    held.update(state=ReviewState.QUEUED)


def again(approval_id: str) -> None:
    """What was read is no longer how it stands: the review is to be done once more."""
    Review.objects.filter(approval_id=approval_id, state=ReviewState.RUNNING).update(state=ReviewState.QUEUED)
    live.wake("agent")


def close(outcome: ReviewOutcome, *, to: Statement) -> None:
    """The requests in its part `moved` leave the reviewer. The first outcome stands."""
    to.add(
        "reviews",
        "update approvals_review r set state = 'done', ended_at = %s::timestamptz, outcome = %s"
        " from moved where r.approval_id = moved.id and r.state <> 'done'",
        clock.now(),
        outcome.value,
    )


def overdue() -> list[str]:
    """Requests that the reviewer has had for longer than it may, oldest first."""
    rows = _open().filter(queued_at__lte=clock.now() - LIMIT)
    return list(rows.order_by("queued_at").values_list("approval_id", flat=True)[:500])


def _open() -> QuerySet[Review]:
    return Review.objects.exclude(state=ReviewState.DONE)
