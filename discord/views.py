"""Settings > Discord, for owners and admins. A press answers with the page again, of which htmx takes the part."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from discord import channels, connecting
from discord.connecting import Found
from median_site.lib.errors import Unusable
from team.access import TeammateRequest, manager_required
from tools import calls


@require_safe
@manager_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@manager_required
def save(request: TeammateRequest) -> HttpResponse:
    """Take the application of this token, and set up what can be; a blank token keeps the one there is."""
    by = request.teammate.actor
    guild_id, token = request.POST.get("guild", "").strip(), request.POST.get("token", "").strip()
    former = channels.of(by.workspace_id)
    channels.check(guild_id=guild_id, token=token, is_first=former is None)
    told = calls.run_now(connecting.application, token or (channels.token_of(former) if former else ""))
    if told.verdict != "done":
        raise Unusable(told.error, field="token")
    channel = channels.connect(by=by, guild_id=guild_id, token=token, application=told.said)
    return _page(request, found=calls.run_now(connecting.check, channel))


@require_POST
@manager_required
def test(request: TeammateRequest) -> HttpResponse:
    """Look at everything again. A token that was off and is taken is on again."""
    channel = channels.mine(request.teammate.actor)
    found = calls.run_now(connecting.check, channel)
    if found[0].is_right:
        channels.mended(channel, by=request.teammate.actor)
    return _page(request, found=found)


@require_POST
@manager_required
def remove(request: TeammateRequest) -> HttpResponse:
    channels.remove(by=request.teammate.actor)
    return redirect("discord:page")


def _page(request: TeammateRequest, *, found: Sequence[Found] = ()) -> HttpResponse:
    channel = channels.of(request.teammate.workspace_id)
    context = {
        "channel": channel,
        "found": found,
        "hook": connecting.hook(request.teammate.workspace_id),
        "invitation": connecting.invitation(channel) if channel else "",
    }
    return render(request, "discord/page.html", context)
