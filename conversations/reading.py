"""How far each teammate has read a thread."""

from collections.abc import Sequence

from django.db import connection, transaction

from conversations import access
from conversations.models import Conversation, ReadMark
from median_site.lib import live
from median_site.lib.actors import Actor
from team import notifications


def mark_read(conversation_id: str, *, by: Actor, number: int) -> None:
    """Remember how far a teammate has read. Raises NotFound."""
    with transaction.atomic():
        record(access.conversation(by, conversation_id), by=by, number=number)


def mark_unread(conversation_id: str, *, by: Actor) -> None:
    """Make the thread unread again for one teammate, from what needed the team last. Raises NotFound."""
    with transaction.atomic():
        conversation = access.conversation(by, conversation_id)
        # A thread that never needed the team is unread from before its first item.
        ReadMark.objects.update_or_create(
            workspace_id=by.workspace_id, conversation=conversation, teammate_id=by.id,
            defaults={"number": conversation.attention - 1},
        )  # fmt: skip
        live.changed("row", workspace_id=by.workspace_id, id=conversation.id, version=conversation.version)


def make_unread(conversation: Conversation, *, teammate_ids: Sequence[str]) -> None:
    """Make a locked thread unread for some, from what needs the team last; in the caller's transaction, which rings."""
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into conversations_readmark (workspace_id, conversation_id, teammate_id, number)"
            " select c.workspace_id, c.id, teammate_id, c.attention - 1"
            " from conversations_conversation c, unnest(%s::text[]) as teammate_id where c.id = %s"
            " on conflict (workspace_id, conversation_id, teammate_id)"
            " do update set number = least(conversations_readmark.number, excluded.number)",
            [list(teammate_ids), conversation.id],
        )


def record(conversation: Conversation, *, by: Actor, number: int) -> None:
    """Keep the number, in the caller's transaction; it never goes back, nor beyond what stands in the thread."""
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into conversations_readmark (workspace_id, conversation_id, teammate_id, number)"
            " values (%s, %s, %s, %s) on conflict (workspace_id, conversation_id, teammate_id)"
            " do update set number = excluded.number where conversations_readmark.number < excluded.number",
            [conversation.workspace_id, conversation.id, by.id, min(number, conversation.version)],
        )
        moved = cursor.rowcount
    if moved:
        notifications.read_thread(conversation.id, by=by, number=number)
        live.changed("row", workspace_id=conversation.workspace_id, id=conversation.id, version=conversation.version)
