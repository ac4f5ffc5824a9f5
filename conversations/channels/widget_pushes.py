"""What a widget's socket is sent when its thread changes."""

from conversations.channels import widget_fragments, widget_session
from conversations.models import Channel, Conversation
from median_site.lib import live


def register() -> None:
    live.register("widget", render, on={"thread"})
    live.register("widget-presence", render_presence, on={"presence"})
    live.register("widget-newest", render_newest, on={"customer"})


def render(ask: live.Ask) -> list[live.Push]:
    """One frame with what changed since; when that is too much, word to fetch the thread again."""
    rows = Conversation.objects.filter(workspace_id=ask.workspace_id, id=ask.id, channel=Channel.WIDGET)
    conversation = rows.select_related("workspace", "assignee").first()
    if conversation is None or conversation.version <= ask.since:
        return []
    changed = list(
        widget_fragments.visible(conversation).filter(version__gt=ask.since).order_by("number")[: live.MOST + 1]
    )
    if len(changed) > live.MOST:
        return [live.refresh(conversation.id, conversation.version)]
    items = widget_fragments.items(changed, conversation.workspace)
    return [live.Push(conversation.version, widget_fragments.frame(conversation.workspace, conversation, items=items))]


def render_presence(ask: live.Ask) -> list[live.Push]:
    """Whether somebody of the team writes to the customer. Who only looks, or writes a note, is not told."""
    writing = [person.name for person in ask.scene.people if person.typing == "reply"]
    if not writing and not ask.since:
        return []
    return [live.Push(int(bool(writing)), {"kind": "typing", "html": widget_fragments.writing(writing[:1])})]


def render_newest(ask: live.Ask) -> list[live.Push]:
    """That a customer has a newer conversation than the one shown: begun in another window, or by the team."""
    conversation = widget_session.newest(ask.workspace_id, person=ask.id)
    if conversation is None or since(conversation) <= ask.since:
        return []
    return [live.Push(since(conversation), {"kind": "conversation", "id": conversation.id})]


def since(conversation: Conversation) -> int:
    """What a page that shows this conversation has of the feed `widget-newest`."""
    return int(conversation.created_at.timestamp() * 1_000_000)
