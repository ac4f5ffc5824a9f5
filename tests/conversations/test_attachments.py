"""What is taken in as a file, what it is made into, and who may have it: by the domain's own door."""

import hashlib
from datetime import timedelta
from io import BytesIO

import pytest
from PIL import Image

from conversations import attachments, threads
from conversations.attachments import FileGone, FileRefused, TooManyFiles
from conversations.files import plain_name, size_in_words
from conversations.models import Attachment, AttachmentBytes, Channel, Conversation, Item
from conversations.writing import EmptyText
from median_site.lib import clock
from median_site.lib.errors import NotFound
from tests import files
from tests.world import World

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def stored(world: World, data: bytes, name: str = "lid.png", *, by: object = None) -> Attachment:
    return attachments.store(world.conversation, name=name, data=data, by=by or world.sam.actor)


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def test_a_picture_is_kept_with_a_small_one_for_threads_and_one_for_models(world: World) -> None:
    row = stored(world, files.png(2000, 1000))
    kept = AttachmentBytes.objects.get(attachment=row)
    assert (row.content_type, row.width, row.height) == ("image/png", 2000, 1000)
    assert (row.size, row.sha256) == (len(kept.data), hashlib.sha256(kept.data).hexdigest())
    assert opened(kept.data).size == (2000, 1000)
    small, reading = opened(kept.thumbnail), opened(kept.reading)
    assert (small.format, small.size) == ("WEBP", (480, 240))
    assert (reading.format, reading.size) == ("JPEG", (1024, 512))


@pytest.mark.parametrize(
    ("data", "content_type"),
    [
        (files.png(), "image/png"),
        (files.webp(), "image/webp"),
        (files.moving_gif(), "image/gif"),
        (SVG, "text/plain"),
        (b"<!doctype html><script>alert(1)</script>", "text/plain"),
        (b"%PDF-1.7 \xff", "application/pdf"),
        (b"PK\x03\x04\xff", "application/zip"),
        (b"\xff\xfe\x00", "application/octet-stream"),
    ],
)
def test_the_bytes_say_what_it_is_and_the_name_nothing(data: bytes, content_type: str, world: World) -> None:
    row = stored(world, data, "page.html")
    is_picture = content_type.startswith("image/")
    name = "page.html" + (content_type.replace("image/", ".") if is_picture else "")
    assert (row.name, row.content_type, row.width > 0) == (name, content_type, is_picture)


def test_what_a_phone_writes_beside_the_pixels_is_gone_and_the_picture_stands_upright(world: World) -> None:
    sent = files.jpeg_from_a_phone(800, 600)
    assert b"Phone Maker" in sent
    row = stored(world, sent, "IMG_1.jpg")
    data = attachments.data_of(row)
    kept = opened(data)
    assert (kept.format, kept.size, row.width, row.height) == ("JPEG", (600, 800), 600, 800)
    assert (dict(kept.getexif()), "comment" in kept.info) == ({}, False)
    for bytes_of in (data, attachments.thumbnail_of(row)):
        assert b"Phone Maker" not in bytes_of
        assert b"Exif" not in bytes_of


def test_a_gif_still_moves(world: World) -> None:
    assert opened(attachments.data_of(stored(world, files.moving_gif(3)))).n_frames == 3


def test_exactly_the_limit_is_taken_and_one_byte_more_is_not(world: World) -> None:
    most = b"\xff" * attachments.SIZE_LIMIT
    assert stored(world, most, "most.bin").size == 10 * 1024 * 1024
    with pytest.raises(FileRefused, match=r"“more\.bin” is larger than 10\.0 MB\.") as refused:
        stored(world, most + b"\xff", "more.bin")
    assert (refused.value.code, refused.value.status, refused.value.field) == ("file_too_large", 422, "file")
    with pytest.raises(FileRefused, match=r"“none\.txt” is empty\."):
        stored(world, b"", "none.txt")
    assert Attachment.objects.count() == 1


def test_pixels_are_counted_before_anything_is_decoded(world: World) -> None:
    with pytest.raises(FileRefused) as refused:
        stored(world, files.huge_png(), "bomb.png")
    assert refused.value.message == "“bomb.png” is too large a picture: 900 megapixels, where 40 are the most."
    assert stored(world, files.png(8_000, 5_000, mode="L")).width == 8_000
    with pytest.raises(FileRefused, match="too large a picture"):
        stored(world, files.huge_png(8_001, 5_000))


@pytest.mark.parametrize("data", [files.png()[:-900], files.png()[:20], files.jpeg_from_a_phone()[:3000], b"GIF89a"])
def test_a_picture_that_is_cut_off_is_refused_by_name(data: bytes, world: World) -> None:
    with pytest.raises(FileRefused) as refused:
        stored(world, data, "lid.png")
    assert refused.value.message == "“lid.png” is a picture that is damaged or cut off."


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ana\\lid.jpg", "lid.jpg"),
        ("..", "file"),
        ("", "file"),
        ("a/b/", "b"),
        ("invoice\u202egpj.exe", "invoice[U+202E]gpj.exe"),
        ("a\0b\r\nc.txt", "a[U+0000]b[U+000D][U+000A]c.txt"),
        ("x" * 300 + ".jpeg", "x" * 144 + "….jpeg"),
        ("ö" * 300, "ö" * 149 + "…"),
        ("Überweisung 3.pdf", "Überweisung 3.pdf"),
    ],
)
def test_a_name_is_one_line_of_what_can_be_seen(given: str, shown: str) -> None:
    assert plain_name(given) == shown
    assert len(shown) <= 150


def test_sizes_are_said_as_people_read_them() -> None:
    assert [size_in_words(size) for size in (1, 812, 14 * 1024, 1_258_291)] == [
        "1 byte",
        "812 bytes",
        "14 KB",
        "1.2 MB",
    ]


def test_files_are_sent_once_by_who_brought_them_and_where_they_belong(world: World) -> None:
    first, second = stored(world, files.png()), stored(world, b"%PDF-1", "order.pdf")
    kims = stored(world, b"hers", by=world.kim.actor)
    other = attachments.store(threads.start(world.ana), name="x", data=b"x", by=world.sam.actor)
    for ids in ([first.id, kims.id], [other.id], ["nothing"]):
        with pytest.raises(FileGone):
            threads.note(world.conversation.id, by=world.sam.actor, body="Look", files=ids)
    with pytest.raises(TooManyFiles):
        threads.note(world.conversation.id, by=world.sam.actor, body="Look", files=[f"f{n}" for n in range(6)])
    with pytest.raises(EmptyText):
        threads.reply(world.conversation.id, by=world.sam.actor, body=" ", files=[])
    assert Item.objects.count() == 0

    item = threads.reply(world.conversation.id, by=world.sam.actor, body="", files=[second.id, first.id])

    assert [file.name for file in item.sent] == ["order.pdf", "lid.png"]
    assert set(Attachment.objects.filter(item=item).values_list("id", flat=True)) == {first.id, second.id}
    assert Conversation.objects.get(id=world.conversation.id).excerpt == "order.pdf, lid.png"
    with pytest.raises(FileGone):
        threads.note(world.conversation.id, by=world.sam.actor, body="Again", files=[first.id])


def test_a_customers_first_message_brings_its_file_along_and_comes_once(world: World) -> None:
    world.conversation.delete()
    row = attachments.store(None, name="lid.png", data=files.png(), by=world.ana.actor)
    message = {"channel": Channel.WIDGET, "body": "Look", "client_id": "message-1", "files": [row.id]}
    item = threads.from_customer(world.ana, **message)
    assert threads.from_customer(world.ana, **message) == item
    row.refresh_from_db()
    assert (row.item_id, row.conversation_id) == (item.id, item.conversation_id)


def test_who_may_have_a_file(world: World) -> None:
    unsent, in_note, in_reply = (stored(world, b"x") for _ in range(3))
    threads.note(world.conversation.id, by=world.sam.actor, body="Look", files=[in_note.id])
    threads.reply(world.conversation.id, by=world.sam.actor, body="Look", files=[in_reply.id])

    def may(find: object, *args: object) -> bool:
        try:
            return bool(find(*args))
        except NotFound:
            return False

    rows = (unsent, in_note, in_reply)
    assert [may(attachments.for_team, world.sam.actor, row.id) for row in rows] == [True, True, True]
    assert [may(attachments.for_team, world.kim.actor, row.id) for row in rows] == [False, True, True]
    assert [may(attachments.for_team, world.mallory.actor, row.id) for row in rows] == [False, False, False]
    assert [may(attachments.for_customers, row.id) for row in rows] == [False, False, True]


def test_what_nobody_sent_for_a_day_is_swept(world: World) -> None:
    old, sent, fresh = (stored(world, b"x") for _ in range(3))
    threads.note(world.conversation.id, by=world.sam.actor, body="Look", files=[sent.id])
    Attachment.objects.exclude(id=fresh.id).update(created_at=clock.now() - timedelta(hours=24, seconds=1))
    assert (attachments.sweep(), attachments.sweep()) == (1, 0)
    assert set(Attachment.objects.values_list("id", flat=True)) == {sent.id, fresh.id}
    assert not AttachmentBytes.objects.filter(attachment_id=old.id).exists()
