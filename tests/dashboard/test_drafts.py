"""Drafts over HTTP: kept for each teammate, thread and mode; the newest wins; gone once sent; shown to nobody else."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from django.test import Client

from conversations import drafts
from conversations.models import Draft, Item
from team.events import Kind
from team.models import Event, Teammate
from tests.dashboard.threads_at_hand import write
from tests.world import World

SignIn = Callable[[Teammate], Client]
TOO_LONG = "A message has at most 8,000 characters."


def keep(browser: Client, world: World, text: str, *, base: int = 0, mode: str = "reply") -> dict[str, object]:
    answer = browser.post(f"/inbox/{world.conversation.id}/draft", {"mode": mode, "text": text, "base": base})
    return {"status": answer.status_code} | answer.json()


def kept(browser: Client, world: World) -> dict[str, str]:
    rows = browser.get(f"/inbox/{world.conversation.id}/draft").json()["drafts"]
    return {row["mode"]: row["text"] for row in rows}


def test_replies_and_notes_are_kept_apart_and_for_their_writer_alone(world: World, browser_of: SignIn) -> None:
    write(world)
    sam, kim = browser_of(world.sam), browser_of(world.kim)
    keep(sam, world, "Dear <Ana>")
    keep(sam, world, "Beware\0", mode="note")

    assert kept(sam, world) == {"reply": "Dear <Ana>", "note": "Beware␀"}
    assert kept(kim, world) == {}
    thread = f"/inbox/{world.conversation.id}/"
    assert "Dear \\u003cAna\\u003e" in sam.get(thread).content.decode()
    queue = kim.get("/inbox/").content.decode()
    assert "Dear" not in kim.get(thread).content.decode() + queue
    # The word is in everybody's row, and each session's own rule shows it to the writer.
    assert f'<span class="qrow-draft" data-writers="{world.sam.id}">Draft</span>' in queue
    assert world.sam.id not in kim.get("/me.css").content.decode()


def test_the_newest_wins_and_the_other_windows_text_is_given_back(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    first = keep(sam, world, "One")
    second = keep(sam, world, "One and two", base=first["version"])
    assert second == {"status": 200, "version": second["version"], "replaced": ""}
    assert second["version"] > first["version"]

    stale = keep(sam, world, "Something else", base=first["version"])
    assert stale["replaced"] == "One and two"
    assert kept(sam, world) == {"reply": "Something else"}
    # Who has not seen it deletes nothing.
    emptied = keep(sam, world, "", base=second["version"])
    assert (emptied["replaced"], kept(sam, world)) == ("Something else", {"reply": "Something else"})
    assert keep(sam, world, "", base=stale["version"])["version"] == 0
    assert kept(sam, world) == {}


def test_what_is_too_long_is_refused_and_what_was_there_stays(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    keep(sam, world, "Short")
    answer = sam.post(
        f"/inbox/{world.conversation.id}/draft", {"text": "x" * 8_001}, headers={"Accept": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["message"]) == (422, TOO_LONG)
    assert kept(sam, world) == {"reply": "Short"}


def test_a_draft_is_gone_once_sent_and_stays_when_sending_fails(world: World, browser_of: SignIn) -> None:
    sam, kim = browser_of(world.sam), browser_of(world.kim)
    for browser in (sam, kim):
        keep(browser, world, "Hello")
        keep(browser, world, "For us", mode="note")
    path = f"/inbox/{world.conversation.id}/write"

    assert sam.post(path, {"mode": "reply", "text": " "}).status_code == 422
    assert kept(sam, world) == {"reply": "Hello", "note": "For us"}
    assert sam.post(path, {"mode": "reply", "text": "Hello"}).status_code == 302
    assert kept(sam, world) == {"note": "For us"}
    assert kept(kim, world) == {"reply": "Hello", "note": "For us"}

    row = re.search(r'data-writers="([^"]+)"', sam.get("/inbox/").content.decode())
    assert sorted(row[1].split()) == sorted([world.sam.id, world.kim.id])
    assert Item.objects.filter(text="Hello").count() == 1


@pytest.mark.parametrize(("mode", "kind"), [("reply", Kind.TEAMMATE_REPLIED), ("note", Kind.NOTE_LEFT)])
def test_what_is_sent_again_under_its_id_stands_once(world: World, browser_of: SignIn, mode: str, kind: Kind) -> None:
    sam, path = browser_of(world.sam), f"/inbox/{world.conversation.id}/write"
    for client_id in ("1-2-3-4", "1-2-3-4", "5-6-7-8", "\0" * 99, "\0" * 99, "", ""):
        assert sam.post(path, {"mode": mode, "text": "Hello", "client_id": client_id}).status_code == 302

    assert Item.objects.filter(text="Hello").count() == 5
    assert Event.objects.filter(kind=kind).count() == 5


@pytest.mark.django_db(transaction=True)
def test_two_windows_at_once_leave_one_draft_and_lose_no_text(world: World) -> None:
    def save(text: str) -> str:
        try:
            return drafts.save(world.conversation.id, by=world.sam.actor, mode="reply", body=text, base=0).replaced
        finally:
            connections.close_all()

    texts = [f"Window {number}" for number in "abcdef"]
    with ThreadPoolExecutor(6) as pool:
        replaced = list(pool.map(save, texts))

    # Every text is in the draft or was handed to the window that took its place.
    assert sorted([Draft.objects.get().text, *filter(None, replaced)]) == texts
