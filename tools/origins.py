"""Connections to one server, kept for the next call. What a call is, and where it may go, is elsewhere."""

import ssl
from collections.abc import Callable, Sequence
from typing import Final, Self

import httpcore

from median_site.lib.env import Network
from tools.addresses import PinnedBackend

CONNECTIONS: Final = 32  # of one pool; when all are taken, the origin gets another pool: no call waits for another
IDLE_CONNECTIONS: Final = 10
IDLE_S: Final = 60.0  # after which an origin's connections are closed

Key = tuple[bytes, bytes, int | None, int]  # scheme, host, port, number of the pool


class Origin:
    """A pool of connections to one scheme, host and port. It is small: a pool slows down with the square of its calls.

    The origin's first pool has the number 0; others are made while all before them are full. `retire` is called when
    the server begins to leave: it answers what it took, and nothing new.
    """

    def __init__(
        self, key: Key, ssl_context: ssl.SSLContext, allowed: Sequence[Network], *, retire: Callable[[Self], None]
    ) -> None:
        self.key = key
        self.calls = 0
        self.used_at = 0.0
        self.pool = httpcore.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_connections=CONNECTIONS,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_S,
            http2=True,
            network_backend=PinnedBackend(
                allowed_networks=allowed, private_only=key[0] == b"http", leaves=lambda: retire(self)
            ),
        )

    async def respond(self, request: httpcore.Request) -> httpcore.Response:
        try:
            return await self.pool.handle_async_request(request)
        except ValueError as error:  # a status of HTTP/2 that is no number
            raise httpcore.RemoteProtocolError(str(error)) from error

    async def drop_leftovers(self) -> None:
        """Close idle connections that hold more than their answer: the next call would take the rest for its own."""
        for connection in self.pool.connections:
            state = getattr(getattr(connection, "_connection", None), "_h11_state", None)
            if state is not None and connection.is_idle() and state.trailing_data[0]:
                await connection.aclose()
