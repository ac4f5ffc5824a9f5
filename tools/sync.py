"""Fetching an endpoint's manifest. A sync that fails changes no tool; storing what came is in tools.storing."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Final, TypeVar

from django.db import transaction

from median_site.lib import clock, ids, live
from median_site.lib.actors import Actor, system
from median_site.lib.db import in_thread
from median_site.lib.errors import NotFound
from tools import calls, failures, keys, mcp_session, roster, signing, storing, sync_log
from tools.client import Answer, Limit, Outbound
from tools.failures import SyncFailure, Unchanged
from tools.manifest import Manifest
from tools.mcp_session import McpCall
from tools.models import Endpoint, EndpointKind, EndpointSync
from tools.sync_log import Begun

T = TypeVar("T")

logger = logging.getLogger(__name__)

MANIFEST_LIMIT: Final = Limit(bytes=1_000_000)
# The hourly check passes over endpoints that were in step so shortly ago.
FRESH_FOR: Final = timedelta(minutes=30)
POLL_S: Final = 0.1

# What is under way and may be shared, by an endpoint's or a workspace's id.
_flights: dict[str, asyncio.Task[EndpointSync]] = {}
_rounds: dict[str, asyncio.Task[None]] = {}


async def run(endpoint_id: str, *, by: Actor, fresh: bool = True) -> EndpointSync:
    """Sync one endpoint and give the outcome, within about ten seconds. Raises NotFound for one that is removed.

    With `fresh=False` one that is under way anywhere, or that worked in the last five seconds, is good enough.
    """
    if fresh:
        return await _run(endpoint_id, by=by, fresh=True)
    return await _shared(_flights, endpoint_id, lambda: _run(endpoint_id, by=by, fresh=False))


async def run_all(workspace_id: str) -> None:
    """Bring every endpoint of a workspace up to date before a new conversation's first reply, side by side.

    One that breaks keeps neither the others nor the reply. Conversations that start together share it.
    """
    await _shared(_rounds, workspace_id, lambda: _run_all(workspace_id))


async def _run_all(workspace_id: str) -> None:
    found = await in_thread(lambda: list(Endpoint.objects.filter(workspace_id=workspace_id, removed_at=None)))
    by = system(workspace_id)
    came = await asyncio.gather(*(run(row.id, by=by, fresh=False) for row in found), return_exceptions=True)
    for error in came:
        if isinstance(error, BaseException) and not isinstance(error, NotFound):
            logger.error("A sync broke", exc_info=error)


def ask_all() -> int:
    """Ask for a sync of every endpoint that was not in step lately; the agent process does them. Gives how many."""
    lately = clock.now() - FRESH_FOR
    rows = Endpoint.objects.filter(removed_at=None).exclude(synced_at__gt=lately).exclude(failed_at__gt=lately)
    asked = rows.update(sync_due_at=clock.now())
    if asked:
        live.wake("agent")
    return asked


def claim_due(*, limit: int) -> list[tuple[str, str]]:
    """Take up to `limit` syncs that were asked for, as (workspace id, endpoint id); each goes to one process."""
    with transaction.atomic():
        due = Endpoint.objects.filter(sync_due_at__isnull=False).select_for_update(skip_locked=True, no_key=True)
        taken = list(due.order_by("sync_due_at").values_list("workspace_id", "id")[:limit])
        if taken:
            Endpoint.objects.filter(id__in=[endpoint_id for _, endpoint_id in taken]).update(sync_due_at=None)
    return taken


async def run_due(workspace_id: str, endpoint_id: str) -> None:
    """Do a sync that was claimed; of an endpoint that is gone by now nothing."""
    try:
        await run(endpoint_id, by=system(workspace_id), fresh=False)
    except NotFound:
        logger.info("Endpoint %s was removed before its sync", endpoint_id)


async def settle() -> None:
    """Wait for the shared syncs that are under way, each of which ends within its deadline."""
    await asyncio.gather(*_rounds.values(), *_flights.values(), return_exceptions=True)


def store(endpoint: Endpoint, served: Manifest) -> EndpointSync:
    """Store a manifest that was not fetched, as a sync of its own: the demo's and the tests'."""
    by = system(endpoint.workspace_id)
    with transaction.atomic():
        roster.lock(endpoint.workspace_id)
        begun = sync_log.begin(endpoint.id, by=by, fresh=True)
        return storing.store(endpoint, served, row=begun.row, by=by)


async def _shared(under_way: dict[str, asyncio.Task[T]], id: str, start: Callable[[], Coroutine[None, None, T]]) -> T:
    task = under_way.get(id)
    if task is None or task.get_loop() is not asyncio.get_running_loop():
        task = asyncio.create_task(start())
        under_way[id] = task
        task.add_done_callback(lambda _: under_way.pop(id, None))
    return await asyncio.shield(task)


async def _run(endpoint_id: str, *, by: Actor, fresh: bool) -> EndpointSync:
    begun, outbound = await in_thread(_begin, endpoint_id, by=by, fresh=fresh)
    if outbound is None:
        return await _ended(begun.row)
    if isinstance(outbound, McpCall):
        listed = await mcp_session.list_tools(calls.client(), outbound, limit=MANIFEST_LIMIT)
        return await in_thread(_end, begun.row, outbound.url, listed, by=by)
    answer = await calls.client().send(outbound, limit=MANIFEST_LIMIT)
    read = failures.read(answer, conditional="If-None-Match" in outbound.headers)
    etag = answer.headers.get("etag", "") if isinstance(answer, Answer) else ""
    return await in_thread(_end, begun.row, outbound.url, read, by=by, etag=etag)


async def _ended(row: EndpointSync) -> EndpointSync:
    """The outcome of a sync that another process may still be at; as it is when that process is lost."""
    while row.ended_at is None and not sync_log.is_lost(row):
        await asyncio.sleep(POLL_S)
        row = await in_thread(sync_log.current, row.id)
    return row


def _begin(endpoint_id: str, *, by: Actor, fresh: bool) -> tuple[Begun, Outbound | None]:
    begun = sync_log.begin(endpoint_id, by=by, fresh=fresh)
    return begun, _signed(begun.endpoint) if begun.endpoint else None


def _signed(endpoint: Endpoint) -> Outbound:
    now, sync_id = clock.now(), ids.new_id()
    assertion = signing.assertion(
        keys.current(endpoint.workspace_id), issuer=endpoint.workspace.issuer, audience=signing.SYNC_AUDIENCE,
        subject=None, anonymous=True, call_id=sync_id, now=now,
    )  # fmt: skip
    if endpoint.kind == EndpointKind.MCP:
        return McpCall("POST", endpoint.url, calls.mcp_headers(endpoint, sync_id, assertion))
    headers = calls.headers(endpoint, sync_id, assertion, now=now, body=b"")
    headers |= {"If-None-Match": endpoint.etag} if endpoint.etag else {}
    return Outbound("GET", endpoint.url, headers, b"")


def _end(
    row: EndpointSync, url: str, read: Manifest | Unchanged | SyncFailure, *, by: Actor, etag: str = ""
) -> EndpointSync:
    with transaction.atomic():
        roster.lock(row.workspace_id)
        endpoint = Endpoint.objects.select_for_update(no_key=True).get(id=row.endpoint_id)
        if endpoint.url != url or endpoint.removed_at is not None:
            read = SyncFailure("superseded")
        elif sync_log.is_overtaken(row):
            read = Unchanged()  # what is stored is newer than what came
        if isinstance(read, SyncFailure):
            return sync_log.failed(row, read, by=by)
        if isinstance(read, Unchanged):
            return sync_log.succeeded(row, by=by)
        return storing.store(endpoint, read, row=row, by=by, etag=etag)
