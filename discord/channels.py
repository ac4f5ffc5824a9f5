"""A workspace's Discord application: connected, removed, stopped when Discord refuses, on again. No request leaves
from here."""

import re
from typing import Final

from django.db import transaction

from discord import genuine
from discord.models import DiscordChannel
from median_site.lib import live, secrets
from median_site.lib.actors import Actor, system
from median_site.lib.errors import Unusable, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from team.models import Workspace

_TOKEN: Final = re.compile(r"[\x21-\x7e]{20,400}")
_ID: Final = re.compile(r"[0-9]{15,22}")


def of(workspace_id: str) -> DiscordChannel | None:
    """The workspace's, also while it is off."""
    return DiscordChannel.objects.filter(workspace_id=workspace_id).first()


def mine(by: Actor) -> DiscordChannel:
    """The actor's workspace's. Raises NotFound without one."""
    return existing(of(by.workspace_id))


def check(*, guild_id: str, token: str, is_first: bool) -> None:
    """Raises Unusable with field "guild" or "token" for what cannot be one. A blank token keeps the one there is."""
    if (token or is_first) and not _TOKEN.fullmatch(token):
        raise Unusable("This is not a bot token.", field="token")
    if not _ID.fullmatch(guild_id):
        raise Unusable("A server’s ID has digits alone, like 1234567890123456789.", field="guild")


def connect(*, by: Actor, guild_id: str, token: str, application: Json) -> DiscordChannel:
    """Take customers' messages through this application from now on. `application` is Discord's own description of
    the token's. Raises Unusable with field "token"."""
    said = application if isinstance(application, dict) else {}
    id, name, key = (str(said.get(field, "")) for field in ("id", "name", "verify_key"))
    if not _ID.fullmatch(id) or not genuine.is_key(key):
        raise Unusable("Discord did not say which application this token is of.", field="token")
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).only("id").get(id=by.workspace_id)
        row = of(by.workspace_id) or DiscordChannel(workspace_id=by.workspace_id)
        row.application_id, row.application_name, row.public_key, row.guild_id = id, name[:100], key, guild_id
        row.off, row.quiet_until = "", None
        row.sealed_token = secrets.seal(token) if token else row.sealed_token
        row.save()
        _record(Kind.DISCORD_CHANNEL_CHANGED, row, by=by)
        live.wake("agent")
    return row


def remove(*, by: Actor) -> None:
    """Take no more messages and post none. Threads stay as they are. A second time: NotFound."""
    with transaction.atomic():
        found = existing(DiscordChannel.objects.select_for_update().filter(workspace_id=by.workspace_id).first())
        _record(Kind.DISCORD_CHANNEL_REMOVED, found, by=by)
        found.delete()


def stop(channel: DiscordChannel, *, why: str) -> None:
    """Discord refuses the token. What waits is posted once somebody has mended it."""
    with transaction.atomic():
        if DiscordChannel.objects.filter(id=channel.id, off="").update(off=why):
            _record(Kind.DISCORD_CHANNEL_STOPPED, channel, by=system(channel.workspace_id), why=why)


def mended(channel: DiscordChannel, *, by: Actor) -> None:
    """Discord takes the token again: what waits is posted."""
    with transaction.atomic():
        if DiscordChannel.objects.filter(id=channel.id).exclude(off="").update(off=""):
            _record(Kind.DISCORD_CHANNEL_MENDED, channel, by=by)
            live.wake("agent")


def token_of(channel: DiscordChannel) -> str:
    return secrets.unseal(channel.sealed_token)


def _record(kind: Kind, channel: DiscordChannel, *, by: Actor, **more: Json) -> None:
    data: dict[str, Json] = {"application": channel.application_name}
    events.record(kind, by=by, subject_id=channel.id, data=data | more)
