"""Settings > Alerts, for owners and admins, and each teammate's own links. A press answers with the page again."""

import json
from typing import Final
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from approvals.alerts import channels, links, sending
from approvals.models import Service
from team.access import TeammateRequest, manager_required, teammate_required
from tools import calls
from webhooks.told import Told

_NEW_APP: Final = "https://api.slack.com/apps?new_app=1&manifest_json="


@require_safe
@manager_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@manager_required
def save(request: TeammateRequest, service: Service) -> HttpResponse:
    """Set up a service, or change what is set up; secrets left blank stay."""
    given = {name: request.POST.get(name, "") for name in ("channel", "token", "check")}
    channels.set_up(service, by=request.teammate.actor, **given)
    return redirect("alerts:page")


@require_POST
@manager_required
def test(request: TeammateRequest, service: Service) -> HttpResponse:
    """Post to the channel and show what the service said. One that was off and takes it is on again."""
    channel = channels.find(request.teammate.actor, service)
    told = calls.run_now(sending.test, channel)
    if told.verdict == "done":
        channels.mended(channel, by=request.teammate.actor)
    elif told.verdict == "off":
        channels.stop(channel, why=told.error)
    return _page(request, tested=service, told=told)


@require_POST
@manager_required
def remove(request: TeammateRequest, service: Service) -> HttpResponse:
    channels.remove(service, by=request.teammate.actor)
    return redirect("alerts:page")


@require_safe
@teammate_required
def own(request: TeammateRequest) -> HttpResponse:
    """The users of Slack and Discord that decide in this teammate's name. A link's page leads here, too."""
    response = render(request, "alerts/own.html", {"links": links.listed(request.teammate.actor)})
    response.headers["HX-Replace-Url"] = reverse("alerts:own")
    return response


@require_POST
@teammate_required
def unlink(request: TeammateRequest, link_id: str) -> HttpResponse:
    links.remove(link_id, by=request.teammate.actor)
    return redirect("alerts:own")


@teammate_required
def link(request: TeammateRequest, code: str) -> HttpResponse:
    """What the link opens that an unlinked presser was told: a question, and its answer."""
    if request.method == "POST":
        links.confirm(code, by=request.teammate.actor)
        return redirect("alerts:own")
    context = {"press": links.pending(code, by=request.teammate.actor)}
    return render(request, "alerts/link.html", context)


def _page(request: TeammateRequest, *, tested: str = "", told: Told | None = None) -> HttpResponse:
    workspace_id = request.teammate.workspace_id
    hooks = {each: f"{settings.MEDIAN_URL}{reverse(f'alert-hooks:{each}', args=[workspace_id])}" for each in Service}
    context = {
        "channels": {each.value: channels.active(workspace_id, each) for each in Service},
        "hooks": hooks,
        "new_slack_app": _NEW_APP + quote(json.dumps(manifest(hooks[Service.SLACK]))),
        "tested": tested,
        "told": told,
    }
    return render(request, "alerts/page.html", context)


def manifest(hook: str) -> dict[str, object]:
    """Slack's app manifest: one scope, and where presses go."""
    return {
        "display_information": {"name": "Median", "description": "Requests that need a teammate"},
        "features": {"bot_user": {"display_name": "Median"}},
        "oauth_config": {"scopes": {"bot": ["chat:write"]}},
        "settings": {"interactivity": {"is_enabled": True, "request_url": hook}},
    }
