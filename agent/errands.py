"""Work beside the turns, such as write-ups: the row is the claim, which one process holds for a minute at a time."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Final

from django.db.models import Q

from agent.rows import Errand
from median_site.lib import claims, clock, live

# Longer than any errand takes. After it the errand is due again, in any process.
HELD: Final = timedelta(minutes=1)


def ask(kind: str, *, workspace_id: str, subject_id: str) -> None:
    """Have this done soon; asked again before it is begun, it is done once, and while it is done, once more."""
    add(kind, [(workspace_id, subject_id)])
    asked = Errand.objects.filter(workspace_id=workspace_id, kind=kind, subject_id=subject_id)
    asked.update(due_at=clock.now(), attempts=0)
    live.wake("agent")


def add(kind: str, subjects: Iterable[tuple[str, str]]) -> None:
    """Errands about these (workspace's id, subject's id), where there is none yet."""
    now = clock.now()
    rows = [
        Errand(workspace_id=workspace, kind=kind, subject_id=subject, due_at=now) for workspace, subject in subjects
    ]
    Errand.objects.bulk_create(rows, ignore_conflicts=True)


def claim(kind: str, *, limit: int) -> list[Errand]:
    """Take up to `limit` errands that are due; each goes to one process."""
    return claims.take(Errand.objects.filter(kind=kind), limit=limit, held=HELD)


def give_back(errand_ids: Iterable[int]) -> None:
    """A process that ends in good order leaves its errands to the others at once; that is no attempt."""
    claims.give_back(Errand.objects.filter(id__in=list(errand_ids)))


def done(held: Collection[Errand]) -> None:
    """They are done and forgotten, but for those asked for again meanwhile: whoever did one may have read too early."""
    if held:
        Errand.objects.filter(reduce(or_, (Q(id=errand.id, due_at=errand.due_at) for errand in held))).delete()
