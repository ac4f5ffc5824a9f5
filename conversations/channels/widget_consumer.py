"""The customer's socket: a session token opens it, and it shows that customer's own conversation and no other."""

import asyncio
from dataclasses import dataclass
from typing import Final

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope

from conversations.channels import widget_pushes, widget_session
from median_site.lib import hub
from median_site.lib.db import in_thread
from median_site.lib.errors import DomainError
from median_site.lib.hub import Socket
from median_site.lib.sockets import REFUSED, Closed, Connection, Frame, since_of

# Seconds that a socket may stay open without having said whose it is.
PATIENCE: Final = 10.0


async def live(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The ASGI application of /widget/live/."""
    await CustomerConnection(scope, receive, send).serve()


@dataclass(frozen=True, slots=True)
class Opened:
    """What a token opens: a person of a workspace, and the conversation they see (empty before their first message).

    `since` says which conversation that is, to hear of a newer one.
    """

    workspace_id: str
    person: str
    conversation_id: str
    since: int

    def is_for(self, socket: Socket) -> bool:
        return (self.workspace_id, self.person) == (socket.workspace_id, socket.person)


class CustomerConnection(Connection):
    """Frames: {"token": ..., "since": 12}; again with a newer token, or once the first message began a conversation.

    {"typing": true} every few seconds while the customer types, and {"typing": false}.
    """

    _token: str

    async def admit(self) -> Socket | None:
        try:
            async with asyncio.timeout(PATIENCE):
                frame = await self.next_frame()
        except TimeoutError:
            return None
        self._token = str(frame.get("token"))
        opened = await in_thread(_open, self._token)
        if opened is None:
            return None
        self.put_back(frame)
        return Socket(workspace_id=opened.workspace_id, person=opened.person)

    async def is_still_admitted(self, socket: Socket) -> bool:
        opened = await in_thread(_open, self._token)
        return opened is not None and opened.is_for(socket)

    async def take(self, socket: Socket, frame: Frame) -> None:
        if "typing" in frame:
            hub.current().is_here(socket, "widget", typing="reply" if frame["typing"] is True else "")
            return
        since = since_of(frame)
        token = str(frame.get("token"))
        opened = await in_thread(_open, token)
        if opened is None or not opened.is_for(socket):
            raise Closed(REFUSED)
        self._token = token
        hub.current().watch(socket, "widget-newest", id=socket.person, since=opened.since)
        if opened.conversation_id:
            hub.current().watch(socket, "widget", id=opened.conversation_id, since=since)
            hub.current().watch(socket, "widget-presence", id=opened.conversation_id)


def _open(token: str) -> Opened | None:
    """None when the token is not good now. Nothing is written down about somebody who only looks."""
    try:
        session = widget_session.open_session(token)
    except DomainError:
        return None
    conversation = widget_session.newest(session.workspace.id, person=session.person)
    if conversation is None:
        return Opened(session.workspace.id, session.person, "", 0)
    return Opened(session.workspace.id, session.person, conversation.id, widget_pushes.since(conversation))
