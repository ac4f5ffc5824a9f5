"""The customer's socket: a session token opens it, and it shows that customer's own conversation and no other."""

import asyncio
from typing import Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope

from conversations.channels import widget_session
from median_site.lib import hub
from median_site.lib.db import in_thread
from median_site.lib.errors import DomainError
from median_site.lib.hub import Socket
from median_site.lib.sockets import REFUSED, Closed, Connection, Frame

# Seconds that a socket may stay open without having said whose it is.
PATIENCE: Final = 10.0


async def live(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The ASGI application of /widget/live/."""
    await CustomerConnection(scope, receive, send).serve()


class CustomerConnection(Connection):
    """Frames: {"token": ..., "since": 12}; again with a newer token, or after the first message began a conversation."""

    _first: Frame
    _token: str

    async def admit(self) -> Socket | None:
        try:
            async with asyncio.timeout(PATIENCE):
                self._first = await self.next_frame()
        except TimeoutError:
            return None
        self._token = str(self._first.get("token"))
        found = await in_thread(_session, self._token)
        return Socket(workspace_id=found[0], person=found[1]) if found else None

    async def begin(self, socket: Socket) -> None:
        await self.take(socket, self._first)

    async def is_still_admitted(self, socket: Socket) -> bool:
        return await in_thread(_session, self._token) == (socket.workspace_id, socket.person)

    async def take(self, socket: Socket, frame: Frame) -> None:
        since = frame.get("since", 0)
        if not isinstance(since, int):
            raise ValueError("since is not a number")
        self._token = str(frame.get("token"))
        if not await self.is_still_admitted(socket):
            raise Closed(REFUSED)
        conversation_id = await in_thread(_conversation, self._token)
        if conversation_id:
            hub.current().watch(socket, "widget", id=conversation_id, since=since)


def _session(token: str) -> tuple[str, str] | None:
    """The workspace and the person that a token is for, if it is good now. Writes nothing about the person."""
    try:
        session = widget_session.open_session(token)
    except DomainError:
        return None
    standing = "anonymous" if session.said.anonymous else "verified"
    return session.workspace.id, f"{standing}:{session.said.subject}"


def _conversation(token: str) -> str:
    """The conversation that the widget shows, or empty before the first message."""
    customer = widget_session.known_customer(widget_session.open_session(token))
    conversation = widget_session.conversation_of(customer) if customer else None
    return conversation.id if conversation else ""
