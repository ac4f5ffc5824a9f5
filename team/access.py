"""Who is asking: from a signed-in request to a teammate. Every object is then found through that teammate's actor."""

from collections.abc import Callable
from functools import wraps
from typing import Final, cast
from urllib.parse import quote

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import reverse
from django_htmx.middleware import HtmxDetails

from median_site.lib import times
from median_site.lib.errors import DomainError
from team.models import Role, Teammate

SESSION_KEY: Final = "teammate"


class TeammateRequest(HttpRequest):
    """A request that passed `teammate_required`."""

    teammate: Teammate
    htmx: HtmxDetails


class SignedInAsOther(DomainError):
    code = "signed_in_as_other"


class NotAllowed(DomainError):
    code = "not_allowed"
    message = "Only owners and admins can do this."
    status = 403


def teammate_of(request: HttpRequest) -> Teammate | None:
    """The teammate that the session acts as: the one chosen earlier, else the person's oldest. No query: they came with
    the person (team.sign_in.Backend)."""
    if not request.user.is_authenticated:
        return None
    teammates = request.user.works_as
    chosen = request.session.get(SESSION_KEY)
    return next((row for row in teammates if row.id == chosen), teammates[0] if teammates else None)


def teammate_required(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Let only a teammate in, as `request.teammate`, and a press only from a page that was made for them.

    Others are sent to sign in, the whole page and no piece of it.
    """

    @wraps(view)
    def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        teammate = teammate_of(request)
        if teammate is None:
            return _sign_in(request)
        guarded_request = cast(TeammateRequest, request)
        guarded_request.teammate = teammate
        if request.method == "POST":
            _same_person(guarded_request)
        with times.in_zone(teammate.workspace.zone):
            return view(guarded_request, *args, **kwargs)

    return guarded


def manager_required(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let only owners and admins in."""

    @teammate_required
    @wraps(view)
    def guarded(request: TeammateRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not request.teammate.may_manage:
            raise NotAllowed
        return view(request, *args, **kwargs)

    return guarded


def _sign_in(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        raise DomainError("You are no longer a teammate of a workspace here.", code="no_workspace", status=403)
    if request.headers.get("HX-Request"):
        back = request.headers.get("HX-Current-URL", "")
        path = "/" + back.split("/", 3)[3] if back.count("/") >= 3 else resolve_url("/")
        target = f"{reverse('account_login')}?next={quote(path)}"
        return HttpResponse("Sign in again to go on.", status=401, headers={"HX-Redirect": target})
    return redirect_to_login(request.get_full_path() if request.method == "GET" else "/inbox/")


def acting_as(request: HttpRequest) -> str:
    """The teammate id that the page which sent this POST was made for, or empty when it does not say."""
    return request.headers.get("X-Median-As") or request.POST.get("as", "")


def _same_person(request: TeammateRequest) -> None:
    """Refuse a press on a page that was made for somebody else, who signed in here before: it shows another name."""
    named = acting_as(request)
    if named and named != request.teammate.id:
        first_name = request.teammate.actor.short_name
        raise SignedInAsOther(f"You are signed in as {first_name} now. Reload the page; nothing was done.")


def require_owner(teammate: Teammate) -> None:
    if teammate.role != Role.OWNER:
        raise NotAllowed("Only owners can do this.")
