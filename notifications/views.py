"""Settings > Notifications: how this one teammate is told. And the door out of the mail, which needs no sign-in."""

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from mail import sending as mail
from median_site.lib.errors import NotFound, existing
from notifications import browsers, preferences, pushes
from notifications.models import Rhythm, Topic
from team import sessions
from team.access import TeammateRequest, teammate_required


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@teammate_required
def save(request: TeammateRequest) -> HttpResponse:
    given = request.POST
    preferences.save(
        request.teammate, push=given.getlist("push"), mail=given.getlist("mail"), rhythm=given.get("rhythm", ""),
        hour=given.get("hour", ""),
    )  # fmt: skip
    return redirect("notifications:page")


@require_POST
@teammate_required
def add_browser(request: TeammateRequest) -> HttpResponse:
    """What the browser got from its push service."""
    given = request.POST
    browsers.add(
        request.teammate, address=given.get("endpoint", ""), p256dh=given.get("p256dh", ""),
        auth=given.get("auth", ""), name=sessions.browser_of(request.headers.get("User-Agent", "")),
        session_key=request.session.session_key or "",
    )  # fmt: skip
    return redirect("notifications:page")


@require_POST
@teammate_required
def remove_browser(request: TeammateRequest, browser_id: str) -> HttpResponse:
    browsers.remove(request.teammate, browser_id)
    return redirect("notifications:page")


@require_POST
@teammate_required
def test(request: TeammateRequest) -> HttpResponse:
    return _page(request, tested=pushes.test(request.teammate))


@csrf_exempt  # mail programs press it for the reader (RFC 8058)
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """Asks, and on a press ends that teammate's mail. The link of the mail is what lets in."""
    teammate = existing(preferences.of_token(token))
    if request.method == "POST":
        preferences.stop_mail(teammate.id)
    return render(request, "notifications/stop.html", {"teammate": teammate, "stopped": request.method == "POST"})


@require_safe
def worker(request: HttpRequest) -> HttpResponse:
    """The script that shows pushes. It stands at the root, because a worker answers for what is below its address."""
    found = finders.find("js/push-worker.js")
    if not isinstance(found, str):
        raise NotFound
    with open(found, encoding="utf-8") as script:
        headers = {"Cache-Control": "no-cache"}
        return HttpResponse(script.read(), content_type="text/javascript; charset=utf-8", headers=headers)


def _page(request: TeammateRequest, *, tested: int | None = None) -> HttpResponse:
    context = {
        "preference": preferences.of(request.teammate),
        "topics": Topic.choices,
        "rhythms": Rhythm.choices,
        "browsers": browsers.listed(request.teammate),
        "session_key": request.session.session_key,
        "public_key": browsers.public_key(),
        "tested": tested,
        "mail_leaves": mail.leaves(),
    }
    return render(request, "notifications/page.html", context)
