"""Finding conversations: only those of the actor's workspace exist."""

from django.db.models import Expression, Subquery

from conversations.models import Conversation
from median_site.lib.actors import Actor
from median_site.lib.errors import NotFound


def conversation(by: Actor, conversation_id: str, **also: Expression | Subquery) -> Conversation:
    """The row with its customer and assignee. Raises NotFound for absent and foreign ones alike.

    `also` are expressions that the row is to have too, by attribute.
    """
    rows = Conversation.objects.filter(workspace_id=by.workspace_id).select_related("customer", "assignee", "workspace")
    found = rows.filter(id=conversation_id).annotate(**also).first()
    if found is None:
        raise NotFound
    return found
