"""/v1/http-tools and /v1/tool-versions: tools defined in Median itself, drafted, published and brought back."""

from typing import Annotated, Any, cast

from ninja import Body, Router, Status

from median_site.api import answers, gate, listing, shapes
from median_site.api.gate import KeyRequest
from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import http_tools, tool_versions
from tools.models import HttpTool, ToolVersion

drafts = Router()
versions = Router()

Given = Annotated[dict[str, Any], Body(description="Fields of a definition.")]


@drafts.get("", auth=gate.Scope("read"), summary="List drafts by name")
def index(request: KeyRequest) -> answers.Page[answers.Draft]:
    rows = HttpTool.objects.filter(workspace_id=request.key.workspace_id).order_by("name")
    return listing.whole([_draft(row) for row in rows])


@drafts.post("", auth=gate.Scope("manage"), summary="Draft a tool", response={201: dict})
def create(request: KeyRequest, payload: Given) -> Status[answers.Draft]:
    """The body is the tool's definition. Nothing is offered to the agent before it is published."""
    return Status(201, _draft(http_tools.save(payload, by=gate.actor(request.key))))


@drafts.get("/{draft_id}", auth=gate.Scope("read"), summary="Read one draft")
def read(request: KeyRequest, draft_id: str) -> answers.Draft:
    return _draft(http_tools.find(gate.actor(request.key), draft_id))


@drafts.patch("/{draft_id}", auth=gate.Scope("manage"), summary="Change a draft")
def change(request: KeyRequest, draft_id: str, payload: Given) -> answers.Draft:
    """Fields that are left out stay as they are."""
    by = gate.actor(request.key)
    held = strict_json.loads(http_tools.find(by, draft_id).definition)
    merged = {**held, **payload} if isinstance(held, dict) else payload
    return _draft(http_tools.save(merged, by=by, draft_id=draft_id))


@drafts.delete("/{draft_id}", auth=gate.Scope("manage"), summary="Remove a draft", response={204: None})
def remove(request: KeyRequest, draft_id: str) -> Status[None]:
    """The tool leaves with the next version."""
    http_tools.remove(draft_id, by=gate.actor(request.key))
    return Status(204, None)


@versions.get("", auth=gate.Scope("read"), summary="List versions, the newest first")
def list_versions(request: KeyRequest) -> answers.Page[answers.Version]:
    rows = ToolVersion.objects.filter(workspace_id=request.key.workspace_id).order_by("-number")[:100]
    return listing.whole([_version(row) for row in rows])


@versions.post("", auth=gate.Scope("manage"), summary="Publish the drafts as a new version", response={201: dict})
def publish(request: KeyRequest) -> Status[answers.Version]:
    """New conversations take it; open ones keep theirs."""
    return Status(201, _version(tool_versions.publish(by=gate.actor(request.key))))


@versions.post("/{number}/restore", auth=gate.Scope("manage"), summary="Publish an older one", response={201: dict})
def restore(request: KeyRequest, number: int) -> Status[answers.Version]:
    return Status(201, _version(tool_versions.restore(number, by=gate.actor(request.key))))


def _draft(row: HttpTool) -> answers.Draft:
    definition = strict_json.loads(row.definition)
    shown = {"id": row.id, "changed_at": shapes.at(row.changed_at)} | cast(dict[str, Json], definition)
    return cast(answers.Draft, shown)


def _version(row: ToolVersion) -> answers.Version:
    return {
        "number": row.number,
        "published_at": shapes.at(row.published_at),
        "published_by": row.by_name or None,
        "restored_from": row.restored_from,
        "tools": strict_json.loads(row.definitions),
    }
