"""A page's WebSocket in tests: the ASGI application below it is ours, the frames are those of a browser."""

import json
from typing import Self

from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.test import Client

from median_site.asgi import application
from team.models import Teammate

Frame = dict[str, object]
WITHIN_S = 10


class Closed(Exception):
    """The server closed the socket, with this code."""


class PageSocket:
    """Opened by a page of this host unless `origin` says otherwise (None: no such header)."""

    def __init__(self, path: str, *, cookie: str = "", origin: str | None = "http://testserver") -> None:
        headers = [(b"host", b"testserver"), (b"cookie", cookie.encode())]
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        self._line = ApplicationCommunicator(application, {"type": "websocket", "path": path, "headers": headers})

    async def open(self) -> Self:
        """Raises Closed when refused before the handshake ends."""
        await self._line.send_input({"type": "websocket.connect"})
        event = await self._line.receive_output(WITHIN_S)
        if event["type"] == "websocket.close":
            raise Closed(event["code"])
        assert event["type"] == "websocket.accept"
        return self

    async def say(self, frame: object) -> None:
        await self.say_text(json.dumps(frame))

    async def say_text(self, text: str) -> None:
        await self._line.send_input({"type": "websocket.receive", "text": text})

    async def hear(self) -> Frame:
        """The next frame. Raises Closed when the server closes instead."""
        event = await self._line.receive_output(WITHIN_S)
        if event["type"] == "websocket.close":
            raise Closed(event["code"])
        frame: Frame = json.loads(event["text"])
        return frame

    async def leave(self) -> None:
        await self._line.send_input({"type": "websocket.disconnect", "code": 1001})
        await self._line.wait(WITHIN_S)


def signed_in(teammate: Teammate) -> tuple[Client, str]:
    """A browser that signed in, and its Cookie header."""
    client = Client()
    client.force_login(teammate.user)
    return client, f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
