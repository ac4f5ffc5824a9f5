"""Settings > API keys, for owners and admins."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team import api_keys
from team.access import TeammateRequest, manager_required
from team.models import ApiKey


@require_safe
@manager_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@manager_required
def make(request: TeammateRequest) -> HttpResponse:
    """Make a key. This answer alone shows it."""
    name, scopes = request.POST.get("name", ""), request.POST.getlist("scopes")
    made, plain = api_keys.make(by=request.teammate.actor, name=name, scopes=scopes)
    return _page(request, made=made, plain=plain)


@require_POST
@manager_required
def revoke(request: TeammateRequest, key_id: str) -> HttpResponse:
    api_keys.revoke(key_id, by=request.teammate.actor)
    return redirect("team:keys")


def _page(request: TeammateRequest, *, made: ApiKey | None = None, plain: str = "") -> HttpResponse:
    keys = api_keys.listed(request.teammate.workspace_id)
    context = {"keys": keys, "scopes": api_keys.SCOPES, "made": made, "plain": plain}
    return render(request, "team/keys.html", context)
