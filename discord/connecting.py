"""Making Discord's side right, as far as its API lets us: the slash command, and the address that it tells of
everything. Doing it again changes nothing, so it is also the test."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.urls import reverse

from discord import api, channels, payloads
from discord.models import DiscordChannel
from median_site.lib.db import in_thread
from median_site.lib.strict_json import Json
from tools import calls
from webhooks.told import Told

# View channels, send messages, attach files, open private threads, write in threads.
PERMISSIONS: Final = 1 << 10 | 1 << 11 | 1 << 15 | 1 << 36 | 1 << 38
_INVITE: Final = "https://discord.com/oauth2/authorize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How far it is set up: one sentence each, with whether it is as it should be."""

    name: str
    is_right: bool
    sentence: str


def hook(workspace_id: str) -> str:
    """The Interactions Endpoint URL of a workspace."""
    return f"{settings.MEDIAN_URL}{reverse('discord-hooks:interactions', args=[workspace_id])}"


def invitation(channel: DiscordChannel) -> str:
    """The link that lets the bot into the server, with what it may do there."""
    asked = f"client_id={channel.application_id}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    return f"{_INVITE}?{asked}&guild_id={channel.guild_id}&disable_guild_select=true"


async def application(token: str) -> Told:
    """Discord's description of the application whose bot token this is."""
    return await _ask("GET", "applications/@me", token=token)


async def check(channel: DiscordChannel) -> list[Found]:
    """Look at everything, and register what is not. The first is the token: without it there is nothing else."""
    token = await in_thread(channels.token_of, channel)
    told = await application(token)
    if told.verdict != "done":
        return [Found(name="Bot token", is_right=False, sentence=told.error)]
    bot = Found(name="Bot token", is_right=True, sentence=f"Discord knows it: {told.at('name')}.")
    return [bot, await _guild(channel, token), await _command(channel, token), await _address(channel, token, told)]


async def _guild(channel: DiscordChannel, token: str) -> Found:
    told = await _ask("GET", f"guilds/{channel.guild_id}", token=token)
    if told.verdict == "done":
        return Found(name="Server", is_right=True, sentence=f"The bot is in {told.at('name')}.")
    sentence = "The bot is not in the server yet." if told.verdict == "off" else told.error
    return Found(name="Server", is_right=False, sentence=sentence)


async def _command(channel: DiscordChannel, token: str) -> Found:
    """One with this name takes the former one's place; commands with other names stay."""
    path = f"applications/{channel.application_id}/commands"
    told = await _ask("POST", path, token=token, body=payloads.command())
    is_right = told.verdict == "done"
    sentence = f"/{payloads.COMMAND} is registered." if is_right else told.error
    return Found(name="Slash command", is_right=is_right, sentence=sentence)


async def _address(channel: DiscordChannel, token: str, found: Told) -> Found:
    """An address of somebody else's is left alone: an application has one."""
    wanted, now = hook(channel.workspace_id), found.at("interactions_endpoint_url")
    if now and now != wanted:
        sentence = f"This application’s interactions go to {now} already. Clear that in Discord, or take another one."
        return Found(name="Endpoint", is_right=False, sentence=sentence)
    if not now:
        told = await _ask("PATCH", "applications/@me", token=token, body={"interactions_endpoint_url": wanted})
        if told.verdict != "done":
            sentence = f"Discord could not reach {wanted}. It has to be a public https address."
            return Found(name="Endpoint", is_right=False, sentence=sentence)
    return Found(name="Endpoint", is_right=True, sentence=f"Discord tells {wanted}.")


async def _ask(method: str, path: str, *, token: str, body: dict[str, Json] | None = None) -> Told:
    return api.read(await calls.client().send(api.call(method, path, body, token=token), limit=api.ANSWER_LIMIT))
