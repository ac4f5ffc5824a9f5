"""Where Discord tells of customers' commands, presses and forms. Each is checked on its raw body, noted and
acknowledged within the three seconds that Discord gives; the work is the agent process's."""

import logging
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from discord import api, channels, genuine, inbound, payloads
from discord.models import DiscordChannel
from discord.payloads import Came
from median_site.lib import clock
from median_site.lib.strict_json import Json
from webhooks.told import parsed

logger = logging.getLogger(__name__)

_ELSEWHERE: Final = "Nobody answers in this server."
_NOT_YOURS: Final = f"Only the one whose thread this is can reply here. Write with /{payloads.COMMAND}."
_UNKNOWN: Final = f"Write with /{payloads.COMMAND}."
_TOO_FAST: Final = "That is a lot of messages at once. Wait a few minutes, then send this one again:"
_SHOWN: Final = 800  # characters of what was not taken; escaped it may be twice as long


@csrf_exempt
@require_POST
def interactions(request: HttpRequest, workspace_id: str) -> HttpResponse:
    """Discord tries it out with wrong signatures, and switches off an address that lets one pass."""
    channel = channels.of(workspace_id)
    fault = genuine.fault(request, public_key=channel.public_key, now=clock.now()) if channel else ""
    if channel is None or fault:
        if channel:
            logger.warning("A request of Discord to workspace %s was refused: %s.", workspace_id, fault)
        return HttpResponse("The signature is not right.", status=401, content_type="text/plain; charset=utf-8")
    came = payloads.read(parsed(request.body))
    return JsonResponse(api.PONG if came.kind == api.PING else _answer(channel, came))


def _answer(channel: DiscordChannel, came: Came) -> Json:
    if came.guild_id and came.guild_id != channel.guild_id:
        return payloads.say(_ELSEWHERE)
    if not (came.key and came.user_id and came.channel):
        return payloads.say(_UNKNOWN)
    if came.kind == api.COMMAND and came.name == payloads.COMMAND:
        return _noted(channel, came, api.THINKING)
    if came.kind not in {api.COMPONENT, api.FORM} or came.name != "reply":
        return payloads.say(_UNKNOWN)
    if not inbound.is_theirs(came, workspace_id=channel.workspace_id):
        return payloads.say(_NOT_YOURS)
    if came.kind == api.COMPONENT:
        return payloads.form(came.conversation_id)
    return _noted(channel, came, api.LATER)


def _noted(channel: DiscordChannel, came: Came, acknowledged: Json) -> Json:
    """Keep it for the agent process; or give it back, since Discord keeps nothing of what was typed."""
    if inbound.note(came, workspace_id=channel.workspace_id):
        return acknowledged
    return payloads.say(f"{_TOO_FAST}\n\n{api.escape(came.text[:_SHOWN])}")
