"""/v1/events: the log, oldest first from where the reader is."""

from typing import Annotated, Final

from django.db.models import QuerySet
from ninja import Query, Router

from median_site.api import gate, inputs, shapes
from median_site.api.gate import KeyRequest
from median_site.lib.strict_json import Json
from team.events import Kind
from team.models import Event

router = Router()
PREFIXES: Final = {"tools": ("approval.", "run.", "tool.", "endpoint."), "conversations": ("conversation.", "message.")}


@router.get("", auth=gate.scope("read"), summary="Read the log")
def index(
    request: KeyRequest,
    type: Annotated[str | None, Query(pattern="^(tools|conversations)$")] = None,
    after: Annotated[int, Query(ge=0, le=2**62, description="`last` of the answer before.")] = 0,
    newest: Annotated[bool, Query(description="The newest ones, in place of those after `after`.")] = False,
    limit: inputs.Limit = 100,
) -> Json:
    """Events oldest first. With `?wait=30` the answer is held, up to so many seconds, until there is one."""
    rows = of_type(Event.objects.filter(workspace_id=request.key.workspace_id), type)
    found = (
        list(rows.order_by("-id")[:limit])[::-1] if newest else list(rows.filter(id__gt=after).order_by("id")[:limit])
    )
    data: list[Json] = [shapes.event(row) for row in found]
    return {"data": data, "last": found[-1].id if found else after}


def of_type(rows: "QuerySet[Event]", type: str | None) -> "QuerySet[Event]":
    """The rows of one of the types that the log may be read by."""
    return rows.filter(kind__in=[kind for kind in Kind if kind.startswith(PREFIXES[type])]) if type else rows
