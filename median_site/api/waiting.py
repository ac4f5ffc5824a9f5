"""`?wait=30`: an answer that is held until the request or the run changes. Waiting holds no thread and decides nothing.

It stands before Django: when the wait is over, the request goes on to it as if it had just come, limits included.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qs

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGIReceiveEvent, ASGISendCallable, HTTPScope

from approvals.models import OPEN, ToolApproval
from median_site.lib import clock, live
from median_site.lib.db import in_thread
from team import api_keys
from team.api_keys import Unauthorized
from team.facets import Type
from team.models import ApiKey, Event
from tools.models import RunState, ToolRun

LONGEST_S: Final = 60
# A lost doorbell costs no more than this.
LOOK_EVERY_S: Final = 15.0
# An event gets its position without a bell.
LINKED_WITHIN_S: Final = 1.0

_PATH: Final = re.compile(r"/v1/(?:tool-(approvals|runs)/([A-Za-z0-9_]{1,64})|(events))")


@dataclass(frozen=True, slots=True)
class Wait:
    """What is waited for: a row's next status; or an event after the one whose id, or position, is `id`, of the type
    `status` if there is one.

    Doorbells about another conversation than `conversation_id` are of no interest; an empty one means that all are.
    A key that is revoked ends it too.
    """

    kind: str
    id: str
    key_id: str
    workspace_id: str
    conversation_id: str = ""
    status: str = ""
    by: str = "id"


def holding(pages: ASGI3Application) -> ASGI3Application:
    """The application, with `?wait=` before it."""

    async def application(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        seconds = _seconds(scope)
        if seconds and (wait := await in_thread(_begin, scope)):
            first = await receive()
            # A GET has no more than one part: what comes next is its end.
            gone = asyncio.create_task(_next(receive))
            try:
                if first["type"] == "http.disconnect" or await _hold(wait, seconds, gone):
                    return
            finally:
                gone.cancel()
            await pages(scope, _Again(first), send)
            return
        await pages(scope, receive, send)

    return application  # type: ignore[return-value]  # it is given HTTP requests only


async def until_changed(kind: Literal["approvals", "runs"], id: str, *, key: ApiKey, seconds: float) -> None:
    """The same for whoever has no GET: return once the row changed or the key was revoked, or when the time is up.

    Of a row that is not the key's, or that changes no more, at once.
    """
    if seconds and (wait := await in_thread(_wait_for, kind, id, key)):
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, LONGEST_S)):
                await _watch(wait)


async def _next(receive: ASGIReceiveCallable) -> ASGIReceiveEvent:
    return await receive()


class _Again:
    """Gives Django what has been received already, and then nothing: the wait has heard whatever came after."""

    def __init__(self, first: ASGIReceiveEvent) -> None:
        self._first: ASGIReceiveEvent | None = first

    async def __call__(self) -> ASGIReceiveEvent:
        first, self._first = self._first, None
        return first or await asyncio.get_running_loop().create_future()


def _seconds(scope: HTTPScope) -> float:
    """How long to hold, 0 for not at all: a value that is no number is left to the operation to ignore."""
    if scope["method"] != "GET" or not _PATH.fullmatch(scope["path"]):
        return 0
    given = parse_qs(scope["query_string"].decode("latin-1")).get("wait", [""])[0]
    return min(float(given), LONGEST_S) if given.isascii() and given.isdigit() else 0


def _begin(scope: HTTPScope) -> Wait | None:
    """None when there is nothing to wait for; Django then gives the answer, or the error."""
    match = _PATH.fullmatch(scope["path"])
    authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    try:
        key = api_keys.find(authorization.decode("latin-1"))
    except Unauthorized:
        return None
    kind, row_id, events = match.groups() if match else ("", "", "")
    if events:
        return _wait_for_event(parse_qs(scope["query_string"].decode("latin-1")), key)
    return _wait_for(kind, row_id, key)


def _wait_for_event(asked: Mapping[str, list[str]], key: ApiKey) -> Wait | None:
    by = "position" if "after_position" in asked else "id"
    after = asked.get("after_position" if by == "position" else "after", ["0"])[-1]
    kind = asked.get("type", [""])[-1]
    if "newest" in asked or not (after.isascii() and after.isdigit()) or kind not in {"", *Type}:
        return None
    wait = Wait("events", after, key.id, key.workspace_id, status=kind, by=by)
    return None if _has_changed(wait) else wait


def _wait_for(kind: str, row_id: str, key: ApiKey) -> Wait | None:
    if kind == "approvals":
        approval = ToolApproval.objects.filter(workspace_id=key.workspace_id, id=row_id).first()
        if approval is None or approval.state_at(clock.now()) not in OPEN:
            return None
        return Wait(kind, row_id, key.id, key.workspace_id, approval.conversation_id, approval.state)
    run = ToolRun.objects.filter(workspace_id=key.workspace_id, id=row_id).first()
    if run is None or run.is_over:
        return None
    return Wait(kind, row_id, key.id, key.workspace_id, run.conversation_id or "", run.state)


async def _hold(wait: Wait, seconds: float, gone: "asyncio.Task[ASGIReceiveEvent]") -> bool:
    """Hold until it changed or the time is up. True when nobody waits any more."""
    watching = asyncio.create_task(_watch(wait))
    try:
        await asyncio.wait((watching, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return gone.done() and not watching.done()
    finally:
        watching.cancel()


async def _watch(wait: Wait) -> None:
    every = LINKED_WITHIN_S if wait.by == "position" else LOOK_EVERY_S
    async with aclosing(live.bells(live.group_of(wait.workspace_id), every=every)) as bells:
        if await in_thread(_has_changed, wait):
            return
        async for bell in bells:
            about_it = not wait.conversation_id or bell.get("id") in {wait.conversation_id, None}
            about_it = about_it or bell.get("kind") == "event"  # of no conversation: it may be the key's end
            if about_it and await in_thread(_has_changed, wait):
                return


def _has_changed(wait: Wait) -> bool:
    if not api_keys.is_good(wait.key_id):
        return True
    if wait.kind == "approvals":
        row = ToolApproval.objects.filter(id=wait.id).first()
        return row is None or row.state_at(clock.now()) != wait.status
    if wait.kind == "events":
        later = {f"{wait.by}__gt": min(int(wait.id), 2**62)}
        rows = Event.objects.filter(workspace_id=wait.workspace_id, **later)
        return (rows.filter(type=wait.status) if wait.status else rows).exists()
    states = [RunState.COMPLETED, RunState.FAILED]
    return ToolRun.objects.filter(id=wait.id, state__in=states).exists()
