"""Retention: what a workspace does not want to keep any longer is erased, oldest first, in batches.

An ended thread goes as a whole, with its calls and requests, once nothing has happened in it for that long. Open ones
stay, however old. A customer goes with their last thread. The log loses its beginning (team.chain).
"""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from conversations.models import Conversation, Customer, Status
from median_site.lib import clock
from team import chain, notifications
from team.models import Workspace

BATCH: Final = 100
# So many batches at most in one go, so that a job ends in time; the next one goes on.
BATCHES: Final = 100


def erase_old() -> int:
    """Erase what is older than its workspace keeps. Gives how many threads went."""
    keeping = Workspace.objects.filter(retention_days__gt=0, closed_at=None)
    erased = 0
    for workspace_id, days in list(keeping.values_list("id", "retention_days")):
        before = clock.now() - timedelta(days=days or 0)
        for _ in range(BATCHES):
            gone = _erase_threads(workspace_id, before=before)
            erased += gone
            if gone < BATCH:
                break
        chain.drop(workspace_id, before=before)
    return erased


def _erase_threads(workspace_id: str, *, before: datetime) -> int:
    with transaction.atomic():
        ended = Conversation.objects.filter(workspace_id=workspace_id, last_at__lt=before).exclude(status=Status.OPEN)
        rows = ended.select_for_update(of=("self",), skip_locked=True).order_by("last_at", "id")[:BATCH]
        found = dict(rows.values_list("id", "customer_id"))
        Conversation.objects.filter(id__in=found).delete()
        notifications.forget(found, workspace_id=workspace_id)
        alone = Customer.objects.filter(workspace_id=workspace_id, id__in=set(found.values()), conversations=None)
        alone.delete()
    return len(found)
