"""Fernhill with alerts in its Slack, on a database that other threads see."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.db.models import F

from approvals.alerts import channels, links, outbox, presses, sending
from approvals.models import Alert, AlertChannel, AlertPress, Service
from median_site.lib import clock
from median_site.lib.db import in_thread
from team import chain
from team.models import Teammate
from tests import world as worlds
from tests.alerts import discord_server as discord_
from tests.alerts import slack_server as slack_
from tests.alerts.discord_server import Discord
from tests.alerts.slack_server import Slack
from tests.world import World
from tools import calls


@pytest.fixture
def fernhill(transactional_db: None) -> World:
    return worlds.build()


@pytest.fixture
def slack(fernhill: World, settings: pytest.FixtureRequest) -> Iterator[Slack]:
    with slack_.slack_server() as server:
        settings.MEDIAN_SLACK_API = server.url
        channels.set_up(
            Service.SLACK, channel=slack_.CHANNEL, token=slack_.TOKEN, check=slack_.SECRET, by=fernhill.sam.actor
        )
        yield server


@pytest.fixture
def discord(fernhill: World, settings: pytest.FixtureRequest) -> Iterator[Discord]:
    with discord_.discord_server() as server:
        settings.MEDIAN_DISCORD_API = server.url
        channels.set_up(
            Service.DISCORD,
            channel=discord_.CHANNEL,
            token=discord_.TOKEN,
            check=discord_.PUBLIC,
            by=fernhill.sam.actor,
        )
        yield server


def work() -> None:
    """What one agent process does until nothing is due: links the log, works on presses, sends alerts."""
    while chain.link_all():
        pass
    async_to_sync(_work)()


async def _work() -> None:
    for press in await in_thread(presses.claim, limit=100):
        await sending.answer(press)
    while await in_thread(chain.link_all):
        pass
    while taken := await in_thread(outbox.claim, limit=100, busy=[]):
        for alert in taken:
            await sending.run(alert)
    await calls.close()


def later(by: timedelta) -> None:
    """So much time goes by: what is kept of alerts is so much older. (Other threads have a clock of their own.)"""
    Alert.objects.update(due_at=F("due_at") - by, claimed_at=F("claimed_at") - by, wanted_at=F("wanted_at") - by)
    AlertChannel.objects.update(quiet_until=F("quiet_until") - by)


def link(world: World, teammate: Teammate, *, user: str = "U0SAM") -> None:
    """The user pressed once, and the teammate confirmed that it is them."""
    slack_.press(world.fernhill.id, "approve", "call_none", user=user)
    press = AlertPress.objects.latest("pressed_at")
    AlertPress.objects.filter(id=press.id).update(due_at=None, pressed_at=clock.now())
    links.confirm(press.id, by=teammate.actor)
