"""A customer in Discord, the agent, a request, a teammate's decision: the whole way, with Discord's wire at one end."""

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from agent.models.demo import DemoModel
from approvals.models import ToolApproval
from conversations.models import Channel, Conversation
from team.models import Teammate
from tests import agent_process
from tests.discord.server import GUILD, TOKEN, Discord, Person, discord_server
from tests.endpoint import Endpoint
from tests.waiting import until
from tests.world import World

SignIn = Callable[[Teammate], Client]
WISH = "Please cancel my subscription."


@pytest.fixture
def discord(live_world: World, settings: pytest.FixtureRequest) -> Iterator[Discord]:
    with discord_server() as server:
        settings.MEDIAN_DISCORD_API = server.url
        with agent_process.in_thread(DemoModel()):
            yield server


def test_a_customer_of_discord_waits_for_a_sign_off_and_is_told_what_came_of_it(
    live_world: World, endpoint: Endpoint, discord: Discord, browser_of: SignIn
) -> None:
    sam = browser_of(live_world.sam)
    sam.post("/settings/discord/save", {"token": TOKEN, "guild": GUILD})
    gretl = Person(live_world.fernhill.id)
    assert gretl.writes(WISH).json()["type"] == 5
    until(lambda: len(discord.messages) == 3)
    echo, *rest = discord.texts()
    assert echo.startswith("**Gretl**\n> Please cancel my subscription\\.\n-# What is typed here is not read.")
    [waits] = [text for text in rest if text.startswith("-# **Waiting for sign-off**")]
    [asked] = [message for message in discord.messages[1:] if message.text != waits]
    assert "sign-off" in asked.text
    assert asked.text.startswith("**Median AI** (")  # its model's name stands on every reply

    held = Conversation.objects.get(channel=Channel.DISCORD)
    assert "Gretl" in sam.get("/inbox/?channel=discord").text
    assert "Discord" in sam.get(f"/inbox/{held.id}/").text
    sam.post(f"/approvals/{ToolApproval.objects.get().id}/approve")
    until(lambda: len(discord.messages) == 5)
    assert discord.texts()[3].startswith("-# **Signed off** · Answered at ")
    assert "sign in first" in discord.texts()[4]  # the shop does nothing for whom nobody vouches for
    visitor = endpoint.wait_for("cancelSubscription").body["context"]["visitor"]
    assert (visitor["verified"], "externalId" in visitor) == (False, False)

    gretl.presses(asked.buttons[0])
    gretl.replies(asked.buttons[0], "thank you")
    until(lambda: len(discord.messages) == 7)
    assert discord.texts()[5] == "**Gretl**\n> thank you"
