"""Teammates whom a note names: "@" and the whole name, as it is now. Kept as ids, so that a new name loses nobody.

Who is named and what is shown as a name is decided in one place, the parser of lib.text.
"""

from conversations import reading
from conversations.models import Item
from median_site.lib import text
from median_site.lib.actors import Actor
from team import notifications
from team.models import NotificationKind, Teammate


def tell(note: Item, *, by: Actor) -> None:
    """Keep whom a new note names, tell them, and make the thread unread for them, under the conversation's lock.

    Two of one name are both meant. At most two statements when nobody is named, none without an "@".
    """
    if "@" not in note.text:
        return
    team = Teammate.objects.filter(workspace_id=note.workspace_id, removed_at=None).exclude(name="")
    note.mentions = text.mentioned(note.text, team.order_by("id").values_list("id", "name"))
    if not note.mentions:
        return
    note.save(update_fields=["mentions"])
    others = [id for id, _ in note.mentions if id != by.id]
    reading.make_unread(note.conversation, teammate_ids=others)
    notifications.notify(
        others, kind=NotificationKind.MENTION, conversation_id=note.conversation_id, by=by, number=note.number
    )
