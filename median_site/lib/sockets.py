"""How a browser's WebSocket is served: who may open it, what it may send, how it is written to and closed. Who the
person is and what a frame means is up to the subclasses (dashboard.consumers, channels.widget_consumer)."""

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from contextlib import suppress
from typing import Final, cast
from urllib.parse import urlsplit

from asgiref.typing import (
    ASGIReceiveCallable,
    ASGISendCallable,
    WebSocketAcceptEvent,
    WebSocketCloseEvent,
    WebSocketReceiveEvent,
    WebSocketScope,
    WebSocketSendEvent,
)
from django.conf import settings
from django.http.request import split_domain_port, validate_host

from median_site.lib import hub
from median_site.lib.hub import Socket

Frame = dict[str, object]

# Close codes: ours to say "sign in again", and the standard's.
REFUSED: Final = 4403
POLICY: Final = 1008
TOO_BIG: Final = 1009

FRAME_LIMIT: Final = 9_000  # a customer's token alone may have 8 KB
# Frames that a browser may send at once, and how many a second it earns back.
BURST: Final = 30
REFILL: Final = 3.0
# Said after so many quiet seconds: a browser that hears nothing for a minute knows that the line is dead.
BEAT: Final = '{"kind":"beat"}'
BEAT_EVERY: Final = 25.0
# Seconds after which a person is checked again although nothing was said about them.
CHECK_EVERY: Final = 60.0

log = logging.getLogger(__name__)


class Closed(Exception):
    """The conversation with this browser is over; `code` is sent to it, or None when it has gone itself."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(code)


class Connection(ABC):
    """One WebSocket, from the handshake to its end. Call `serve` once."""

    def __init__(self, scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self._put_back: list[Frame] = []
        self._allowance = float(BURST)
        self._last_frame = 0.0

    @abstractmethod
    async def admit(self) -> Socket | None:
        """Whose socket this is; None refuses it. May read frames that say so. Raises Closed."""

    @abstractmethod
    async def is_still_admitted(self, socket: Socket) -> bool:
        """Whether the same person may go on."""

    @abstractmethod
    async def take(self, socket: Socket, frame: Frame) -> None:
        """Do what a frame asks. Raises ValueError when it asks for nothing that is there: it is counted and ignored."""

    async def serve(self) -> None:
        await self._receive()  # websocket.connect
        if not is_same_origin(self.scope):
            # Before the handshake ends: the other page's browser sees a 403, and no session was looked at.
            await self._close(REFUSED)
            return
        await self._send(WebSocketAcceptEvent(type="websocket.accept", subprotocol=None, headers=[]))
        try:
            await self._converse()
        except Closed as end:
            if end.code is not None:
                await self._close(end.code)

    async def _converse(self) -> None:
        socket = await self.admit()
        if socket is None:
            raise Closed(REFUSED)
        here = hub.current()
        try:
            await here.enter(socket)
            await _all_until_one_ends(self._read(socket), self._write(socket), self._check(socket))
        finally:
            await here.leave(socket)

    async def next_frame(self) -> Frame:
        """The next frame that is a JSON object. Raises Closed when the browser is gone, or sends too much."""
        while not self._put_back:
            event = await self._receive()
            if event["type"] != "websocket.receive":
                raise Closed(None)
            self._count()
            frame = _parsed(event)
            if frame is not None:
                return frame
            hub.current().ignored += 1
        return self._put_back.pop()

    def put_back(self, frame: Frame) -> None:
        """Read this frame again: it said who somebody is, and also what they want."""
        self._put_back.append(frame)

    def _count(self) -> None:
        """A bucket that leaks: bursts are normal when a page comes back, a stream of frames is not."""
        now = asyncio.get_running_loop().time()
        self._allowance = min(BURST, self._allowance + (now - self._last_frame) * REFILL) - 1
        self._last_frame = now
        if self._allowance < 0:
            raise Closed(POLICY)

    async def _read(self, socket: Socket) -> None:
        while True:
            frame = await self.next_frame()
            try:
                await self.take(socket, frame)
            except ValueError as error:
                hub.current().ignored += 1
                log.info("Ignored a frame of %s: %s", socket.person, error)

    async def _write(self, socket: Socket) -> None:
        while True:
            frame = BEAT
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_EVERY):
                    frame = await socket.frames.get()
            await socket.trusted.wait()
            await self._send(WebSocketSendEvent(type="websocket.send", text=frame, bytes=None))

    async def _check(self, socket: Socket) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(socket.doubted.wait(), CHECK_EVERY)
            # Before the look, not after it: a doubt that comes during the look must not be lost.
            socket.doubted.clear()
            if not await self.is_still_admitted(socket):
                raise Closed(REFUSED)
            if not socket.doubted.is_set():
                socket.trusted.set()

    async def _close(self, code: int) -> None:
        await self._send(WebSocketCloseEvent(type="websocket.close", code=code, reason=None))


async def refuse(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """No socket is served at this address."""
    await receive()
    await send(WebSocketCloseEvent(type="websocket.close", code=REFUSED, reason=None))


def is_same_origin(scope: WebSocketScope) -> bool:
    """Whether a page of this very host opened the socket: browsers send cookies along whoever asks, but always say who.

    No Origin, "null", another port and a look-alike are all somebody else.
    """
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    host, origin = headers.get(b"host", ""), urlsplit(headers.get(b"origin", ""))
    schemes = {"https"} if settings.HTTPS else {"http", "https"}
    name, _ = split_domain_port(host)
    return origin.scheme in schemes and origin.netloc == host and validate_host(name, settings.ALLOWED_HOSTS)


def since_of(frame: Frame) -> int:
    """The number that a page says it has. Raises ValueError when no page would say that."""
    since = frame.get("since", 0)
    if not isinstance(since, int) or not 0 <= since < 2**63:
        raise ValueError("since is no number that a page has")
    return since


def _parsed(event: WebSocketReceiveEvent) -> Frame | None:
    text = event.get("text") or ""
    if len(text) > FRAME_LIMIT or len(event.get("bytes") or b"") > FRAME_LIMIT:
        raise Closed(TOO_BIG)
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Frame, frame) if isinstance(frame, dict) else None


async def _all_until_one_ends(*works: Coroutine[object, object, None]) -> None:
    """Run them together; when one ends or raises, cancel the others and raise what it raised."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
