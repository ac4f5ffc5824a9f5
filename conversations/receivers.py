"""What this app does when the log grows: an event that people should see in the thread leaves a line there."""

from django.dispatch import receiver

from conversations import lines, threads
from conversations.models import Conversation, ItemKind
from median_site.lib.actors import Actor, ActorKind
from team.models import Event
from team.signals import event_recorded


@receiver(event_recorded, dispatch_uid="conversations.line")
def add_line(event: Event, **_: object) -> None:
    """Add the event's line, if its kind has one. The sender holds the conversation's lock already."""
    if not event.conversation_id or event.kind not in lines.LINES:
        return
    conversation = Conversation.objects.select_related("workspace").get(id=event.conversation_id)
    by = Actor(ActorKind(event.actor_kind), event.workspace_id, id=event.actor_id, name=event.actor_name)
    facts = lines.Facts(
        who=by.short_name,
        agent=conversation.workspace.agent_name,
        label=str(event.data.get("label") or event.tool_name),
        data=event.data,
    )
    line = lines.line_for(event.kind, facts)
    if line:
        threads.add(conversation, kind=ItemKind.LINE, body=line.text, by=by, ref=event.kind, unread=line.unread)
