"""What a teammate has typed into a thread and not sent: one draft for replies and one for notes, on every device."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import OuterRef, QuerySet

from conversations import access, threads
from conversations.models import Conversation, Draft, Item
from conversations.writing import TEXT_LIMIT, TextTooLong
from median_site.lib import clock, live, text, times
from median_site.lib.actors import Actor

REPLY: Final = "reply"
NOTE: Final = "note"
UNIQUE: Final = ("workspace", "conversation", "teammate", "mode")


@dataclass(frozen=True, slots=True)
class Saved:
    """The version that the draft has now, 0 for none; and another window's text that it took the place of, or "" """

    version: int
    replaced: str = ""


def mode_of(word: str) -> str:
    """A note when it says so, else a reply."""
    return NOTE if word == NOTE else REPLY


def save(conversation_id: str, *, by: Actor, mode: str, body: str, base: int) -> Saved:
    """Keep what was typed; the newest wins, and nothing deletes nothing that it has not seen.

    `base` is the version that this window had, 0 for none. When another window has saved meanwhile, and its text is not
    part of this one, that text is given back for this window to show. Raises NotFound, TextTooLong.
    """
    if len(body) > TEXT_LIMIT:
        raise TextTooLong(field="text")
    body, _ = text.clean(body)
    conversation = access.conversation(by, conversation_id)
    key = {"workspace_id": by.workspace_id, "conversation": conversation, "teammate_id": by.id, "mode": mode}
    with transaction.atomic():
        # Makes the row or locks the one that is there: two windows may save at once, or one may send meanwhile.
        Draft.objects.bulk_create(
            [Draft(**key)], update_conflicts=True, unique_fields=list(UNIQUE), update_fields=["mode"]
        )
        draft = Draft.objects.get(**key)
        was, other = draft.version, "" if draft.version == base or draft.text in body else draft.text
        if body.strip():
            draft.text, draft.version, draft.updated_at = body, _later(was), clock.now()
            draft.save(update_fields=["text", "version", "updated_at"])
        elif not other:
            draft.delete()
            draft.version = 0
        if bool(was) != bool(draft.version):
            live.changed("row", workspace_id=by.workspace_id, id=conversation.id, version=conversation.version)
    return Saved(draft.version, other)


def send(
    conversation_id: str, *, by: Actor, mode: str, body: str, files: Sequence[str] = (), client_id: str = ""
) -> Item:
    """Say it, and forget the draft in the same transaction. Raises what threads.reply and threads.note raise."""
    say = threads.note if mode == NOTE else threads.reply
    with transaction.atomic():
        item = say(conversation_id, by=by, body=body, files=files, client_id=client_id)
        mine(by).filter(conversation_id=conversation_id, mode=mode).delete()
    return item


def mine(by: Actor) -> QuerySet[Draft]:
    return Draft.objects.filter(workspace_id=by.workspace_id, teammate_id=by.id)


def writers(rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """These conversations with `writers`, the ids of the teammates who have a draft in each."""
    drafts = Draft.objects.filter(workspace_id=OuterRef("workspace_id"), conversation_id=OuterRef("pk"))
    return rows.annotate(writers=ArraySubquery(drafts.order_by("teammate_id").distinct().values("teammate_id")))


def _later(version: int) -> int:
    """A version of a draft that was there before, even if it was sent and begun anew, never comes again."""
    return max(version + 1, times.millis(clock.now()))
