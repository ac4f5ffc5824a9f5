"""Doorbells and the hub, over real PostgreSQL: who is sent what, once, in order, from one render."""

import asyncio
import json
import threading

import pytest
from django.db import connection, transaction

from conversations import reading, threads
from conversations.models import Conversation, Item, ReadMark
from median_site.lib import hub as hubs
from median_site.lib import live
from median_site.lib.db import in_thread
from median_site.lib.hub import Hub, Socket
from median_site.lib.live import Ask, Feed, Push
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)

Frame = dict[str, object]


class Renderers:
    """The feeds "thread" and "row" over the real tables, with what they were asked for."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.under_way = threading.Event()

    def thread(self, ask: Ask) -> list[Push]:
        self.asks.append(ask)
        self.under_way.set()
        assert self.may_go_on.wait(10)
        conversation = Conversation.objects.get(workspace_id=ask.workspace_id, id=ask.id)
        if conversation.version <= ask.since:
            return []
        changed = Item.objects.filter(version__gt=ask.since, version__lte=conversation.version)
        rows = changed.filter(conversation=conversation).order_by("number")
        numbers = list(rows.values_list("number", flat=True))
        if len(numbers) > live.MOST:
            return [live.refresh(ask.id, conversation.version)]
        return [Push(conversation.version, {"kind": "thread", "items": numbers, "version": conversation.version})]

    def row(self, ask: Ask) -> list[Push]:
        self.asks.append(ask)
        if not ask.id:
            return [Push(0, {"kind": "row", "since": ask.since})]
        conversation = Conversation.objects.get(workspace_id=ask.workspace_id, id=ask.id)
        marks = ReadMark.objects.filter(conversation=conversation, number__gte=conversation.attention)
        read = frozenset(marks.values_list("teammate_id", flat=True)) & ask.people
        variants = {False: read, True: ask.people - read}
        return [Push(conversation.version, {"unread": unread}, people) for unread, people in variants.items() if people]


@pytest.fixture
def renderers(monkeypatch: pytest.MonkeyPatch) -> Renderers:
    renderers = Renderers()
    monkeypatch.setitem(live.feeds, "thread", Feed("thread", renderers.thread, frozenset({"thread"})))
    monkeypatch.setitem(live.feeds, "row", Feed("row", renderers.row, frozenset({"thread", "row"})))
    return renderers


@pytest.fixture
async def hub() -> Hub:
    return hubs.current()


async def sockets_of(hub: Hub, world: World, count: int) -> list[Socket]:
    sockets = [Socket(workspace_id=world.fernhill.id, person=world.sam.id) for _ in range(count)]
    for socket in sockets:
        await hub.enter(socket)
    return sockets


async def note(world: World, body: str = "Look at this") -> Item:
    return await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body=body)


async def version_of(conversation: Conversation) -> int:
    await in_thread(conversation.refresh_from_db)
    return conversation.version


async def next_frame(socket: Socket) -> Frame:
    async with asyncio.timeout(10):
        frame: Frame = json.loads(await socket.frames.get())
        return frame


async def settled(hub: Hub, world: World) -> None:
    """Everything that rang before this has been rendered and handed out."""
    await heard(hub, world)
    await asyncio.gather(*(topic._rendering for topic in hub._topics.values() if topic._rendering))


async def heard(hub: Hub, world: World) -> None:
    """The hub has heard everything that rang before this: a last bell, with its own feed and socket, came round."""
    socket = Socket(workspace_id=world.fernhill.id, person="last")
    live.feeds["last"] = Feed("last", lambda ask: [Push(ask.since + 1, {"kind": "last"})], frozenset({"last"}))
    await hub.enter(socket)
    hub.watch(socket, "last", id="last")
    await next_frame(socket)
    await in_thread(live.changed, "last", workspace_id=world.fernhill.id, id="last", version=2)
    await next_frame(socket)
    await hub.leave(socket)
    del live.feeds["last"]


async def test_two_hundred_sockets_take_one_render(hub: Hub, world: World, renderers: Renderers) -> None:
    sockets = await sockets_of(hub, world, 200)
    version = await version_of(world.conversation)
    for socket in sockets:
        hub.watch(socket, "thread", id=world.conversation.id, since=version)
    await settled(hub, world)

    item = await note(world)

    expected = {"kind": "thread", "items": [item.number], "version": item.number}
    assert [await next_frame(socket) for socket in sockets] == [expected] * 200
    await settled(hub, world)
    assert [ask.since for ask in renderers.asks] == [version, version]
    assert all(socket.frames.empty() for socket in sockets)


async def test_bells_during_a_render_bring_exactly_one_more(hub: Hub, world: World, renderers: Renderers) -> None:
    [socket] = await sockets_of(hub, world, 1)
    version = await version_of(world.conversation)
    hub.watch(socket, "thread", id=world.conversation.id, since=version)
    await settled(hub, world)
    renderers.asks.clear()
    renderers.under_way.clear()
    renderers.may_go_on.clear()

    first = await note(world)
    await in_thread(renderers.under_way.wait, 10)
    others = [await note(world) for _ in range(5)]
    await heard(hub, world)
    renderers.may_go_on.set()

    assert await next_frame(socket) == {
        "kind": "thread", "items": [first.number, *(item.number for item in others)], "version": others[-1].number,
    }  # fmt: skip
    await settled(hub, world)
    assert [ask.since for ask in renderers.asks] == [version, others[-1].number]


async def test_who_comes_late_gets_what_it_missed_and_nothing_twice(
    hub: Hub, world: World, renderers: Renderers
) -> None:
    sockets = await sockets_of(hub, world, 20)
    numbers: list[int] = []
    for socket in sockets:
        numbers.append((await note(world)).number)
        hub.watch(socket, "thread", id=world.conversation.id, since=numbers[0] - 1)
    numbers.append((await note(world)).number)
    await settled(hub, world)

    for socket in sockets:
        frames = [json.loads(socket.frames.get_nowait()) for _ in range(socket.frames.qsize())]
        assert [number for frame in frames for number in frame["items"]] == numbers


async def test_who_has_it_already_causes_no_render(hub: Hub, world: World, renderers: Renderers) -> None:
    [socket] = await sockets_of(hub, world, 1)
    version = (await note(world)).number
    hub.watch(socket, "thread", id=world.conversation.id, since=version)
    await in_thread(live.changed, "thread", workspace_id=world.fernhill.id, id=world.conversation.id, version=version)
    await settled(hub, world)

    assert len(renderers.asks) == 1
    assert socket.frames.empty()


async def test_more_than_a_hundred_changes_make_the_page_fetch_itself(
    hub: Hub, world: World, renderers: Renderers
) -> None:
    def write() -> int:
        with transaction.atomic():
            return [threads.note(world.conversation.id, by=world.sam.actor, body="x").number for _ in range(101)][-1]

    newest = await in_thread(write)
    exact, one_more = await sockets_of(hub, world, 2)
    hub.watch(exact, "thread", id=world.conversation.id, since=newest - 100)
    hub.watch(one_more, "thread", id=world.conversation.id, since=newest - 101)

    assert await next_frame(exact) == {
        "kind": "thread", "items": list(range(newest - 99, newest + 1)), "version": newest,
    }  # fmt: skip
    assert await next_frame(one_more) == {"kind": "refresh", "id": world.conversation.id, "version": newest}


async def test_a_rolled_back_change_is_never_shown(hub: Hub, world: World, renderers: Renderers) -> None:
    [socket] = await sockets_of(hub, world, 1)
    hub.watch(socket, "thread", id=world.conversation.id, since=await version_of(world.conversation))
    await settled(hub, world)

    def roll_back() -> None:
        with transaction.atomic():
            threads.note(world.conversation.id, by=world.sam.actor, body="Never mind")
            transaction.set_rollback(True)

    await in_thread(roll_back)
    await settled(hub, world)

    assert socket.frames.empty()
    assert len(renderers.asks) == 1


async def test_a_row_comes_in_the_variant_of_who_gets_it(hub: Hub, world: World, renderers: Renderers) -> None:
    sam = Socket(workspace_id=world.fernhill.id, person=world.sam.id)
    kim = Socket(workspace_id=world.fernhill.id, person=world.kim.id)
    mallory = Socket(workspace_id=world.elsewhere.id, person=world.mallory.id)
    for socket in (sam, kim, mallory):
        await hub.enter(socket)
        hub.watch(socket, "row", since=1_700_000_000_000)
        assert await next_frame(socket) == {"kind": "row", "since": 1_700_000_000_000}
    wrote = await in_thread(threads.take_over, world.conversation.id, by=world.kim.actor)
    item = await in_thread(threads.customer_wrote, wrote.id, body="Hello?", client_id="1")
    await settled(hub, world)
    for socket in (sam, kim):
        while not socket.frames.empty():
            last = json.loads(socket.frames.get_nowait())
        assert last == {"unread": True}

    renderers.asks.clear()
    await in_thread(reading.mark_read, world.conversation.id, by=world.sam.actor, number=item.number)

    assert (await next_frame(sam), await next_frame(kim)) == ({"unread": False}, {"unread": True})
    assert [(ask.id, ask.people) for ask in renderers.asks] == [(wrote.id, frozenset({world.sam.id, world.kim.id}))]
    assert mallory.frames.empty()


async def test_a_socket_that_does_not_read_is_told_to_ask_again(hub: Hub, world: World, renderers: Renderers) -> None:
    [socket] = await sockets_of(hub, world, 1)
    hub.watch(socket, "thread", id=world.conversation.id, since=await version_of(world.conversation))
    await settled(hub, world)
    for _ in range(hubs.FRAMES):
        socket.push("{}")

    item = await note(world)
    await settled(hub, world)

    assert [socket.frames.get_nowait() for _ in range(socket.frames.qsize())] == [hubs.RESYNC]
    hub.watch(socket, "thread", id=world.conversation.id, since=item.number - 1)
    assert (await next_frame(socket))["items"] == [item.number]


async def test_a_page_that_asks_again_during_a_render_misses_nothing(
    hub: Hub, world: World, renderers: Renderers
) -> None:
    first = await note(world)
    [socket] = await sockets_of(hub, world, 1)
    hub.watch(socket, "thread", id=world.conversation.id, since=first.number)
    await settled(hub, world)
    renderers.under_way.clear()
    renderers.may_go_on.clear()

    second = await note(world)
    await in_thread(renderers.under_way.wait, 10)
    hub.watch(socket, "thread", id=world.conversation.id, since=first.number - 1)
    renderers.may_go_on.set()
    await settled(hub, world)

    frames = [json.loads(socket.frames.get_nowait()) for _ in range(socket.frames.qsize())]
    assert [frame["items"] for frame in frames] == [[first.number, second.number]]


async def test_a_lost_listener_makes_every_page_ask_and_every_person_be_checked(
    hub: Hub, world: World, renderers: Renderers
) -> None:
    sockets = await sockets_of(hub, world, 2)

    def cut() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query = 'LISTEN median'"
            )

    await in_thread(cut)

    assert [await next_frame(socket) for socket in sockets] == [{"kind": "resync"}] * 2
    assert all(socket.doubted.is_set() for socket in sockets)
    assert not any(socket.trusted.is_set() for socket in sockets)


async def test_a_render_that_fails_moves_nobody_on(
    hub: Hub, world: World, renderers: Renderers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    [socket] = await sockets_of(hub, world, 1)
    version = await version_of(world.conversation)
    hub.watch(socket, "thread", id=world.conversation.id, since=version)
    await settled(hub, world)

    await in_thread(rename_item_table, there=False)
    first = await note_row_only(world)
    await settled(hub, world)
    await in_thread(rename_item_table, there=True)
    assert socket.frames.empty()
    assert [record.getMessage() for record in caplog.records] == ["Feed thread could not be rendered"]

    second = await note(world)
    assert first < second.number
    assert await next_frame(socket) == {"kind": "thread", "items": [second.number], "version": second.number}


def rename_item_table(*, there: bool) -> None:
    old, new = ("away", "conversations_item") if there else ("conversations_item", "away")
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {old} RENAME TO {new}")


async def note_row_only(world: World) -> int:
    """A change of the thread without an item, as a card that moves makes it."""

    def change() -> int:
        with transaction.atomic():
            return threads._advance(threads.lock(world.conversation.id))

    return await in_thread(change)


async def test_who_left_gets_nothing_and_is_forgotten(hub: Hub, world: World, renderers: Renderers) -> None:
    gone, other = await sockets_of(hub, world, 2)
    for socket in (gone, other):
        hub.watch(socket, "thread", id=world.conversation.id, since=await version_of(world.conversation))
    await settled(hub, world)
    await hub.leave(gone)
    hub.unwatch(other, "thread")
    renderers.asks.clear()

    await note(world)
    await settled(hub, world)

    assert (gone.frames.empty(), other.frames.empty(), renderers.asks) == (True, True, [])
    await hub.leave(other)
    assert (hub._topics, hub._watched, dict(hub._sockets)) == ({}, {}, {})


async def test_one_thread_at_a_time(hub: Hub, world: World, renderers: Renderers) -> None:
    [socket] = await sockets_of(hub, world, 1)
    conversations = [await in_thread(threads.start, world.ana) for _ in range(30)]
    for conversation in conversations:
        hub.watch(socket, "thread", id=conversation.id, since=await version_of(conversation))
    await settled(hub, world)
    assert list(hub._topics) == [(world.fernhill.id, "thread", conversations[-1].id)]

    for conversation in conversations:
        await in_thread(threads.note, conversation.id, by=world.sam.actor, body="x")
    await settled(hub, world)

    assert socket.frames.qsize() == 1


async def test_waking_a_process(world: World) -> None:
    bells = live.bells("agent")
    ticking = live.bells("agent", every=0.01)
    assert await anext(ticking) == {"type": "tick"}

    def wake() -> None:
        with transaction.atomic():
            live.wake("agent")

    heard = asyncio.ensure_future(anext(bells))
    await anext(ticking)
    await in_thread(wake)

    assert await heard == {"type": "wake"}
    await bells.aclose()
    await ticking.aclose()


def test_a_doorbell_is_small_and_says_only_that_something_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    ids = {"workspace_id": "w" * 32, "id": "c" * 32}
    monkeypatch.setattr(live.layer.PostgresChannelLayer, "_publish", lambda self, payload: rung.append(payload))

    live.changed("teammate", **ids, version=2**62)

    [payload] = rung
    assert len(payload) < 300
    assert json.loads(payload) == {
        "group": "workspace." + "w" * 32,
        "message": {
            "type": "changed", "workspace": "w" * 32, "kind": "teammate", "id": "c" * 32, "version": 2**62,
        },
    }  # fmt: skip
