"""Files that go with messages and notes: `store` takes one in, sending puts it on its item, and two functions say who
may have it. The bytes are in the database, where every process reads them and a backup has them."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from conversations import pictures
from conversations.files import File, plain_name, size_in_words, type_of, with_ending
from conversations.models import Attachment, AttachmentBytes, Conversation, Item, ItemKind
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError, existing

SIZE_LIMIT: Final = 10 * 1024**2
IN_A_MESSAGE: Final = 5
# What nobody has sent by then is deleted.
UNSENT_FOR: Final = timedelta(hours=24)
_SWEPT_AT_ONCE: Final = 100
_SEEN_BY_CUSTOMERS: Final = (ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM)


class FileRefused(DomainError):
    """A file that cannot be taken or sent; the sentence names it."""

    code = "file_refused"
    status = 422

    def __init__(self, message: str | None = None, *, code: str | None = None) -> None:
        super().__init__(message, code=code, field="file")


class TooManyFiles(FileRefused):
    code = "too_many_files"
    message = f"A message has at most {IN_A_MESSAGE} files."


class FileGone(FileRefused):
    code = "file_gone"
    message = "A file is no longer here, or was sent already. Attach it again; what you wrote is kept."


def store(conversation: Conversation | None, *, name: str, data: bytes, by: Actor) -> Attachment:
    """Take a file in, to be sent by the same actor; into this conversation, or into their first if there is none yet.

    Pictures are decoded here, so call it outside a transaction. Raises FileRefused.
    """
    shown = plain_name(name)
    if not data:
        raise FileRefused(f"“{shown}” is empty.", code="file_empty")
    if len(data) > SIZE_LIMIT:
        raise FileRefused(f"“{shown}” is larger than {size_in_words(SIZE_LIMIT)}.", code="file_too_large")
    picture = _picture(shown, data)
    kept = picture.data if picture else data
    row = Attachment(
        workspace_id=by.workspace_id,
        conversation=conversation,
        uploader_kind=by.kind,
        uploader_id=by.id,
        name=with_ending(shown, content_type=picture.content_type) if picture else shown,
        content_type=picture.content_type if picture else type_of(data),
        size=len(kept),
        sha256=hashlib.sha256(kept).hexdigest(),
        width=picture.width if picture else 0,
        height=picture.height if picture else 0,
    )
    thumbnail, reading = (picture.thumbnail, picture.reading) if picture else (None, None)
    with transaction.atomic():
        row.save(force_insert=True)
        AttachmentBytes.objects.create(
            workspace_id=row.workspace_id, attachment=row, data=kept, thumbnail=thumbnail, reading=reading
        )
    return row


def unsent(conversation: Conversation, ids: Sequence[str], *, by: Actor) -> list[File]:
    """Files that `by` may send in a locked conversation, in this order, locked. Raises TooManyFiles, FileGone."""
    wanted = list(dict.fromkeys(ids))
    if len(wanted) > IN_A_MESSAGE:
        raise TooManyFiles
    if not all(each.isascii() and each.isalnum() for each in wanted):
        raise FileGone
    here = Q(conversation=conversation) | Q(conversation=None)
    rows = Attachment.objects.select_for_update().filter(here, workspace_id=conversation.workspace_id, item=None)
    found = rows.filter(uploader_kind=by.kind, uploader_id=by.id).order_by("id").in_bulk(wanted)
    if len(found) < len(wanted):
        raise FileGone
    return [found[each].file for each in wanted]


def put_on(item: Item) -> None:
    """The item's files are sent, once and for all."""
    ids = [file.id for file in item.sent]
    if ids:
        Attachment.objects.filter(id__in=ids).update(conversation_id=item.conversation_id, item=item)


def for_team(by: Actor, attachment_id: str) -> Attachment:
    """A file of the actor's workspace; one that is not sent, only for who brought it. Raises NotFound."""
    own = Q(uploader_kind=by.kind, uploader_id=by.id)
    rows = Attachment.objects.filter(Q(item__isnull=False) | own, workspace_id=by.workspace_id)
    return existing(rows.filter(id=attachment_id).first())


def for_customers(attachment_id: str) -> Attachment:
    """A file that a customer may see: one that stands in a message, or their own that is not sent. Raises NotFound.

    Whose customer, the caller must know: see conversations.attachment_links.
    """
    in_message, own = Q(item__kind__in=_SEEN_BY_CUSTOMERS), Q(item=None, uploader_kind=ActorKind.CUSTOMER)
    return existing(Attachment.objects.filter(in_message | own, id=attachment_id).first())


def data_of(attachment: Attachment) -> bytes:
    return bytes(AttachmentBytes.objects.values_list("data", flat=True).get(attachment=attachment))


def thumbnail_of(attachment: Attachment) -> bytes:
    """A WebP of at most 480 pixels a side. Raises NotFound for what is no picture."""
    kept = existing(AttachmentBytes.objects.values_list("thumbnail", flat=True).get(attachment=attachment))
    return bytes(kept)


def readings(ids: Collection[str]) -> Mapping[str, bytes]:
    """Pictures as models read them, by id: JPEGs of at most 1,024 pixels a side. One statement."""
    if not ids:
        return {}
    rows = AttachmentBytes.objects.filter(attachment_id__in=ids).values_list("attachment_id", "reading")
    return {id: bytes(reading) for id, reading in rows if reading is not None}


def sweep() -> int:
    """Delete what nobody has sent for a day, in batches. Gives how many."""
    gone = 0
    while True:
        old = Attachment.objects.filter(item=None, created_at__lt=clock.now() - UNSENT_FOR)
        with transaction.atomic():
            ids = list(old.select_for_update(skip_locked=True).values_list("id", flat=True)[:_SWEPT_AT_ONCE])
            Attachment.objects.filter(id__in=ids).delete()
        gone += len(ids)
        if len(ids) < _SWEPT_AT_ONCE:
            return gone


def _picture(name: str, data: bytes) -> pictures.Picture | None:
    try:
        return pictures.examine(data)
    except pictures.TooManyPixels as error:
        most, has = (f"{pixels / 1_000_000:,.0f}" for pixels in (pictures.MOST_PIXELS, error.pixels))
        sentence = f"“{name}” is too large a picture: {has} megapixels, where {most} are the most."
        raise FileRefused(sentence, code="picture_too_large") from None
    except pictures.Broken:
        raise FileRefused(f"“{name}” is a picture that is damaged or cut off.", code="picture_broken") from None
