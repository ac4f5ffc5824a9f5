"""The teammates' socket: a session opens it, and it shows threads and the queue of that teammate's workspace."""

from importlib import import_module
from typing import Final, cast

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope
from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.backends.base import SessionBase
from django.db import DataError
from django.http import HttpRequest, parse_cookie

from conversations import access
from median_site.lib import hub
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.db import in_thread
from median_site.lib.errors import NotFound
from median_site.lib.hub import Socket
from median_site.lib.presence import typing_of
from median_site.lib.sockets import Connection, Frame, since_of
from team.access import teammate_of
from team.models import Teammate

# What a page may watch as a whole: its own name for it, and the feed's.
FEEDS: Final = {"queue": "row", "log": "log", "requests": "request"}
# And what each teammate watches of their own alone.
OWN: Final = {"notices": "notice", "assistant": "assistant"}


async def live(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """The ASGI application of /live/."""
    await TeammateConnection(scope, receive, send).serve()


class TeammateConnection(Connection):
    """Frames: {"watch": "thread", "id": ..., "since": 41}, {"watch": <a key of FEEDS or OWN>, "since": ...};
    {"here": <the thread that is watched>, "typing": "reply", "note" or ""} every few seconds, {"here": ""} when not.
    """

    async def admit(self) -> Socket | None:
        teammate = await in_thread(_signed_in, self.scope)
        if teammate is None:
            return None
        return Socket(
            workspace_id=teammate.workspace_id,
            person=teammate.id,
            name=teammate.actor.short_name,
            initials=teammate.initials,
        )

    async def is_still_admitted(self, socket: Socket) -> bool:
        teammate = await in_thread(_signed_in, self.scope)
        return teammate is not None and teammate.id == socket.person

    async def take(self, socket: Socket, frame: Frame) -> None:
        since = since_of(frame)
        feed = FEEDS.get(str(frame.get("watch")))
        if feed:
            hub.current().watch(socket, feed, since=since)
        elif own := OWN.get(str(frame.get("watch"))):
            hub.current().watch(socket, own, id=socket.person, since=since)
        elif frame.get("watch") == "thread":
            conversation_id = await in_thread(_visible, socket, str(frame.get("id")))
            hub.current().watch(socket, "thread", id=conversation_id, since=since)
            hub.current().watch(socket, "presence", id=conversation_id)
        elif frame.get("here"):
            hub.current().is_here(socket, "thread", id=str(frame["here"]), typing=typing_of(frame.get("typing")))
        elif frame.get("here") == "":
            hub.current().is_away(socket)
        else:
            raise ValueError("it asks for nothing")


def _signed_in(scope: WebSocketScope) -> Teammate | None:
    """The teammate of the handshake's session, as it is now: it may have been ended since, or the password changed."""
    cookies = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"cookie"]
    key = parse_cookie("; ".join(cookies)).get(settings.SESSION_COOKIE_NAME)
    request = HttpRequest()
    request.session = cast(SessionBase, import_module(settings.SESSION_ENGINE).SessionStore(key))
    request.user = auth.get_user(request)
    return teammate_of(request)


def _visible(socket: Socket, conversation_id: str) -> str:
    """Raises ValueError for ids of other workspaces, of nothing, and what the database cannot even compare, alike."""
    teammate = Actor(ActorKind.TEAMMATE, socket.workspace_id, id=socket.person)
    try:
        return access.conversation(teammate, conversation_id).id
    except (NotFound, DataError):
        raise ValueError("no such conversation") from None
