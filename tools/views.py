"""Agent > Tools: the page, and what is done to endpoints and signing keys.

Every teammate may look; owners and admins change. A press answers with the page or the drawer again, of which htmx
takes the part.
"""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team.access import TeammateRequest, manager_required, teammate_required
from tools import calls, endpoints, http_overview, keys, overview, roster, sync
from tools.models import Endpoint, EndpointKind


def in_drawer(request: TeammateRequest) -> bool:
    """Whether the answer goes into the drawer of a page that stands; otherwise it is a page of its own."""
    return request.htmx.target == "drawer"


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_safe
@teammate_required
def endpoint(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    """One endpoint: its last twenty syncs with what they changed, its address and its secret."""
    return _endpoint(request, endpoints.find(request.teammate.actor, endpoint_id))


@require_POST
@manager_required
def add(request: TeammateRequest) -> HttpResponse:
    """Add an endpoint and sync it at once. This answer alone shows its secret."""
    by = request.teammate.actor
    kind = EndpointKind.MCP if request.POST.get("kind") == EndpointKind.MCP else EndpointKind.MANIFEST
    secret = request.POST.get("secret") or None
    added, secret = endpoints.add(request.POST.get("url", ""), by=by, secret=secret, kind=kind)
    calls.run_now(sync.run, added.id, by=by)
    return _page(request, added=endpoints.find(by, added.id), secret=secret)


@require_POST
@manager_required
def sync_now(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    calls.run_now(sync.run, endpoint_id, by=request.teammate.actor)
    return redirect("tools:endpoint", endpoint_id) if in_drawer(request) else redirect("tools:page")


@require_POST
@manager_required
def change_url(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    """Move the endpoint to another address, and sync it there at once."""
    by = request.teammate.actor
    endpoints.change_url(endpoint_id, url=request.POST.get("url", ""), by=by)
    calls.run_now(sync.run, endpoint_id, by=by)
    return redirect("tools:endpoint", endpoint_id)


@require_POST
@manager_required
def rotate_secret(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    """Give the endpoint a new secret, and sync with both at once. This answer alone shows it."""
    by = request.teammate.actor
    _, secret = endpoints.rotate_secret(endpoint_id, by=by, secret=request.POST.get("secret") or None)
    calls.run_now(sync.run, endpoint_id, by=by)
    return _endpoint(request, endpoints.find(by, endpoint_id), secret=secret)


@require_POST
@manager_required
def stop_old_secret(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    endpoints.stop_old_secret(endpoint_id, by=request.teammate.actor)
    return redirect("tools:endpoint", endpoint_id)


@require_POST
@manager_required
def remove(request: TeammateRequest, endpoint_id: str) -> HttpResponse:
    endpoints.remove(endpoint_id, by=request.teammate.actor)
    return redirect("tools:page")


@require_POST
@manager_required
def rotate_key(request: TeammateRequest) -> HttpResponse:
    keys.rotate(by=request.teammate.actor)
    return redirect("tools:page")


def _page(request: TeammateRequest, *, added: Endpoint | None = None, secret: str = "") -> HttpResponse:
    workspace = request.teammate.workspace
    tools = overview.tools(workspace.id)
    context = {
        "endpoints": overview.endpoints(workspace.id, tools),
        "tools": tools,
        "is_full": sum(row.tool.switched_on for row in tools) >= roster.SWITCHED_ON_LIMIT,
        "limit": roster.SWITCHED_ON_LIMIT,
        "http": http_overview.summary(workspace.id),
        "keys": overview.keys(workspace.id),
        "issuer": workspace.issuer,
        "added": added,
        "secret": secret,
    }
    return render(request, "tools/page.html", context)


def _endpoint(request: TeammateRequest, shown: Endpoint, *, secret: str = "") -> HttpResponse:
    context = {
        "endpoint": shown,
        "syncs": overview.last_syncs(shown),
        "secret": secret,
    }
    return render(request, "tools/_endpoint_drawer.html" if in_drawer(request) else "tools/endpoint.html", context)
