"""The teammates' socket through its door: who may open it, what they may watch, and when it is over."""

import base64
import json
import os
import signal
import socket
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction
from django.test import Client

from conversations import threads
from median_site.lib import clock, live, sockets
from median_site.lib import hub as hubs
from median_site.lib.db import in_thread
from team.models import Teammate
from tests.page_socket import Closed, PageSocket, signed_in
from tests.web_process import WebProcess, serving
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


async def open_socket(teammate: Teammate) -> tuple[PageSocket, Client]:
    client, cookie = await in_thread(signed_in, teammate)
    return await PageSocket("/live/", cookie=cookie).open(), client


async def watch(page: PageSocket, world: World) -> int:
    """Watches the world's thread, from an item on that comes at once. Its number."""
    item = await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="First")
    await page.say({"watch": "thread", "id": world.conversation.id, "since": item.number - 1})
    frame = await page.hear()
    assert [part["id"] for part in frame["items"]] == [f"item-{item.number}"]
    return item.number


def remove(teammate: Teammate) -> None:
    with transaction.atomic():
        Teammate.objects.filter(id=teammate.id).update(removed_at=clock.now())
        live.changed("teammate", workspace_id=teammate.workspace_id, id=teammate.id)


async def test_a_page_gets_what_happens_in_its_thread_and_its_queue(world: World) -> None:
    page, _ = await open_socket(world.kim)
    number = await watch(page, world)
    await page.say({"watch": "queue", "since": 0})
    assert (await page.hear())["version"] == number

    item = await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="Look at <this>")

    frames = {frame["kind"]: frame for frame in [await page.hear(), await page.hear()]}
    assert set(frames) == {"thread", "row"}
    assert frames["thread"]["id"] == world.conversation.id
    [pushed] = frames["thread"]["items"]
    assert (pushed["id"], pushed["number"], pushed["version"]) == (f"item-{number + 1}", number + 1, item.version)
    assert "Look at &lt;this&gt;" in pushed["html"]
    assert (frames["row"]["id"], frames["row"]["facets"]["status"]) == (world.conversation.id, "open")
    await page.leave()


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "",
        "https://evil.example",
        "http://testserver.evil.example",
        "http://eviltestserver",
        "http://testserver:8080",
        "http://localhost",
        "http://testserver@evil.example",
        "file://testserver",
        "testserver",
    ],
)
async def test_a_socket_opened_by_another_page_is_refused_before_the_handshake(
    world: World, origin: str | None
) -> None:
    _, cookie = await in_thread(signed_in, world.sam)

    with pytest.raises(Closed, match="4403"):
        await PageSocket("/live/", cookie=cookie, origin=origin).open()

    assert not hubs.current()._sockets


async def test_no_socket_is_anywhere_else(world: World) -> None:
    _, cookie = await in_thread(signed_in, world.sam)
    for path in ("/", "/live", f"/ws/{world.fernhill.id}", "/live/../live/"):
        with pytest.raises(Closed, match="4403"):
            await PageSocket(path, cookie=cookie).open()


async def test_without_a_session_it_is_accepted_and_closed_so_that_the_page_learns_why(world: World) -> None:
    _, expired = await in_thread(signed_in, world.sam)
    await in_thread(Session.objects.update, expire_date=clock.now())
    _, removed = await in_thread(signed_in, world.kim)
    await in_thread(remove, world.kim)
    for cookie in ("", "median_session=made-up", expired, removed):
        page = await PageSocket("/live/", cookie=cookie).open()
        with pytest.raises(Closed, match="4403"):
            await page.hear()
    assert not hubs.current()._sockets


async def test_ids_of_others_and_of_nothing_are_ignored_and_counted(world: World) -> None:
    page, _ = await open_socket(world.mallory)
    for id in (world.conversation.id, "nothing", "", "\x00", "\ud800", 7, None, ["x"], {"id": world.conversation.id}):
        await page.say({"watch": "thread", "id": id, "since": 0})
    await page.say({"watch": "queue", "since": 0})

    await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="Not for Mallory")
    mine = await in_thread(threads.start, await in_thread(customer_of, world.mallory))
    await in_thread(threads.note, mine.id, by=world.mallory.actor, body="Mine")

    frame = await page.hear()
    assert (frame["kind"], frame["id"]) == ("row", mine.id)
    await page.say({"watch": "thread", "id": mine.id, "since": 0})
    while frame["kind"] == "row":
        frame = await page.hear()
    assert (frame["kind"], frame["id"]) == ("thread", mine.id)
    assert hubs.current().ignored == 9
    assert {id for _, _, id in hubs.current()._topics} == {"", mine.id}
    await page.leave()


def customer_of(teammate: Teammate):
    return teammate.workspace.customers.create(subject="someone")


@pytest.mark.parametrize(
    "text",
    [
        "", "no json", "[]", "7", "{}", '{"watch": "everything"}', '{"watch": "queue", "since": "1"}',
        '{"watch": "queue", "since": -1}', '{"watch": "queue", "since": 1.5}', '{"watch": "queue", "since": 1e400}',
        '{"watch": "queue", "since": 9223372036854775808}', "[" * 4_000,
    ],
)  # fmt: skip
async def test_senseless_frames_are_ignored_and_counted(world: World, text: str) -> None:
    page, _ = await open_socket(world.sam)

    await page.say_text(text)

    await watch(page, world)
    assert hubs.current().ignored == 1
    await page.leave()


async def test_a_frame_of_more_than_four_kilobytes_ends_it(world: World) -> None:
    page, _ = await open_socket(world.sam)
    await page.say_text(" " * sockets.FRAME_LIMIT)
    await page.say_text(" " * (sockets.FRAME_LIMIT + 1))
    with pytest.raises(Closed, match="1009"):
        await page.hear()


async def test_a_stream_of_frames_ends_it(world: World) -> None:
    page, _ = await open_socket(world.sam)
    for _ in range(200):
        await page.say({})
    with pytest.raises(Closed, match="1008"):
        await page.hear()
    assert not hubs.current()._sockets


async def test_a_removed_teammate_gets_nothing_more(world: World) -> None:
    kims, _ = await open_socket(world.kim)
    sams, _ = await open_socket(world.sam)
    number = await watch(kims, world)
    await sams.say({"watch": "thread", "id": world.conversation.id, "since": number})

    def remove_and_write() -> int:
        with transaction.atomic():
            remove(world.kim)
        return threads.note(world.conversation.id, by=world.sam.actor, body="Kim must not see this").number

    number = await in_thread(remove_and_write)

    with pytest.raises(Closed, match="4403"):
        await kims.hear()
    assert (await sams.hear())["version"] == number
    await sams.leave()


async def test_signing_out_closes_the_sockets_of_that_session_alone(world: World) -> None:
    here, client = await open_socket(world.kim)
    elsewhere, _ = await open_socket(world.kim)
    number = await watch(elsewhere, world)

    await in_thread(client.logout)

    with pytest.raises(Closed, match="4403"):
        await here.hear()
    await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="Still here")
    assert (await elsewhere.hear())["version"] == number + 1
    await elsewhere.leave()


async def test_a_new_password_is_noticed_without_a_word(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "CHECK_EVERY", 0.05)
    page, _ = await open_socket(world.kim)

    def change_password() -> None:
        world.kim.user.set_password("another horse battery")
        world.kim.user.save(update_fields=["password"])

    await in_thread(change_password)

    with pytest.raises(Closed, match="4403"):
        await page.hear()


async def test_a_quiet_line_is_not_a_dead_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "BEAT_EVERY", 0.01)
    page, _ = await open_socket(world.sam)
    assert [await page.hear(), await page.hear()] == [{"kind": "beat"}] * 2
    await page.leave()


MANY = 200  # sockets


class Line:
    """A WebSocket client on a real connection: just enough of RFC 6455 to say and hear short texts."""

    def __init__(self, port: int, *, cookie: str, origin: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._socket.sendall(
            "GET /live/ HTTP/1.1\r\nHost: testserver\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(b'0123456789abcdef').decode()}\r\n"
            f"Origin: {origin}\r\nCookie: {cookie}\r\n\r\n".encode()
        )
        self._file = self._socket.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            pass

    def say(self, frame: object) -> None:
        text = json.dumps(frame).encode()
        assert len(text) < 126
        # The mask of zeros leaves the text as it is.
        self._socket.sendall(bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text)

    def hear(self) -> tuple[int, bytes]:
        """The opcode and payload of the next frame."""
        opcode, length = self._file.read(2)
        if length > 125:
            length = int.from_bytes(self._file.read(2 if length == 126 else 8))
        return opcode & 0x0F, self._file.read(length)

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def memory_of(web: WebProcess) -> int:
    """Of a web process: what it holds of the machine's, in bytes."""
    pages = int(Path(f"/proc/{web.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_over_a_real_server(world: World, tmp_path: Path) -> None:
    _, cookie = signed_in(world.kim)
    with serving(tmp_path / "web.log") as web:
        _watch_until_stopped(world, cookie, web)


def _watch_until_stopped(world: World, cookie: str, web: WebProcess) -> None:
    foreign = Line(web.port, cookie=cookie, origin="https://evil.example")
    assert foreign.status == 403
    foreign.close()
    page = Line(web.port, cookie=cookie, origin="http://testserver")
    assert page.status == 101
    page.say({"watch": "thread", "id": world.conversation.id, "since": 0})

    item = threads.note(world.conversation.id, by=world.sam.actor, body="Over the wire " + "x" * 200)

    opcode, text = page.hear()
    assert (opcode, json.loads(text)["version"]) == (1, item.number)
    _open_many(world, cookie, web, since=item.number)
    assert page.hear()[0] == 1
    web.process.send_signal(signal.SIGTERM)
    opcode, payload = page.hear()
    assert (opcode, int.from_bytes(payload[:2])) == (8, 1012)
    page.close()
    assert web.process.wait(20) == 0


def _open_many(world: World, cookie: str, web: WebProcess, *, since: int) -> None:
    """They cost little memory each, and all of them hear the same."""
    before = memory_of(web)
    lines = [Line(web.port, cookie=cookie, origin="http://testserver") for _ in range(MANY)]
    for line in lines:
        line.say({"watch": "thread", "id": world.conversation.id, "since": since})
    threads.note(world.conversation.id, by=world.sam.actor, body="To everybody")

    assert len({line.hear() for line in lines}) == 1
    assert (memory_of(web) - before) / MANY < 150_000
    for line in lines:
        line.close()
