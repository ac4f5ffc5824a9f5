"""Rows that are a queue of work: their column `due_at` says from when on, and claiming one moves it into the future.

So one process at a time has a row, and a process that dies leaves it to another. How often is in their `attempts`.
"""

from datetime import timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import F, Model, QuerySet

from median_site.lib import clock

Row = TypeVar("Row", bound=Model)


def take(waiting: QuerySet[Row], *, limit: int, held: timedelta, **noted: object) -> list[Row]:
    """Up to `limit` of these rows that are due, the longest due first, each for one process: due again after `held`.

    `noted` are further columns to write. The rows given have all of it.
    """
    now = clock.now()
    written = {"due_at": now + held, **noted}
    with transaction.atomic():
        due = waiting.filter(due_at__lte=now).order_by("due_at").select_for_update(skip_locked=True, of=("self",))
        taken = list(due[: max(0, limit)])
        if taken:
            rows = waiting.model._default_manager.filter(pk__in=[row.pk for row in taken])
            rows.update(attempts=F("attempts") + 1, **written)
    for row in taken:
        vars(row).update(written, attempts=vars(row)["attempts"] + 1)
    return taken


def give_back(held: QuerySet[Row]) -> None:
    """A process that ends in good order leaves what it holds to the others at once; that is no attempt."""
    now = clock.now()
    held.filter(due_at__gt=now).update(due_at=now, attempts=F("attempts") - 1)
