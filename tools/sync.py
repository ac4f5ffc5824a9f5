"""Fetching an endpoint's manifest and storing what it says. A sync that fails changes no tool."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from django.db import transaction

from median_site.lib import clock, ids
from median_site.lib.actors import Actor, system
from median_site.lib.db import in_thread
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import calls, keys, manifest, signing
from tools.client import Answer, Failure, Limit, Outbound
from tools.manifest import Manifest, ManifestError, ManifestTool, RefusedTool
from tools.models import Endpoint, EndpointSync, Tool

MANIFEST_LIMIT: Final = Limit(bytes=1_000_000)
REUSED_FOR: Final = timedelta(seconds=5)
RATE_LIMIT: Final = 10  # syncs a minute and endpoint
KEPT: Final = 20
SWITCHED_ON_LIMIT: Final = 200

# code: (sentence, how to fix it)
FAILURES: Final[Mapping[str, tuple[str, str]]] = {
    "timeout": ("The endpoint did not answer in time.", "Answer within 10 seconds; a manifest waits for nothing."),
    "unreachable": ("The endpoint could not be reached.", "Check that the URL is right and the server is running."),
    "bad_status": ("The endpoint answered {detail}.", "GET on the endpoint must answer 200 with the manifest."),
    "redirected": ("The endpoint redirected, which tool calls never follow.", "Use the URL that it redirects to."),
    "too_large": ("The endpoint answered with too much to read.", "A manifest has at most 1 MB."),
    "not_json": ("The endpoint did not answer with JSON.", "Serve the manifest with the SDK, or as plain JSON."),
    "invalid_manifest": ("The manifest is not valid: {detail}", "Mend the manifest at that place."),
    "unauthorized": ("The endpoint refused the signature.", "Give the endpoint this secret, or the issuer."),
    "too_many_tools": ("The manifest has more than 100 tools.", "Split the tools over several endpoints."),
    "blocked_address": ("The endpoint's address is not public.", "Use a public address, or have its network allowed."),
    "rate_limited": ("Too many requests. Wait a moment and try again.", "At most 10 syncs a minute and endpoint."),
    "duplicate_tool": ("The manifest names a tool twice: {detail}", "Give every tool a name of its own."),
}  # fmt: skip

_flights: dict[str, asyncio.Task[EndpointSync]] = {}


def sentence(code: str, detail: str = "") -> str:
    """What the page says about a sync that failed."""
    return FAILURES[code][0].format(detail=detail)


def fix(code: str) -> str:
    """The one line on how to mend it."""
    return FAILURES[code][1]


async def run(endpoint_id: str, *, by: Actor, fresh: bool = True) -> EndpointSync:
    """Sync one endpoint now and give the outcome; concurrent callers of a process share one fetch.

    With `fresh=False` a success of the last five seconds is good enough.
    """
    if not fresh and (recent := await in_thread(_recent, endpoint_id)):
        return recent
    flight = _flights.get(endpoint_id)
    if flight is None or flight.get_loop() is not asyncio.get_running_loop():
        flight = asyncio.create_task(_run(endpoint_id, by=by))
        _flights[endpoint_id] = flight
        flight.add_done_callback(lambda _: _flights.pop(endpoint_id, None))
    return await asyncio.shield(flight)


async def run_all(workspace_id: str) -> None:
    """Bring every endpoint of a workspace up to date before a new conversation's first reply, side by side."""
    found = await in_thread(lambda: list(Endpoint.objects.filter(workspace_id=workspace_id, removed_at=None)))
    await asyncio.gather(*(run(endpoint.id, by=system(workspace_id), fresh=False) for endpoint in found))


async def _run(endpoint_id: str, *, by: Actor) -> EndpointSync:
    outbound = await in_thread(_signed, endpoint_id)
    if outbound is None:
        return await in_thread(_failed, endpoint_id, by=by, code="rate_limited", detail="")
    answer = await calls.client().send(outbound, limit=MANIFEST_LIMIT)
    return await in_thread(_store, endpoint_id, answer, by=by)


def _recent(endpoint_id: str) -> EndpointSync | None:
    since = clock.now() - REUSED_FOR
    return EndpointSync.objects.filter(endpoint_id=endpoint_id, code="", at__gte=since).order_by("-id").first()


def _signed(endpoint_id: str) -> Outbound | None:
    """The signed request, or None when the endpoint had its ten syncs of this minute."""
    endpoint = Endpoint.objects.select_related("workspace").get(id=endpoint_id)
    now = clock.now()
    if EndpointSync.objects.filter(endpoint=endpoint, at__gt=now - timedelta(minutes=1)).count() >= RATE_LIMIT:
        return None
    sync_id = ids.new_id()
    assertion = signing.assertion(
        keys.current(endpoint.workspace_id), issuer=endpoint.workspace.issuer, audience=signing.SYNC_AUDIENCE,
        subject=None, anonymous=True, call_id=sync_id, now=now,
    )  # fmt: skip
    headers = calls.headers(endpoint, sync_id, assertion, now=now, body=b"")
    headers |= {"If-None-Match": endpoint.etag} if endpoint.etag else {}
    return Outbound("GET", endpoint.url, headers, b"")


def _store(endpoint_id: str, answer: Answer | Failure, *, by: Actor) -> EndpointSync:
    if isinstance(answer, Failure):
        code = {"timed_out": "timeout", "redirected": "redirected", "too_big": "too_large",
                "blocked_address": "blocked_address"}.get(answer.kind, "unreachable")  # fmt: skip
        return _failed(endpoint_id, by=by, code=code, detail=answer.detail)
    if answer.status == 304:
        return _succeeded(endpoint_id, by=by, changes=[], fields={})
    if answer.status in {401, 403}:
        return _failed(endpoint_id, by=by, code="unauthorized", detail=str(answer.status))
    if answer.status != 200:
        return _failed(endpoint_id, by=by, code="bad_status", detail=str(answer.status))
    try:
        served = manifest.parse(answer.body)
    except ManifestError as error:
        return _failed(endpoint_id, by=by, code=error.code, detail=error.message)
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().get(id=endpoint_id)
        return store(endpoint, served, by=by, etag=answer.headers.get("etag", ""))


def store(endpoint: Endpoint, served: Manifest, *, by: Actor | None = None, etag: str = "") -> EndpointSync:
    """Make the stored tools say what this manifest says, and record it as a sync that worked."""
    changes, refused = _replace(endpoint, served.tools)
    fields: dict[str, Json] = {
        "etag": etag[:200],
        "sdk": served.sdk[:100],
        "refused": [
            {"name": tool.name, "path": tool.path, "reason": tool.reason} for tool in [*served.refused, *refused]
        ],
    }
    return _succeeded(endpoint.id, by=by or system(endpoint.workspace_id), changes=changes, fields=fields)


def _replace(endpoint: Endpoint, served: list[ManifestTool]) -> tuple[list[Json], list[RefusedTool]]:
    """Make the stored tools say what the manifest says; the switches stay. Gives what changed, and what was refused."""
    stored = {tool.name: tool for tool in Tool.objects.filter(workspace_id=endpoint.workspace_id)}
    changes: list[Json] = []
    refused: list[RefusedTool] = []
    added: list[Tool] = []
    changed: list[Tool] = []
    for tool in served:
        known = stored.get(tool.name)
        if known and known.endpoint_id != endpoint.id and known.present:
            refused.append(
                RefusedTool(tool.name, "name", "Another endpoint of this workspace serves a tool of this name.")
            )
            continue
        row = known or Tool(workspace_id=endpoint.workspace_id, name=tool.name)
        if known and known.present and known.content_hash == tool.content_hash:
            continue
        changes.append({"tool": tool.name, "change": "changed" if known and known.present else "added"})
        _fill(row, tool, endpoint)
        (changed if known else added).append(row)
    names = {tool.name for tool in served}
    gone = [row for row in stored.values() if row.endpoint_id == endpoint.id and row.present and row.name not in names]
    changes += [{"tool": row.name, "change": "gone"} for row in gone]
    Tool.objects.filter(id__in=[row.id for row in gone]).update(present=False)
    Tool.objects.bulk_create(added)
    Tool.objects.bulk_update(changed, _FILLED) if changed else None
    return changes, refused


_FILLED: Final = ["endpoint", "label", "description", "risk", "input_schema", "session_start", "requires", "extra",
                  "content_hash", "present"]  # fmt: skip


def _fill(row: Tool, served: ManifestTool, endpoint: Endpoint) -> None:
    row.endpoint, row.present = endpoint, True
    row.label, row.description, row.risk = served.label, served.description, served.risk
    row.input_schema, row.session_start, row.requires = served.input_schema, served.session_start, served.requires or ""
    row.extra, row.content_hash = served.extra, served.content_hash


def _succeeded(endpoint_id: str, *, by: Actor, changes: list[Json], fields: dict[str, Json]) -> EndpointSync:
    with transaction.atomic():
        Endpoint.objects.filter(id=endpoint_id).update(
            synced_at=clock.now(), failed_at=None, failure="", failure_detail="", **fields
        )
        return _record(endpoint_id, by=by, code="", detail="", changes=changes)


def _failed(endpoint_id: str, *, by: Actor, code: str, detail: str) -> EndpointSync:
    with transaction.atomic():
        Endpoint.objects.filter(id=endpoint_id).update(failed_at=clock.now(), failure=code, failure_detail=detail[:500])
        return _record(endpoint_id, by=by, code=code, detail=detail[:500], changes=[])


def _record(endpoint_id: str, *, by: Actor, code: str, detail: str, changes: list[Json]) -> EndpointSync:
    endpoint = Endpoint.objects.get(id=endpoint_id)
    row = EndpointSync.objects.create(
        workspace_id=endpoint.workspace_id, endpoint=endpoint, at=clock.now(), code=code, detail=detail, changes=changes
    )
    old = EndpointSync.objects.filter(endpoint=endpoint, at__lt=clock.now() - timedelta(minutes=2)).order_by("-id")
    EndpointSync.objects.filter(id__in=list(old.values_list("id", flat=True)[KEPT : KEPT + 100])).delete()
    kind = Kind.SYNC_FAILED if code else Kind.ENDPOINT_SYNCED
    events.record(kind, by=by, subject_id=endpoint.id, data={"url": endpoint.url, "code": code, "changes": changes})
    return row
