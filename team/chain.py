"""The log's chain: an event's place in its workspace, and the hash that binds it to the event before it.

Both are given after the event was written, by whichever process holds the workspace's head: writers never wait.
"""

import logging
from datetime import UTC, datetime
from typing import Final

from django.db import connection, transaction
from django.db.models import Min

from median_site.lib import canonical_json
from median_site.lib.strict_json import Json
from team.models import ChainHead, Event
from team.signals import events_linked

logger = logging.getLogger(__name__)

BATCH: Final = 500

_PLACE: Final = """
update team_event event set position = given.position, previous_hash = given.previous_hash, hash = given.hash
from unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[]) given (id, position, previous_hash, hash)
where event.id = given.id
"""


def link_all() -> int:
    """Give events that have no place theirs, up to BATCH in each workspace; gives how many.

    Any number of processes may be at it, and any may die: an event gets one place, and no place stays empty.
    """
    linked = 0
    for workspace_id in list(Event.objects.filter(position=None).values_list("workspace_id", flat=True).distinct()):
        try:
            linked += link(workspace_id)
        except Exception:  # one workspace's trouble is not the others'
            logger.exception("Could not link the newest events of %s; trying again", workspace_id)
    return linked


def link(workspace_id: str) -> int:
    """The same for one workspace; 0 also while another process is at it."""
    with transaction.atomic():
        head = _hold(workspace_id)
        if head is None:
            return 0
        events = list(Event.objects.filter(workspace_id=workspace_id, position=None).order_by("id")[:BATCH])
        if not events:
            return 0
        for event in events:
            event.position, event.previous_hash = head.position + 1, head.hash
            event.hash = canonical_json.sha256_hex(hashed(event))
            head.position, head.hash = event.position, event.hash
        places = zip(*((event.id, event.position, event.previous_hash, event.hash) for event in events), strict=True)
        with connection.cursor() as cursor:
            cursor.execute(_PLACE, [list(column) for column in places])
        head.save(update_fields=["position", "hash"])
        events_linked.send(sender=Event, workspace_id=workspace_id, events=events)
    return len(events)


def head(workspace_id: str) -> ChainHead:
    """Where the chain has come to; position 0 where nothing is linked yet."""
    return ChainHead.objects.filter(workspace_id=workspace_id).first() or ChainHead(workspace_id=workspace_id)


def drop(workspace_id: str, *, before: datetime) -> int:
    """Retention: take away the oldest events, up to the first one that is not before this moment; gives how many.

    The head keeps the place and hash of the last of them, which the first one that is left follows.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        head = ChainHead.objects.select_for_update().filter(workspace_id=workspace_id).first()
        if head is None:
            return 0
        linked = Event.objects.filter(workspace_id=workspace_id, position__gt=head.dropped_position)
        first_kept = linked.filter(at__gte=before).aggregate(first=Min("position"))["first"] or head.position + 1
        last = linked.filter(position=first_kept - 1).first()
        if last is None:
            return 0
        cursor.execute("select set_config('median.log_retention', 'on', true)")
        gone, _ = linked.filter(position__lt=first_kept).delete()
        cursor.execute("select set_config('median.log_retention', 'off', true)")
        head.dropped_position, head.dropped_hash = first_kept - 1, last.hash
        head.save(update_fields=["dropped_position", "dropped_hash"])
    return gone


def written(event: Event) -> dict[str, Json]:
    """An event as it was written. Times are ISO 8601 in UTC; an absent thing is null."""
    return {
        "id": event.id,
        "kind": event.kind,
        "at": iso(event.at),
        "actor": {"kind": event.actor_kind, "id": event.actor_id or None, "name": event.actor_name or None},
        "conversation_id": event.conversation_id or None,
        "subject_id": event.subject_id or None,
        "tool": event.tool_name or None,
        "data": event.data,
    }


def hashed(event: Event) -> dict[str, Json]:
    """What an event's hash is the SHA-256 of, in canonical JSON. Anything more in here would break every chain."""
    return {**written(event), "position": event.position, "previous_hash": event.previous_hash or None}


def shown(event: Event) -> dict[str, Json]:
    """The event as programs get it. Place and hashes are null for the moment until it is linked."""
    return {**hashed(event), "hash": event.hash or None}


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC, with a Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _hold(workspace_id: str) -> ChainHead | None:
    """The head, locked for this transaction; None while another one has it."""
    heads = ChainHead.objects.select_for_update(skip_locked=True).filter(workspace_id=workspace_id)
    found = heads.first()
    if found is None and not ChainHead.objects.filter(workspace_id=workspace_id).exists():
        ChainHead.objects.bulk_create([ChainHead(workspace_id=workspace_id)], ignore_conflicts=True)
        found = heads.first()
    return found
