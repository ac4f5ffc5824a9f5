"""Files of teammates and customers over HTTP: sent up, sent along, shown, opened, and by whom not."""

import re
from collections.abc import Callable
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from PIL import Image

from conversations import attachment_links, attachments, threads
from conversations.models import Attachment, Conversation, Item
from median_site.dashboard import pushes
from median_site.lib import live
from team.models import Teammate
from tests import files
from tests.world import World

SignIn = Callable[[Teammate], Client]
PAGE = b"<!doctype html><script>alert(1)</script>"


def up(browser: Client, world: World, data: bytes, name: str = "lid.png") -> HttpResponse:
    return browser.post(
        f"/inbox/{world.conversation.id}/attachments", {"file": SimpleUploadedFile(name, data)},
        headers={"Accept": "application/json"},
    )  # fmt: skip


def path_of(attachment_id: str) -> str:
    row = Attachment.objects.get(id=attachment_id)
    return attachment_links.for_team(row.file).href


def test_a_file_is_sent_up_and_then_along_with_a_reply(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    picture, page = (up(sam, world, *each).json() for each in ((files.png(), "lid.png"), (PAGE, "page.html")))
    assert (picture["name"], page["small"]) == ("lid.png", None)
    assert sam.get(picture["small"]).headers["Content-Type"] == "image/webp"

    answer = sam.post(
        f"/inbox/{world.conversation.id}/write", {"text": "", "file": [picture["id"], page["id"]]},
        headers={"HX-Request": "true"},
    )  # fmt: skip

    assert answer.status_code == 204
    shown = sam.get(f"/inbox/{world.conversation.id}/").text
    href = f"/attachments/{picture['id']}/lid.png"
    assert f'<a class="picture" href="{href}" data-picture="800 600"><img src="{href}?small=1" alt="lid.png"' in shown
    assert f'<a class="file" href="/attachments/{page["id"]}/page.html" download>' in shown
    assert "<bdi>page.html</bdi> <small>40 bytes</small>" in shown
    assert "lid.png, page.html" in shown  # the queue's row
    kims = browser_of(world.kim).get(href)
    assert Image.open(BytesIO(kims.content)).size == (800, 600)


def test_without_a_script_the_form_brings_its_files(world: World, browser_of: SignIn) -> None:
    given = [SimpleUploadedFile("a.txt", b"one"), SimpleUploadedFile("b.png", files.png())]
    fields = {"text": "For us", "mode": "note", "files": given}
    answer = browser_of(world.sam).post(f"/inbox/{world.conversation.id}/write", fields)
    assert answer.status_code == 302
    assert [file.name for file in Item.objects.get(kind="note").sent] == ["a.txt", "b.png"]


@pytest.mark.parametrize("mode", ["reply", "note"])
def test_six_files_are_one_too_many(mode: str, world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    ids = [up(sam, world, b"x", f"{n}.txt").json()["id"] for n in range(6)]
    write = f"/inbox/{world.conversation.id}/write"
    refused = sam.post(write, {"text": "All", "mode": mode, "file": ids}, headers={"HX-Request": "true"})
    assert (refused.status_code, refused.text) == (422, "A message has at most 5 files.")
    assert not Item.objects.exists()
    assert sam.post(write, {"text": "Five", "mode": mode, "file": ids[:5]}).status_code == 302


def test_what_is_wrong_with_a_file_is_said_with_its_name(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    answer = up(sam, world, b"x" * (attachments.SIZE_LIMIT + 1), "film.mov")
    sentence = "“film.mov” is larger than 10.0 MB."
    assert answer.status_code == 422
    assert answer.json() == {"error": {"code": "file_too_large", "message": sentence, "field": "file"}}
    url = f"/inbox/{world.conversation.id}/attachments"
    assert sam.post(url, {"file": "text"}, headers={"Accept": "application/json"}).status_code == 422
    assert not Attachment.objects.exists()


def test_a_file_runs_nothing_wherever_it_is_opened(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    for data, name in ((PAGE, "page.html"), (b"<svg onload=alert(1)>", "x.svg"), (files.png(), "page.html")):
        answer = sam.get(path_of(up(sam, world, data, name).json()["id"]))
        headers = answer.headers
        is_picture = data[1:4] == b"PNG"
        assert headers["Content-Type"] == ("image/png" if is_picture else "application/octet-stream")
        assert headers["Content-Disposition"] == (
            'inline; filename="page.html.png"' if is_picture else f'attachment; filename="{name}"'
        )
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
        assert headers["Cache-Control"] == "private, max-age=3600"


def test_a_name_from_outside_stays_in_its_place(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    name = 'a"; x=\r\nSet-Cookie: b.txt\u202e'
    row = attachments.store(world.conversation, name=name, data=b"x", by=world.sam.actor)
    threads.note(world.conversation.id, by=world.sam.actor, body="", files=[row.id])
    answer = sam.get(path_of(row.id))
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="a\\"; x=[U+000D][U+000A]Set-Cookie: b.txt[U+202E]"'
    )
    assert "a&#34;; x=[U+000D][U+000A]Set-Cookie: b.txt[U+202E]" in sam.get(f"/inbox/{world.conversation.id}/").text


def test_strangers_and_keys_that_do_not_fit_get_nothing(world: World, browser_of: SignIn) -> None:
    note, message = (
        attachments.store(world.conversation, name="a.txt", data=b"secret", by=world.sam.actor) for _ in range(2)
    )
    threads.note(world.conversation.id, by=world.sam.actor, body="", files=[note.id])
    threads.reply(world.conversation.id, by=world.sam.actor, body="", files=[message.id])
    assert Client().get(path_of(message.id)).status_code == 302  # to sign in
    assert browser_of(world.mallory).get(path_of(message.id)).status_code == 404
    key = attachment_links.for_customer(message.file).href.partition("?")[2]
    assert Client().get(f"{path_of(message.id)}?{key}").content == b"secret"
    for wrong in (f"{path_of(note.id)}?{key}", f"{path_of(message.id)}?{key}0", f"{path_of(message.id)}?key="):
        assert Client().get(wrong).status_code == 404
    # Even a key that fits opens nothing of a note.
    assert Client().get(attachment_links.for_customer(note.file).href).status_code == 404
    assert browser_of(world.sam).get(f"{path_of(note.id)}?small=1").status_code == 404  # no picture


def test_page_and_push_carry_the_same_bytes_and_files_cost_no_statement(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    threads.reply(world.conversation.id, by=world.sam.actor, body="First")
    url = f"/inbox/{world.conversation.id}/"
    with CaptureQueriesContext(connection) as before:
        sam.get(url)
    for n in range(5):
        rows = [attachments.store(world.conversation, name="a.png", data=files.png(), by=world.sam.actor) for _ in "ab"]
        threads.reply(world.conversation.id, by=world.sam.actor, body=f"Look {n}", files=[row.id for row in rows])
    with CaptureQueriesContext(connection) as after:
        page = sam.get(url).text
    assert len(after) == len(before)
    found = Conversation.objects.get(id=world.conversation.id)
    ask = live.Ask(world.fernhill.id, found.id, 0, frozenset({world.sam.id}))
    [push] = pushes.in_zone(pushes.render_thread)(ask)
    html = [item["html"] for item in push.payload["items"] if "data-picture=" in item["html"]]
    assert len(html) == 5
    assert all(each in page for each in html)
    assert len(re.findall("data-picture", page)) == 10
