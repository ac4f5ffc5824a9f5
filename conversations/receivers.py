"""What this app does when the log grows: an event that people should see in the thread leaves a line there."""

from collections.abc import Sequence

from django.dispatch import receiver
from django_q.tasks import async_task

from conversations import bulk, lines, returning
from conversations.lines import LINES, Facts, Line
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock, text
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.statement import Statement
from team.events import Entry
from team.models import Event, Teammate
from team.signals import entry_added, events_recorded, teammate_removed


@receiver(events_recorded, dispatch_uid="conversations.lines")
def add_lines(events: Sequence[Event], **_: object) -> None:
    """Add the line of each event whose kind has one. The sender holds the conversations' locks already."""
    telling = [event for event in events if event.conversation_id and event.kind in LINES]
    if not telling:
        return
    found = Conversation.objects.select_related("workspace").in_bulk({event.conversation_id for event in telling})
    told = [(event, _line(event, agent=found[event.conversation_id].workspace.agent_name)) for event in telling]
    bulk.add(
        [_item(event, line) for event, line in told],
        unread={event.conversation_id for event, line in told if line.unread},
    )


@receiver(entry_added, dispatch_uid="conversations.entry_added")
def add_line(entry: Entry, statement: Statement, **_: object) -> None:
    """The same for a row that a statement writes for each change."""
    if entry.kind in LINES:
        line = lines.of_many(entry.kind, who=entry.by.short_name, data=entry.data)
        body, replaced = text.clean(line.text)
        item = Item(
            kind=ItemKind.LINE, text=body, replaced=replaced, author_id=entry.by.id, author_name=entry.by.name,
            ref=entry.kind, created_at=clock.now(),
        )  # fmt: skip
        bulk.add_lines(item, unread=line.unread, to=statement)


@receiver(teammate_removed, dispatch_uid="conversations.teammate_removed")
def give_up_threads(teammate: Teammate, by: Actor, **_: object) -> None:
    """Their first threads in the removal's own transaction; a job, queued in it too, has the others in batches."""
    if returning.give_up(teammate, by=by) == returning.BATCH:
        async_task("conversations.jobs.give_up", teammate.id, task_name="threads of a teammate who left", save=False)


def _line(event: Event, *, agent: str) -> Line:
    by = Actor(ActorKind(event.actor_kind), event.workspace_id, id=event.actor_id, name=event.actor_name)
    label = str(event.data.get("label") or event.tool_name)
    return lines.line(event.kind, Facts(who=by.short_name, agent=agent, label=label, data=event.data))


def _item(event: Event, line: Line) -> Item:
    body, replaced = text.clean(line.text)
    return Item(
        workspace_id=event.workspace_id,
        conversation_id=event.conversation_id,
        kind=ItemKind.LINE,
        text=body,
        replaced=replaced,
        author_id=event.actor_id,
        author_name=event.actor_name,
        ref=event.kind,
        created_at=event.at,
    )
