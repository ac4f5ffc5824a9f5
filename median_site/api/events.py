"""/v1/events: the log, oldest first from where the reader is."""

from typing import Annotated, Final

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
    after: Annotated[int, Query(ge=0, le=2**62, description="The last id you have.")] = 0,
    limit: inputs.Limit = 100,
) -> Json:
    """Events after the id `after`, oldest first; keep the last id for the next time."""
    rows = Event.objects.filter(workspace_id=request.key.workspace_id, id__gt=after).order_by("id")
    if type:
        rows = rows.filter(kind__in=[kind for kind in Kind if kind.startswith(PREFIXES[type])])
    data: list[Json] = [shapes.event(row) for row in rows[:limit]]
    return {"data": data, "next_cursor": None}
