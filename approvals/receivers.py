"""What this app does when something below it happens."""

from functools import partial

from django.db import transaction
from django.db.models import Count
from django.dispatch import receiver

from approvals import decisions, expiry
from approvals.alerts import channels, outbox
from approvals.models import ToolApproval
from conversations.models import Conversation
from conversations.signals import conversation_ended
from median_site.lib.statement import Statement
from team.models import Event
from team.signals import events_linked, workspace_closed
from tools.models import Endpoint, ToolRun
from tools.signals import endpoint_removed, run_ended, waiting_asked


@receiver(conversation_ended, dispatch_uid="approvals.conversation_ended")
def expire_with_conversation(conversation: Conversation, **_: object) -> None:
    decisions.expire_with_conversation(conversation)


@receiver(run_ended, dispatch_uid="approvals.run_ended")
def settle(run: ToolRun, failed: bool, statement: Statement, **_: object) -> None:
    if run.approval:
        decisions.settle(failed=failed, to=statement)


@receiver(endpoint_removed, dispatch_uid="approvals.endpoint_removed")
def expire_with_endpoint(endpoint: Endpoint, **_: object) -> None:
    """After the commit, so that no conversation is locked while the endpoint is; the hourly check finds lost ones."""
    expire = partial(expiry.expire_with_endpoint, endpoint.id)
    transaction.on_commit(expire)


@receiver(waiting_asked, dispatch_uid="approvals.waiting_asked")
def count_waiting(workspace_id: str, waiting: dict[str, int], **_: object) -> None:
    """How many requests can still be decided, by the endpoint that they wait on."""
    rows = ToolApproval.objects.decidable().filter(workspace_id=workspace_id)
    waiting.update(rows.values_list("endpoint_id").annotate(Count("id")))


@receiver(events_linked, dispatch_uid="approvals.alerts_linked")
def alert(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with the alerts that come of it. A decision waits for none."""
    outbox.queue(events, workspace_id=workspace_id)


@receiver(workspace_closed, dispatch_uid="approvals.workspace_closed")
def close_channels(workspace_id: str, **_: object) -> None:
    channels.remove_all(workspace_id)
