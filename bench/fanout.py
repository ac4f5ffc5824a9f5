"""One change to two hundred open tabs, until the last has it, beside a bare Channels `group_send` of the same bytes.

The tabs are those of one thread, at one web process; the bare server is one process too, and the same daphne. It writes
nothing, so what it is compared with begins at the commit of the change; the time from the press has the write in it.
`bin/bench fanout 50` opens another number of tabs.
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import harness

harness.prepare()

from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402

from bench._tabs import Tab  # noqa: E402
from conversations import threads  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from team.models import Teammate  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.web_process import serving  # noqa: E402

TABS = 200
N = 40
WARM_UP = 5
SAID = "Your order **ORD-1042** left our warehouse this morning. " * 8


@contextmanager
def bare_server(folder: Path) -> Iterator[int]:
    """The port of daphne with nothing but the bare consumer."""
    with socket.create_server(("127.0.0.1", 0)) as door, (folder / "bare.log").open("wb") as log:
        command = [sys.executable, "-m", "median_site.serve", "--app", "bench._bare_fanout:application"]
        with subprocess.Popen(
            [*command, "--fd", str(door.fileno())], pass_fds=[door.fileno()], stdout=log, stderr=log
        ) as process:
            try:
                yield door.getsockname()[1]
            finally:
                process.terminate()


async def opened(count: int, port: int, path: str, *, cookie: str = "") -> list[Tab]:
    return [await Tab.open(port, path, cookie=cookie) for _ in range(count)]


async def heard(tabs: Sequence[Tab], kind: str) -> set[bytes]:
    """The next frame of this kind at every tab."""

    async def next_of(tab: Tab) -> bytes:
        while True:
            frame = await tab.hear()
            if frame.startswith(b'{"kind":"%s"' % kind.encode()):
                return frame

    return set(await asyncio.gather(*map(next_of, tabs)))


async def until_the_last(tabs: Sequence[Tab], change: Callable[[], Awaitable[float]]) -> tuple[float, float, bytes]:
    """Seconds from before the change and from after it to the last tab, and the one frame that all of them got."""
    hearing = asyncio.create_task(heard(tabs, "thread"))
    await asyncio.sleep(0.05)  # until all of them listen, and nothing else is on the way
    began = time.perf_counter()
    done = await change()
    (frame,) = await hearing  # the very same bytes: one render
    ended = time.perf_counter()
    return ended - began, ended - done, frame


def cookie_of(teammate: Teammate) -> str:
    client = Client()
    client.force_login(teammate.user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def measure(world: worlds.World, *, port: int, bare_port: int, count: int) -> None:
    thread_id = world.conversation.id
    tabs = await opened(count, port, "/live/", cookie=await in_thread(cookie_of, world.kim))
    for tab in tabs:
        tab.say(json.dumps({"watch": "thread", "id": thread_id, "since": 0}))
    await heard(tabs, "thread")  # what the thread had: from now on they get what changes
    bare_tabs = await opened(count, bare_port, "/")
    speaker = bare_tabs[0]
    number = 0

    def reply() -> float:
        threads.reply(thread_id, by=world.sam.actor, body=f"{number}. {SAID}")
        return time.perf_counter()

    async def change() -> float:
        return await in_thread(reply)

    whole, pushed, bare = [], [], []
    for number in range(WARM_UP + N):
        from_press, from_commit, frame = await until_the_last(tabs, change)

        async def say(said: str = frame.decode()) -> float:
            speaker.say(said)
            return time.perf_counter()

        plain, _, _ = await until_the_last(bare_tabs, say)
        if number >= WARM_UP:
            whole.append(from_press)
            pushed.append(from_commit)
            bare.append(plain)
    for tab in tabs + bare_tabs:
        tab.close()
    harness.report(f"group_send to {count} sockets, bare Channels", bare, bytes=len(frame))
    ratio = harness.ratio_of(pushed, bare)
    harness.report(f"a change to {count} tabs, from its commit, against that", pushed, ratio=ratio, bytes=len(frame))
    harness.report("the same from the press, with the write", whole)


def main(count: int) -> None:
    world = worlds.build()
    threads.take_over(world.conversation.id, by=world.sam.actor)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "web.log"
        with serving(log, MEDIAN_DATABASE_POOL="1") as web, bare_server(Path(folder)) as bare_port:
            asyncio.run(measure(world, port=web.port, bare_port=bare_port, count=count))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TABS)
