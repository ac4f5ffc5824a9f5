"""Doorbells to browsers: one hub in a web process renders a change once and hands the same text to every socket that
watches it. Knows nothing of what is rendered (live.register) or of how a socket speaks (sockets)."""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Final, cast

from median_site.lib import layer, live
from median_site.lib.db import in_thread
from median_site.lib.live import Ask, Feed, Push
from median_site.lib.presence import Bell, Board, Typing

# Frames that wait for a slow browser, before they are dropped and it is told to ask for what it missed.
FRAMES: Final = 200
RESYNC: Final = '{"kind":"resync"}'

log = logging.getLogger(__name__)


class Socket:
    """A browser's connection, as the hub sees it: whose it is, and the frames that it has still to be sent.

    A teammate's has a first name and an avatar's letters, for the others to see.
    """

    def __init__(self, *, workspace_id: str, person: str, name: str = "", initials: str = "") -> None:
        self.workspace_id = workspace_id
        self.person = person
        self.name = name
        self.initials = initials
        self.frames: asyncio.Queue[str] = asyncio.Queue(FRAMES)
        # Nothing is sent to somebody who may have been signed out or removed, until that is known.
        self.trusted = asyncio.Event()
        self.trusted.set()
        self.doubted = asyncio.Event()

    def push(self, frame: str) -> None:
        if self.frames.full():
            while not self.frames.empty():
                self.frames.get_nowait()
            frame = RESYNC
        self.frames.put_nowait(frame)

    def doubt(self) -> None:
        self.trusted.clear()
        self.doubted.set()


class Topic:
    """One thing of a feed (or, without an id, all of it) and the sockets that watch it.

    Renders are strictly one after the other, so frames arrive in order. Each watcher's `since` is what it was sent
    last; those with the same one share a render. Whoever comes gets what it missed before anything newer.
    """

    def __init__(self, feed: Feed, workspace_id: str, id: str, board: Board) -> None:
        self._feed, self._workspace_id, self._id, self._board = feed, workspace_id, id, board
        self.watchers: dict[Socket, int] = {}
        self._behind: set[Socket] = set()
        self._rang: set[str] = set()
        self._rendering: asyncio.Task[None] | None = None

    def join(self, socket: Socket, since: int) -> None:
        self.watchers[socket] = since
        self._behind.add(socket)
        self._render_soon()

    def leave(self, socket: Socket) -> None:
        self.watchers.pop(socket, None)
        self._behind.discard(socket)

    def ring(self, id: str, version: int) -> None:
        if self._id:
            self._behind.update(socket for socket, since in self.watchers.items() if not version or since < version)
        else:
            self._rang.add(id)
        self._render_soon()

    def _render_soon(self) -> None:
        if self._rendering is None or self._rendering.done():
            self._rendering = asyncio.create_task(self._render_all())

    async def _render_all(self) -> None:
        while self._behind or self._rang:
            for id, since, sockets in self._due():
                people = frozenset(socket.person for socket in sockets)
                ask = Ask(self._workspace_id, id, since, people, self._board.scene(self._workspace_id, id))
                try:
                    pushes = await in_thread(self._feed.render, ask)
                except Exception:  # Whatever it was: nobody moved on, the next doorbell tries again.
                    log.exception("Feed %s could not be rendered", self._feed.name)
                else:
                    self._hand_out(pushes, sockets, since)

    def _due(self) -> list[tuple[str, int, list[Socket]]]:
        by_since: dict[int, list[Socket]] = defaultdict(list)
        for socket in self._behind:
            by_since[self.watchers[socket]].append(socket)
        due = [(self._id, since, sockets) for since, sockets in by_since.items()]
        due += [(id, 0, list(self.watchers)) for id in self._rang]
        self._behind, self._rang = set(), set()
        return due

    def _hand_out(self, pushes: list[Push], sockets: list[Socket], since: int) -> None:
        # Whoever left meanwhile gets nothing; whoever came anew has another `since` and its own turn.
        waiting = [socket for socket in sockets if socket in self.watchers]
        if self._id:
            waiting = [socket for socket in waiting if self.watchers[socket] == since]
        for push in pushes:
            frame = json.dumps(push.payload, ensure_ascii=False, separators=(",", ":"))
            for socket in waiting:
                if push.people is None or socket.person in push.people:
                    socket.push(frame)
                    if self._id:
                        self.watchers[socket] = push.version


class Hub:
    """Sockets and topics of one event loop. Joins a workspace's group with its first socket, leaves with its last."""

    def __init__(self) -> None:
        self._layer = layer.current()
        self._sockets: dict[str, set[Socket]] = defaultdict(set)
        self._topics: dict[tuple[str, str, str], Topic] = {}
        self._watched: dict[tuple[Socket, str], tuple[str, str, str]] = {}
        self._board = Board(tell=self._tell, changed=lambda where, thread: self._ring("presence", where, thread, 0))
        self._channel: asyncio.Task[str] = asyncio.create_task(self._layer.new_channel("hub"))
        self._listening = asyncio.create_task(self._listen())
        # Frames that asked for something foreign, unknown or senseless.
        self.ignored = 0

    async def enter(self, socket: Socket) -> None:
        is_first = not self._sockets[socket.workspace_id]
        self._sockets[socket.workspace_id].add(socket)
        await self._layer.group_add(live.group_of(socket.workspace_id), await asyncio.shield(self._channel))
        if is_first:
            self._board.join(socket.workspace_id)

    async def leave(self, socket: Socket) -> None:
        for feed in [feed for watcher, feed in self._watched if watcher is socket]:
            self.unwatch(socket, feed)
        self._board.gone(socket)
        room = self._sockets[socket.workspace_id]
        room.discard(socket)
        if not room:
            del self._sockets[socket.workspace_id]
            self._board.forget(socket.workspace_id)
            await self._layer.group_discard(live.group_of(socket.workspace_id), await asyncio.shield(self._channel))

    def watch(self, socket: Socket, feed: str, *, id: str = "", since: int = 0) -> None:
        """Send the socket what it misses since `since`, then every change, of one thing or all of the workspace's.

        One thing of a feed at a time: another `id` takes the place of the one before. That it may see `id` is the
        caller's to know.
        """
        key = (socket.workspace_id, feed, id)
        if self._watched.get((socket, feed)) != key:
            self.unwatch(socket, feed)
        self._watched[socket, feed] = key
        topic = self._topics.setdefault(key, Topic(live.feeds[feed], socket.workspace_id, id, self._board))
        topic.join(socket, since)

    def unwatch(self, socket: Socket, feed: str) -> None:
        key = self._watched.pop((socket, feed), None)
        if key is not None:
            topic = self._topics[key]
            topic.leave(socket)
            if not topic.watchers:
                del self._topics[key]

    def is_here(self, socket: Socket, feed: str, *, id: str | None = None, typing: Typing = "") -> None:
        """The socket's person looks at, or types in, what it watches of this feed, if anything.

        Raises ValueError when that is not what has this id: what is watched is what the person may see.
        """
        _, _, watched = self._watched.get((socket, feed), ("", "", ""))
        if id not in {None, watched}:
            raise ValueError("it is not watched")
        if watched:
            self._board.here(socket, watched, typing=typing)

    def is_away(self, socket: Socket) -> None:
        """The socket's person looks at something else; the page is still open."""
        self._board.gone(socket)

    def _tell(self, bells: Sequence[Bell]) -> None:
        self._layer.notify_all([(live.group_of(bell["workspace"]), dict(bell)) for bell in bells])

    async def _listen(self) -> None:
        channel = await asyncio.shield(self._channel)
        while True:
            message = await self._layer.receive(channel)
            if message["type"] == layer.RESYNC:
                self._resync()
            elif message["type"] == "presence":
                self._board.hear(cast(Bell, message))
            else:
                self._rang(message)

    def _rang(self, message: layer.Message) -> None:
        bell = cast(live.Doorbell, message)
        workspace_id, kind, id = bell["workspace"], bell["kind"], bell["id"]
        if kind == "teammate":
            for socket in self._sockets.get(workspace_id, ()):
                if socket.person == id:
                    socket.doubt()
        self._ring(kind, workspace_id, id, bell["version"])

    def _ring(self, kind: str, workspace_id: str, id: str, version: int) -> None:
        for feed in live.feeds.values():
            if kind in feed.kinds:
                for watched in (id, ""):
                    if topic := self._topics.get((workspace_id, feed.name, watched)):
                        topic.ring(id, version)

    def _resync(self) -> None:
        """Doorbells may have been lost, also those about people."""
        for sockets in self._sockets.values():
            for socket in sockets:
                socket.doubt()
                socket.push(RESYNC)


_hubs: Final[dict[asyncio.AbstractEventLoop, Hub]] = {}


def current() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        for closed in [known for known in _hubs if known.is_closed()]:
            del _hubs[closed]
        _hubs[loop] = Hub()
    return _hubs[loop]
