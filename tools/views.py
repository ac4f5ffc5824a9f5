"""Agent > Tools: the endpoints with how their last sync went, and the tools with their switches.

Every teammate may look; owners and admins change. A press answers with the page again, of which htmx takes the part.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Final, NamedTuple

from asgiref.sync import async_to_sync
from django.db.models import Count, OuterRef, Subquery
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from median_site.lib import clock
from team import access
from team.access import TeammateRequest, teammate_required
from team.models import Teammate
from tools import endpoints, failures, sync
from tools.models import Endpoint, Tool, ToolRun

COUNTED: Final = timedelta(days=7)


class EndpointRow(NamedTuple):
    """An endpoint with what its last sync came to; `fault` and `fix` are empty when it worked."""

    endpoint: Endpoint
    tools: int
    fault: str
    fix: str

    @property
    def state(self) -> str:
        """What the picture beside it shows."""
        return "failed" if self.fault else "synced" if self.endpoint.synced_at else "syncing"


class ToolRow(NamedTuple):
    """A tool with its schema for reading, when it last ran, and how often in the last seven days."""

    tool: Tool
    schema: str
    last_used_at: datetime | None
    runs: int


def manager_required(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Only owners and admins, and only on a page that was made for them."""

    @teammate_required
    @wraps(view)
    def guarded(request: TeammateRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        access.same_person(request)
        access.require_manager(request.teammate)
        return view(request, *args, **kwargs)

    return guarded


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@manager_required
def add(request: TeammateRequest) -> HttpResponse:
    """Add an endpoint and sync it at once. This answer alone shows its secret."""
    by = request.teammate.actor
    endpoint, secret = endpoints.add(request.POST.get("url", ""), by=by)
    async_to_sync(sync.run)(endpoint.id, by=by)
    return _page(request, added=endpoint, secret=secret)


@require_POST
@manager_required
def sync_now(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    by = request.teammate.actor
    async_to_sync(sync.run)(endpoints.find(by, endpoint_id).id, by=by)
    return redirect("tools:page")


@require_POST
@manager_required
def remove(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    endpoints.remove(endpoint_id, by=request.teammate.actor)
    return redirect("tools:page")


@require_POST
@manager_required
def switch(request: TeammateRequest, tool_name: str) -> HttpResponse:
    endpoints.switch(tool_name, by=request.teammate.actor, on=request.POST.get("on") == "1")
    return redirect("tools:page")


def _page(request: TeammateRequest, *, added: Endpoint | None = None, secret: str = "") -> HttpResponse:
    context = {
        "here": "agent",
        "may_manage": request.teammate.may_manage,
        "endpoints": _endpoint_rows(request.teammate),
        "tools": _tool_rows(request.teammate),
        "added": added,
        "secret": secret,
    }
    return render(request, "tools/page.html", context)


def _endpoint_rows(teammate: Teammate) -> list[EndpointRow]:
    rows = Endpoint.objects.filter(workspace=teammate.workspace, removed_at=None).order_by("created_at")
    present = Tool.objects.filter(workspace=teammate.workspace, present=True)
    counts = dict(present.values_list("endpoint_id").annotate(Count("id")))
    return [
        EndpointRow(
            endpoint,
            tools=counts.get(endpoint.id, 0),
            fault=failures.sentence(endpoint.failure, endpoint.failure_detail) if endpoint.failure else "",
            fix=failures.fix(endpoint.failure) if endpoint.failure else "",
        )
        for endpoint in rows
    ]


def _tool_rows(teammate: Teammate) -> list[ToolRow]:
    runs = ToolRun.objects.filter(workspace=teammate.workspace)
    newest = runs.filter(tool=OuterRef("pk")).order_by("-queued_at").values("queued_at")[:1]
    recent = runs.filter(tool__isnull=False, queued_at__gte=clock.now() - COUNTED)
    counts = dict(recent.values_list("tool_id").annotate(Count("id")))
    shown = Tool.objects.filter(workspace=teammate.workspace, present=True, endpoint__removed_at=None)
    last = dict(shown.annotate(last=Subquery(newest)).values_list("id", "last"))
    return [
        ToolRow(tool, _pretty(tool.input_schema), last[tool.id], counts.get(tool.id, 0))
        for tool in shown.select_related("endpoint").order_by("created_at", "name")
    ]


def _pretty(schema: str) -> str:
    return json.dumps(json.loads(schema), indent=2, ensure_ascii=False)
