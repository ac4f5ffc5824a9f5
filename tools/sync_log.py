"""The rows of syncs: beginning one within the limit, ending it, keeping the last twenty. Nothing is fetched here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet, Subquery

from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import differences
from tools.client import DEADLINE_S
from tools.failures import SyncFailure
from tools.models import Endpoint, EndpointSync

RATE_LIMIT: Final = 10  # syncs a minute and endpoint, over all processes
MINUTE: Final = timedelta(minutes=1)
KEPT: Final = 20
REUSED_FOR: Final = timedelta(seconds=5)
# A sync that began longer ago and has not ended never will: its process died. Its fetch has ten seconds, and whoever
# waits for it here waits no longer than this.
LOST_AFTER: Final = timedelta(seconds=DEADLINE_S + 1)


@dataclass(frozen=True, slots=True)
class Begun:
    """A sync's row. `endpoint`, with its workspace, is None when the caller has nothing to fetch: the row is another
    caller's, or over the limit."""

    row: EndpointSync
    endpoint: Endpoint | None


def begin(endpoint_id: str, *, by: Actor, fresh: bool) -> Begun:
    """Take the right to sync an endpoint now. Raises NotFound for one that is removed.

    Without `fresh`, one that is under way, or that worked in the last five seconds, is good enough.
    """
    with transaction.atomic():
        locked = Endpoint.objects.select_for_update(of=["self"], no_key=True).select_related("workspace")
        endpoint = existing(locked.filter(workspace_id=by.workspace_id, id=endpoint_id, removed_at=None).first())
        newest = list(_of(endpoint).defer("changes")[:KEPT])  # twenty times what changed is a lot to read for nothing
        if not fresh and (known := _good_enough(newest)):
            return Begun(current(known.id), None)
        sent = [row.at for row in newest if row.code != "rate_limited" and row.at > clock.now() - MINUTE]
        if len(sent) >= RATE_LIMIT:
            return Begun(_over_the_limit(endpoint, newest[0], by=by), None)
        return Begun(_add(endpoint, by=by), endpoint)


def current(sync_id: int) -> EndpointSync:
    """The row as it is now."""
    return EndpointSync.objects.get(id=sync_id)


def is_lost(row: EndpointSync) -> bool:
    """Whether a sync without an end will never have one."""
    return row.ended_at is None and row.at < clock.now() - LOST_AFTER


def is_overtaken(row: EndpointSync) -> bool:
    """Whether a sync that began later has stored its manifest already: this one's is older. Under a lock."""
    later = _of(row.endpoint).filter(id__gt=row.id, code="")
    return later.exclude(ended_at=None).exists()


def succeeded(
    row: EndpointSync,
    *,
    by: Actor,
    changes: Sequence[Mapping[str, Json]] = (),
    stored: Mapping[str, Json] | None = None,
) -> EndpointSync:
    """Record that the endpoint is in step, in the caller's transaction. `stored` goes into its own row."""
    Endpoint.objects.filter(id=row.endpoint_id).update(
        synced_at=clock.now(), failed_at=None, failure="", failure_detail="", **(stored or {})
    )
    return _end(row, by=by, failure=SyncFailure(""), changes=changes)


def failed(row: EndpointSync, failure: SyncFailure, *, by: Actor) -> EndpointSync:
    """Record a sync that changed nothing, and why, in the caller's transaction."""
    if failure.code != "superseded":
        _mark_failed(row.endpoint_id, failure)
    return _end(row, by=by, failure=failure, changes=[])


def _mark_failed(endpoint_id: str, failure: SyncFailure) -> None:
    Endpoint.objects.filter(id=endpoint_id).update(
        failed_at=clock.now(), failure=failure.code, failure_detail=failure.detail[:500]
    )


def _of(endpoint: Endpoint) -> QuerySet[EndpointSync]:
    return EndpointSync.objects.filter(workspace_id=endpoint.workspace_id, endpoint=endpoint).order_by("-id")


def _good_enough(newest: list[EndpointSync]) -> EndpointSync | None:
    """The newest sync that is under way, or that worked a moment ago."""
    now = clock.now()
    for row in newest:
        under_way = row.ended_at is None and not is_lost(row)
        if under_way or (row.ended_at and not row.code and row.ended_at > now - REUSED_FOR):
            return row
    return None


def _add(endpoint: Endpoint, *, by: Actor) -> EndpointSync:
    return EndpointSync.objects.create(
        workspace_id=endpoint.workspace_id, endpoint=endpoint, at=clock.now(), by_name=by.name
    )


def _over_the_limit(endpoint: Endpoint, newest: EndpointSync, *, by: Actor) -> EndpointSync:
    """One row and one event for all that come while the minute lasts, so that the history stays worth reading."""
    limited = SyncFailure("rate_limited")
    if newest.code != limited.code or newest.at < clock.now() - MINUTE:
        return failed(_add(endpoint, by=by), limited, by=by)
    _mark_failed(endpoint.id, limited)
    return current(newest.id)


def _end(row: EndpointSync, *, by: Actor, failure: SyncFailure, changes: Sequence[Mapping[str, Json]]) -> EndpointSync:
    row.ended_at, row.code, row.detail = clock.now(), failure.code, failure.detail[:500]
    row.changes, row.summary = list(changes), differences.summary(changes)
    row.save(update_fields=["ended_at", "code", "detail", "changes", "summary"])
    oldest_kept = _of(row.endpoint).values("id")[KEPT - 1 : KEPT]
    _of(row.endpoint).filter(id__lt=Subquery(oldest_kept)).order_by().delete()
    shown: list[Json] = [{"tool": change["tool"], "change": change["change"]} for change in changes]
    events.record(
        Kind.SYNC_FAILED if failure.code else Kind.ENDPOINT_SYNCED, by=by, subject_id=row.endpoint_id,
        data={"url": row.endpoint.url, "code": failure.code, "summary": row.summary, "changes": shown},
    )  # fmt: skip
    return row
