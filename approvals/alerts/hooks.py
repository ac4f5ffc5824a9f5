"""Where Slack and Discord tell of presses. Each is checked on its raw body, noted and acknowledged; the work is the
agent process's."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from approvals.alerts import channels, presses
from approvals.alerts import genuine as slack_genuine
from approvals.alerts.discord import form
from approvals.alerts.sending import REACHES
from approvals.models import AlertChannel, Service
from discord import api, genuine
from median_site.lib import clock, secrets
from webhooks.told import at, parsed

logger = logging.getLogger(__name__)


@csrf_exempt
@require_POST
def slack(request: HttpRequest, workspace_id: str) -> HttpResponse:
    channel = _checked(request, workspace_id, Service.SLACK)
    if channel is None:
        return _refused()
    if pressed := REACHES[Service.SLACK].pressed(parsed(request.POST.get("payload", ""))):
        presses.note(channel, pressed)
    return HttpResponse(status=200)


@csrf_exempt
@require_POST
def discord(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """Discord tries it out with wrong signatures, and switches off an address that lets one pass."""
    channel = _checked(request, workspace_id, Service.DISCORD)
    if channel is None:
        return _refused()
    payload = parsed(request.body)
    if at(payload, "type") == api.PING:
        return JsonResponse(api.PONG)
    pressed = REACHES[Service.DISCORD].pressed(payload)
    if pressed and (asked := presses.asks(presses.row_of(channel, pressed))):
        return JsonResponse(form(asked))
    if pressed:
        presses.note(channel, pressed)
    return JsonResponse(api.LATER)


def _slack_fault(request: HttpRequest, check: str) -> str:
    return slack_genuine.slack_fault(request, secret=check, now=clock.now())


def _discord_fault(request: HttpRequest, check: str) -> str:
    return genuine.fault(request, public_key=check, now=clock.now())


_FAULTS: Final[Mapping[Service, Callable[[HttpRequest, str], str]]] = {
    Service.SLACK: _slack_fault, Service.DISCORD: _discord_fault,
}  # fmt: skip


def _checked(request: HttpRequest, workspace_id: str, service: Service) -> AlertChannel | None:
    """The workspace's channel, if the request is genuine. All that is wrong looks the same from outside."""
    channel = channels.active(workspace_id, service)
    if channel is None:
        return None
    if fault := _FAULTS[service](request, secrets.unseal(channel.sealed_check)):
        logger.warning("A request of %s to workspace %s was refused: %s.", service.label, workspace_id, fault)
        return None
    return channel


def _refused() -> HttpResponse:
    return HttpResponse("The signature is not right.", status=401, content_type="text/plain; charset=utf-8")
