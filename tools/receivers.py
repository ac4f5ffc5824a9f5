"""What this app does when something below it happens."""

from django.dispatch import receiver

from conversations.models import Conversation
from conversations.signals import conversation_started
from tools import tool_versions


@receiver(conversation_started, dispatch_uid="tools.conversation_started")
def keep_version(conversation: Conversation, **_: object) -> None:
    """A conversation keeps the HTTP tools that are the newest when it starts."""
    if version := tool_versions.newest(conversation.workspace_id):
        conversation.tool_version = version.number
        conversation.save(update_fields=["tool_version"])
