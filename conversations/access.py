"""Finding conversations: only those of the actor's workspace exist."""

from typing import Any, Final

from conversations.models import Conversation, Customer
from median_site.lib import rows
from median_site.lib.actors import Actor
from median_site.lib.errors import NotFound
from median_site.lib.statement import fetch
from team.models import Teammate, Workspace

_MODELS: Final = {"conversation": Conversation, "customer": Customer, "workspace": Workspace, "assignee": Teammate}
_READ: Final = f"""
    select array(
               select json_build_object('mode', mode, 'text', text, 'version', version) from conversations_draft draft
                where draft.workspace_id = conversation.workspace_id and draft.conversation_id = conversation.id
                  and draft.teammate_id = %s order by version desc
           ), {", ".join(rows.columns(model, of=name) for name, model in _MODELS.items())}
      from conversations_conversation conversation
      join conversations_customer customer on customer.id = conversation.customer_id
      join team_workspace workspace on workspace.id = conversation.workspace_id
      left join team_teammate assignee on assignee.id = conversation.assignee_id
     where conversation.id = %s and conversation.workspace_id = %s
"""  # noqa: S608  # made of names in the code alone


def conversation(by: Actor, conversation_id: str) -> Conversation:
    """The row with its customer, assignee and workspace, and the actor's own drafts in it, in one statement. Raises
    NotFound for absent and foreign ones alike."""
    read: list[Any] = fetch(_READ, by.id, conversation_id, by.workspace_id)
    if not read:
        raise NotFound
    own_drafts, *values = read[0]
    found: list[Any] = rows.load_all(list(_MODELS.values()), values)
    conversation: Conversation
    conversation, conversation.customer, conversation.workspace, conversation.assignee = found
    conversation.own_drafts = own_drafts
    return conversation
