"""Settings > Webhooks, for owners and admins. A press answers with the page again, of which htmx takes the part."""

from itertools import groupby

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from team import facets
from team.access import TeammateRequest, manager_required
from team.events import Kind
from webhooks import deliveries, subscriptions
from webhooks.models import Off, Webhook


@require_safe
@manager_required
def page(request: TeammateRequest) -> HttpResponse:
    context = {"webhooks": subscriptions.listed(request.teammate.workspace_id), "kinds": _kinds(), "chosen": []}
    return _rendered(request, "webhooks/page.html", context, path=reverse("webhooks:page"))


@require_POST
@manager_required
def add(request: TeammateRequest) -> HttpResponse:
    """Add a webhook. This answer alone shows its secret."""
    url, kinds = request.POST.get("url", ""), request.POST.getlist("kinds")
    made, secret = subscriptions.add(url, by=request.teammate.actor, kinds=kinds)
    return _detail(request, made, secret=secret)


@require_safe
@manager_required
def detail(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    return _detail(request, subscriptions.find(request.teammate.actor, webhook_id))


@require_POST
@manager_required
def change(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    url, kinds = request.POST.get("url", ""), request.POST.getlist("kinds")
    subscriptions.change(webhook_id, by=request.teammate.actor, url=url, kinds=kinds)
    return redirect("webhooks:detail", webhook_id)


@require_POST
@manager_required
def switch(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    subscriptions.switch(webhook_id, by=request.teammate.actor, on=request.POST.get("on") == "1")
    return redirect("webhooks:detail", webhook_id)


@require_POST
@manager_required
def rotate_secret(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    """Make a new secret. This answer alone shows it."""
    row, secret = subscriptions.rotate_secret(webhook_id, by=request.teammate.actor)
    return _detail(request, row, secret=secret)


@require_POST
@manager_required
def test(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    deliveries.test(webhook_id, by=request.teammate.actor)
    return redirect("webhooks:detail", webhook_id)


@require_POST
@manager_required
def remove(request: TeammateRequest, webhook_id: str) -> HttpResponse:
    subscriptions.remove(webhook_id, by=request.teammate.actor)
    return redirect("webhooks:page")


@require_POST
@manager_required
def replay(request: TeammateRequest, delivery_id: str) -> HttpResponse:
    return redirect("webhooks:detail", deliveries.replay(delivery_id, by=request.teammate.actor).webhook_id)


def _detail(request: TeammateRequest, webhook: Webhook, *, secret: str = "") -> HttpResponse:
    shown, older = deliveries.page(webhook, before=request.GET.get("before", ""))
    context = {
        "webhook": webhook,
        "secret": secret,
        "deliveries": shown,
        "older": older,
        "why_off": Off(webhook.off).label if webhook.off else "",
        "kinds": _kinds(),
        "chosen": webhook.kinds,
    }
    return _rendered(request, "webhooks/detail.html", context, path=reverse("webhooks:detail", args=[webhook.id]))


def _rendered(request: TeammateRequest, template: str, context: dict[str, object], *, path: str) -> HttpResponse:
    """The page. A press may lead to another one: what the browser would load again is the one that is shown."""
    response = render(request, template, context)
    response.headers["HX-Replace-Url"] = path
    return response


def _kinds() -> list[tuple[str, list[str]]]:
    """The names of events by what they are about."""
    ordered = sorted(Kind, key=lambda kind: list(facets.Type).index(facets.type_of(kind)))
    return [(kind.capitalize(), [*kinds]) for kind, kinds in groupby(ordered, key=facets.type_of)]
