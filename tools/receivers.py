"""What this app does when something below it happens."""

from django.dispatch import receiver

from conversations.models import Conversation
from conversations.signals import conversation_started
from median_site.lib import clock
from team.signals import workspace_closed
from tools import tool_versions
from tools.models import Endpoint, Tool


@receiver(workspace_closed, dispatch_uid="tools.workspace_closed")
def take_out_of_use(workspace_id: str, **_: object) -> None:
    """No tool of a deleted workspace is called again; what waits for one expires, as after an endpoint's removal."""
    Endpoint.objects.filter(workspace_id=workspace_id, removed_at=None).update(removed_at=clock.now(), sync_due_at=None)
    Tool.objects.filter(workspace_id=workspace_id).update(present=False, switched_on=False)


@receiver(conversation_started, dispatch_uid="tools.conversation_started")
def keep_version(conversation: Conversation, **_: object) -> None:
    """A conversation keeps the HTTP tools that are the newest when it starts."""
    if version := tool_versions.newest(conversation.workspace_id):
        conversation.tool_version = version.number
        conversation.save(update_fields=["tool_version"])
