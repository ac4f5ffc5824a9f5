"""HTTP/1.1 connections to one origin, as many at once as there are requests. Not known here is what is asked over them.

httpcore, the engine under httpx, is used bare: its pool goes through all of its connections for each request, which at
500 in flight takes longer than everything else.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpcore
import httpx

# As many as an agent process has turns: between two steps of theirs nobody connects anew.
IDLE: Final = 500
IDLE_S: Final = 5.0


class Connections:
    """Opens what it needs and keeps it for a while. Never sends anything twice; every deadline is the caller's."""

    def __init__(self, url: httpx.URL) -> None:
        self._origin = httpcore.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        ).origin  # fmt: skip
        self._ssl = httpx.create_ssl_context(trust_env=False) if url.scheme == "https" else None
        self._idle: deque[httpcore.AsyncHTTPConnection] = deque()  # the longest idle first

    @asynccontextmanager
    async def send(self, request: httpcore.Request) -> AsyncIterator[httpcore.Response]:
        """The response, whose body is still to be read; what is left unread goes with its connection."""
        connection = await self._take()
        try:
            response = await connection.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            await self._put_back(connection)

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()

    async def _take(self) -> httpcore.AsyncHTTPConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore.AsyncHTTPConnection(self._origin, ssl_context=self._ssl, keepalive_expiry=IDLE_S)

    async def _put_back(self, connection: httpcore.AsyncHTTPConnection) -> None:
        while self._idle and self._idle[0].has_expired():
            await self._idle.popleft().aclose()
        if connection.is_idle() and not _holds_more(connection) and len(self._idle) < IDLE:
            self._idle.append(connection)
        else:
            await connection.aclose()


def _holds_more(connection: httpcore.AsyncHTTPConnection) -> bool:
    """Whether more came than the answer: the next request would take the rest for its own."""
    state = getattr(getattr(connection, "_connection", None), "_h11_state", None)
    return state is None or bool(state.trailing_data[0])
