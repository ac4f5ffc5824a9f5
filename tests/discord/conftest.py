"""Fernhill takes customers' messages through its Discord application, on a database that other threads see."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db.models import F

from discord import channels, inbound, outbox, sending
from discord.models import DiscordChannel, DiscordPost
from median_site.lib.db import in_thread
from team import chain
from tests import world as worlds
from tests.discord import server as server_
from tests.discord.server import Discord, Person
from tests.world import World
from tools import calls


@pytest.fixture
def fernhill(transactional_db: None) -> World:
    return worlds.build()


@pytest.fixture
def server(settings: pytest.FixtureRequest) -> Iterator[Discord]:
    """Discord, which knows nothing of Fernhill yet."""
    with server_.discord_server() as served:
        settings.MEDIAN_DISCORD_API = served.url
        yield served


@pytest.fixture
def discord(fernhill: World, server: Discord) -> Discord:
    channels.connect(by=fernhill.sam.actor, guild_id=server_.GUILD, token=server_.TOKEN, application=server.application)
    return server


@pytest.fixture
def gretl(fernhill: World, discord: Discord) -> Person:
    return Person(fernhill.fernhill.id)


def work() -> None:
    """What one agent process does for Discord until nothing is due."""
    async_to_sync(_work)()


async def _work() -> None:
    moved = True
    while moved:
        moved = False
        while await in_thread(chain.link_all):
            moved = True
        for came in await in_thread(inbound.claim, limit=100):
            await inbound.take(came)
            moved = True
        for post in await in_thread(outbox.claim, limit=100):
            await sending.run(post)
            moved = True
    await calls.close()


def later(by: timedelta) -> None:
    """So much time goes by."""
    DiscordPost.objects.update(due_at=F("due_at") - by, claimed_at=F("claimed_at") - by)
    DiscordChannel.objects.update(quiet_until=F("quiet_until") - by)
