"""/v1/events: the log, oldest first from where the reader is."""

from typing import Annotated, cast

from ninja import Query, Router

from median_site.api import answers, gate, inputs
from median_site.api.gate import KeyRequest
from team import chain
from team.facets import Type
from team.models import Event

router = Router()


@router.get("", auth=gate.Scope("read"), summary="Read the log")
def index(
    request: KeyRequest,
    type: Annotated[Type | None, Query(description="What they are about, as on the Logs page.")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="`last` of the answer before.")] = 0,
    after_position: Annotated[
        int | None, Query(ge=0, le=2**62, description="In the chain's order, those after this place; without gaps.")
    ] = None,
    newest: Annotated[bool, Query(description="The newest ones, in place of those after `after`.")] = False,
    wait: inputs.Wait = None,
    limit: inputs.Limit = 100,
) -> answers.Events:
    """Events oldest first. With `?wait=30` the answer is held, up to so many seconds, until there is one."""
    rows = Event.objects.filter(workspace_id=request.key.workspace_id)
    rows = rows.filter(type=type) if type else rows
    if after_position is not None:
        found = list(rows.filter(position__gt=after_position).order_by("position")[:limit])
    elif newest:
        found = list(rows.order_by("-id")[:limit])[::-1]
    else:
        found = list(rows.filter(id__gt=after).order_by("id")[:limit])
    data = [cast(answers.Event, chain.shown(row)) for row in found]
    return {"data": data, "last": found[-1].id if found else after}


@router.get("/head", auth=gate.Scope("read"), summary="Where the log's chain has come to")
def head(request: KeyRequest) -> answers.Head:
    """Note it somewhere else: `median verify-log --head HASH` then tells whether everything up to it still stands.

    `dropped` is the last event that retention took away: the first one that is left follows it.
    """
    at = chain.head(request.key.workspace_id)
    dropped: answers.Place | None = (
        {"position": at.dropped_position, "hash": at.dropped_hash} if at.dropped_position else None
    )
    return {"position": at.position, "hash": at.hash if at.position else None, "dropped": dropped}
