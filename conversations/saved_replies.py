"""Saved replies: what teammates insert from the slash menu. Owners and admins write them, for everybody."""

from typing import Final

from django.db import IntegrityError, transaction
from django.db.models.functions import Lower

from conversations.models import SavedReply
from median_site.lib import text
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, Unusable, existing
from team import events
from team.events import Kind

TITLE_LENGTH: Final = 80
TEXT_LENGTH: Final = 10_000


class TitleTaken(DomainError):
    code = "title_taken"
    message = "Another saved reply has this title."
    status = 409


def listed(workspace_id: str) -> list[SavedReply]:
    """In the order of the slash menu: by title."""
    return list(SavedReply.objects.filter(workspace_id=workspace_id).order_by(Lower("title"), "id"))


def add(*, by: Actor, title: str, wording: str) -> SavedReply:
    """A new one. Raises Unusable with field "title" or "text", TitleTaken."""
    return _store(SavedReply(workspace_id=by.workspace_id), by=by, title=title, wording=wording)


def change(reply_id: str, *, by: Actor, title: str, wording: str) -> SavedReply:
    """Another title or text from now on. Raises NotFound, and as `add`."""
    return _store(_find(by, reply_id), by=by, title=title, wording=wording)


def remove(reply_id: str, *, by: Actor) -> None:
    """Take it from the menu. Raises NotFound."""
    with transaction.atomic():
        reply = _find(by, reply_id)
        if SavedReply.objects.filter(pk=reply.pk).delete()[0]:
            events.record(Kind.SAVED_REPLY_REMOVED, by=by, subject_id=reply_id, data={"title": reply.title})


def _find(by: Actor, reply_id: str) -> SavedReply:
    return existing(SavedReply.objects.filter(workspace_id=by.workspace_id, id=reply_id).first())


def _store(reply: SavedReply, *, by: Actor, title: str, wording: str) -> SavedReply:
    reply.title, reply.text = " ".join(text.clean(title)[0].split()), text.clean(wording)[0].strip()
    if not 1 <= len(reply.title) <= TITLE_LENGTH:
        raise Unusable("Write a title of up to 80 characters.", field="title")
    if not 1 <= len(reply.text) <= TEXT_LENGTH:
        raise Unusable("Write a reply of up to 10,000 characters.", field="text")
    try:
        with transaction.atomic():
            reply.save()
            events.record(Kind.SAVED_REPLY_SAVED, by=by, subject_id=reply.id, data={"title": reply.title})
    except IntegrityError:
        raise TitleTaken(field="title") from None
    return reply
