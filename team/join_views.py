"""The page that an invitation's link opens: a new person sets a password, one who has an account joins with it."""

from allauth.account.utils import perform_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from median_site.lib.errors import Unusable
from team import invitations
from team.access import SESSION_KEY
from team.models import Teammate


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the invitation, or use it. Raises Used, AlreadyInTeam."""
    if request.method != "POST":
        return _page(request, token)
    if request.user.is_authenticated:
        return _enter(request, invitations.accept(token, user=request.user))
    try:
        name, password = request.POST.get("name", ""), request.POST.get("password", "")
        teammate = invitations.accept_new(token, name=name, password=password)
    except Unusable as fault:
        return _page(request, token, fault=fault)
    perform_login(request, teammate.user, email_verification="none")
    return _enter(request, teammate)


def _enter(request: HttpRequest, teammate: Teammate) -> HttpResponse:
    """Into the workspace that they joined, whichever others they are in."""
    request.session[SESSION_KEY] = teammate.id
    return redirect("inbox:home")


def _page(request: HttpRequest, token: str, *, fault: Unusable | None = None) -> HttpResponse:
    invitation = invitations.find(token)
    context = {
        "invitation": invitation,
        "token": token,
        "has_account": invitations.has_account(invitation),
        "fault": fault,
        "name": request.POST.get("name", ""),
    }
    return render(request, "team/join.html", context, status=fault.status if fault else 200)
