"""Where Slack and Discord tell of presses. Each is checked on its raw body, noted and acknowledged; the work is the
agent process's."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from approvals.alerts import channels, genuine, presses
from approvals.alerts.sending import REACHES
from approvals.alerts.service import at
from approvals.models import AlertChannel, Service
from median_site.lib import clock, secrets, strict_json
from median_site.lib.strict_json import Json, JsonError

logger = logging.getLogger(__name__)

_PONG: Final = {"type": 1}
_LATER: Final = {"type": 6}  # acknowledged; the message is rewritten later


@csrf_exempt
@require_POST
def slack(request: HttpRequest, workspace_id: str) -> HttpResponse:
    channel = _checked(request, workspace_id, Service.SLACK)
    if channel is None:
        return _refused()
    _note(channel, _json(request.POST.get("payload", "")))
    return HttpResponse(status=200)


@csrf_exempt
@require_POST
def discord(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """Discord tries it out with wrong signatures, and switches off an address that lets one pass."""
    channel = _checked(request, workspace_id, Service.DISCORD)
    if channel is None:
        return _refused()
    payload = _json(request.body)
    if at(payload, "type") == "1":
        return JsonResponse(_PONG)
    _note(channel, payload)
    return JsonResponse(_LATER)


def _slack_fault(request: HttpRequest, check: str) -> str:
    return genuine.slack_fault(
        request.body,
        timestamp=request.headers.get("X-Slack-Request-Timestamp", ""),
        signature=request.headers.get("X-Slack-Signature", ""),
        secret=check,
        now=clock.now(),
    )


def _discord_fault(request: HttpRequest, check: str) -> str:
    return genuine.discord_fault(
        request.body,
        timestamp=request.headers.get("X-Signature-Timestamp", ""),
        signature=request.headers.get("X-Signature-Ed25519", ""),
        public_key=check,
        now=clock.now(),
    )


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


def _note(channel: AlertChannel, payload: Json) -> None:
    if pressed := REACHES[channel.service].pressed(payload):
        presses.note(channel, pressed)


def _json(text: str | bytes) -> Json:
    try:
        return strict_json.loads(text)
    except JsonError:
        return None


def _refused() -> HttpResponse:
    return HttpResponse("The signature is not right.", status=401, content_type="text/plain; charset=utf-8")
