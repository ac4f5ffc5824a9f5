"""Finding conversations: only those of the actor's workspace exist."""

from conversations.models import Conversation
from median_site.lib.actors import Actor
from median_site.lib.errors import NotFound


def conversation(by: Actor, conversation_id: str) -> Conversation:
    """The row with its customer and assignee. Raises NotFound for absent and foreign ones alike."""
    rows = Conversation.objects.filter(workspace_id=by.workspace_id).select_related("customer", "assignee", "workspace")
    found = rows.filter(id=conversation_id).first()
    if found is None:
        raise NotFound
    return found
