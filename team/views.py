"""Settings: the workspace and its team. Every teammate may look; owners and admins change.

A press answers with the page again, of which htmx takes the part.
"""

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from team import closing, invitations, roster, workspaces
from team.access import TeammateRequest, manager_required, require_owner, teammate_required
from team.models import Invitation, Role


@require_safe
@teammate_required
def workspace(request: TeammateRequest) -> HttpResponse:
    context = {
        "zones": workspaces.zones(),
        "retention": workspaces.RETENTION,
        "is_owner": request.teammate.role == Role.OWNER,
    }
    return render(request, "team/workspace.html", context)


@require_POST
@manager_required
def change(request: TeammateRequest) -> HttpResponse:
    name, zone = request.POST.get("name", ""), request.POST.get("zone", "")
    workspaces.change(by=request.teammate.actor, name=name, zone=zone)
    return redirect("team:workspace")


@require_POST
@teammate_required
def retention(request: TeammateRequest) -> HttpResponse:
    require_owner(request.teammate)
    workspaces.change_retention(by=request.teammate.actor, days=request.POST.get("days", ""))
    return redirect("team:workspace")


@require_POST
@teammate_required
def delete(request: TeammateRequest) -> HttpResponse:
    """Delete the workspace. Nobody is in it afterwards, so nobody stays signed in to look at it."""
    closing.close(by=request.teammate.actor, name=request.POST.get("name", ""))
    logout(request)
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": reverse("account_login")})
    return redirect("account_login")


@require_safe
@teammate_required
def people(request: TeammateRequest) -> HttpResponse:
    return _people(request)


@require_POST
@manager_required
def invite(request: TeammateRequest) -> HttpResponse:
    """Make an invitation. This answer alone shows its link."""
    email, role = request.POST.get("email", ""), request.POST.get("role", "")
    made, token = invitations.make(by=request.teammate.actor, email=email, role=role)
    return _people(request, made=made, link=f"{settings.MEDIAN_URL}{reverse('join', args=[token])}")


@require_POST
@manager_required
def withdraw(request: TeammateRequest, invitation_id: str) -> HttpResponse:
    invitations.withdraw(invitation_id, by=request.teammate.actor)
    return redirect("team:people")


@require_POST
@manager_required
def change_role(request: TeammateRequest, teammate_id: str) -> HttpResponse:
    roster.change_role(teammate_id, role=request.POST.get("role", ""), by=request.teammate.actor)
    return redirect("team:people")


@require_POST
@manager_required
def remove(request: TeammateRequest, teammate_id: str) -> HttpResponse:
    """Whoever removes themselves has no page to come back to."""
    roster.remove(teammate_id, by=request.teammate.actor)
    return redirect("account_login" if teammate_id == request.teammate.id else "team:people")


def _people(request: TeammateRequest, *, made: Invitation | None = None, link: str = "") -> HttpResponse:
    workspace_id = request.teammate.workspace_id
    context = {
        "people": roster.listed(workspace_id),
        "invitations": invitations.listed(workspace_id),
        "roles": list(Role) if request.teammate.role == Role.OWNER else [Role.ADMIN, Role.MEMBER],
        "is_owner": request.teammate.role == Role.OWNER,
        "made": made,
        "link": link,
    }
    return render(request, "team/people.html", context)
