"""Who else is in a thread: what teammates and the customer see of it, when it is over, and what it costs."""

import asyncio
import re
from typing import cast

import pytest

from conversations import threads
from median_site.lib import hub as hubs
from median_site.lib import live, presence
from median_site.lib.db import in_thread
from median_site.lib.hub import Socket
from median_site.lib.presence import Bell, Board, Person
from team import roster
from team.models import Event, Teammate
from tests.dashboard.threads_at_hand import write
from tests.page_socket import Closed, Frame, PageSocket, signed_in
from tests.world import World, session_token

pytestmark = pytest.mark.django_db(transaction=True)


async def open_thread(teammate: Teammate, world: World) -> PageSocket:
    """A page that watches the world's thread from here on."""
    _, cookie = await in_thread(signed_in, teammate)
    page = await PageSocket("/live/", cookie=cookie).open()
    item = await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="A note")
    await page.say({"watch": "thread", "id": world.conversation.id, "since": item.number - 1})
    await hear(page, "thread")
    return page


async def hear(page: PageSocket, kind: str) -> Frame:
    """The next frame of this kind; what else happens meanwhile is not looked at."""
    while (frame := await page.hear())["kind"] != kind:
        continue
    return frame


def says(frame: Frame) -> list[str]:
    """What a person reads in it."""
    items = re.findall(r"<li .*?</li>", cast(str, frame["html"]), re.S)
    return [re.sub(r"<[^>]+>", "", item.split("</span>", 1)[1]) for item in items]


async def test_teammates_and_the_customer_see_who_is_there(world: World) -> None:
    await in_thread(write, world)
    kim, sam = await open_thread(world.kim, world), await open_thread(world.sam, world)
    ana = await PageSocket("/widget/live/").open()
    await ana.say({"token": await in_thread(session_token, world.ana), "since": 0})
    await hear(ana, "widget")
    events = await in_thread(Event.objects.count)

    await sam.say({"here": world.conversation.id, "typing": ""})
    frame = await hear(kim, "presence")
    assert (frame["id"], says(frame)) == (world.conversation.id, ["Sam is here"])
    assert f'data-here="{world.sam.id}"' in frame["html"]

    await sam.say({"here": world.conversation.id, "typing": "note"})
    assert says(await hear(kim, "presence")) == ["Sam is writing a note"]
    await sam.say({"here": world.conversation.id, "typing": "reply"})
    assert says(await hear(kim, "presence")) == ["Sam is typing"]
    # Of the note the customer heard nothing.
    assert "<bdi>Sam</bdi> is writing" in (await hear(ana, "typing"))["html"]

    await ana.say({"typing": True})
    assert says(await hear(kim, "presence")) == ["Ana is typing", "Sam is typing"]
    await ana.say({"typing": False})
    assert says(await hear(kim, "presence")) == ["Sam is typing"]

    await sam.leave()
    assert says(await hear(kim, "presence")) == []
    while "is writing" in (await hear(ana, "typing"))["html"]:
        continue
    assert await in_thread(Event.objects.count) == events
    for page in (kim, ana):
        await page.leave()


async def test_it_is_over_by_itself_when_a_page_or_a_process_falls_silent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "GONE", 0.6)
    kim, sam = await open_thread(world.kim, world), await open_thread(world.sam, world)
    await sam.say({"here": world.conversation.id, "typing": "reply"})
    assert says(await hear(kim, "presence")) == ["Sam is typing"]
    assert says(await hear(kim, "presence")) == []

    bell = {
        "type": "presence", "process": "another", "workspace": world.fernhill.id, "thread": world.conversation.id,
        "people": [["a" * 26, "<b>Jo</b>", "J", "nonsense"]], "customer": False,
    }  # fmt: skip
    await in_thread(hubs.current()._layer.notify_all, [(live.group_of(world.fernhill.id), bell)])
    assert says(await hear(kim, "presence")) == ["&lt;b&gt;Jo&lt;/b&gt; is here"]
    assert says(await hear(kim, "presence")) == []
    for page in (kim, sam):
        await page.leave()


async def test_whoever_is_removed_or_looks_elsewhere_disappears(world: World) -> None:
    sam, kim = await open_thread(world.sam, world), await open_thread(world.kim, world)
    for _ in range(2):
        await kim.say({"here": world.conversation.id, "typing": ""})
        assert says(await hear(sam, "presence")) == ["Kim is here"]
        await kim.say({"here": ""})
        assert says(await hear(sam, "presence")) == []
    await kim.say({"here": world.conversation.id, "typing": ""})
    assert says(await hear(sam, "presence")) == ["Kim is here"]

    await in_thread(roster.remove, world.kim.id, by=world.sam.actor)

    with pytest.raises(Closed, match="4403"):
        await hear(kim, "nothing")
    assert says(await hear(sam, "presence")) == []
    await sam.leave()


async def test_nobody_is_where_they_may_not_look(world: World) -> None:
    sam = await open_thread(world.sam, world)
    _, cookie = await in_thread(signed_in, world.mallory)
    mallory = await PageSocket("/live/", cookie=cookie).open()
    ignored = hubs.current().ignored
    for here in (world.conversation.id, "nothing", 7, ["x"], True):
        await mallory.say({"here": here, "typing": "reply"})
    await mallory.say({"watch": "queue", "since": 0})
    await sam.say({"here": world.conversation.id, "typing": ""})
    assert says(await hear(sam, "presence")) == ["Sam is here"]
    assert hubs.current().ignored == ignored + 5
    for page in (sam, mallory):
        await page.leave()


async def test_what_is_told_does_not_grow_with_the_tabs_and_their_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "TICK", 0.05)
    monkeypatch.setattr(presence, "BEAT", 0.5)
    told: list[list[Bell]] = []
    board = Board(tell=told.append, changed=lambda *_: None)
    sockets = [Socket(workspace_id="w", person=f"{n % 40:026}", name="Æ" * 99, initials="ÆÆ") for n in range(200)]

    for _ in range(20):
        for number, socket in enumerate(sockets):
            board.here(socket, f"thread-{number % 10}", typing="")
        await asyncio.sleep(0.01)

    assert len(told) == 1
    assert len(told[0]) == 10
    assert all(len(bell["people"]) <= presence.MOST for bell in told[0])
    assert max(len(str(bell).encode()) for bell in told[0]) < 1_000
    for socket in sockets:
        board.gone(socket)
    await asyncio.sleep(0.2)
    assert len(told) == 2
    assert all(bell["people"] == [] for bell in told[1])


async def test_a_process_that_comes_anew_hears_who_is_there_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "TICK", 0.02)
    loop, boards = asyncio.get_running_loop(), []

    def tell(bells: list[Bell]) -> None:
        for bell in bells:
            for board in boards:
                loop.call_soon_threadsafe(board.hear, bell)

    boards += [Board(tell=tell, changed=lambda *_: None)]
    boards[0].here(Socket(workspace_id="w", person="kim", name="Kim", initials="KI"), "thread", typing="reply")
    await asyncio.sleep(0.1)
    changes: list[tuple[str, str]] = []
    boards += [Board(tell=tell, changed=lambda *change: changes.append(change))]

    boards[1].join("elsewhere")
    await asyncio.sleep(0.1)
    assert changes == []
    boards[1].join("w")
    while not changes:
        await asyncio.sleep(0.02)

    assert changes == [("w", "thread")]
    assert boards[1].scene("w", "thread").people == (Person("kim", "Kim", "KI", "reply"),)
    boards[1].forget("w")
    assert boards[1].scene("w", "thread").people == ()
