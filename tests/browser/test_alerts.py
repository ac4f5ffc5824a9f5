"""A customer in the widget, the alert in Slack, approved there: every window and the other alert follow."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, expect

from approvals.alerts import channels
from approvals.models import Service, ToolApproval
from tests import agent_process
from tests import world as worlds
from tests.alerts import discord_server, slack_server
from tests.alerts.discord_server import Discord
from tests.alerts.slack_server import Slack
from tests.browser.conftest import OpenWindow, card_of, reads
from tests.endpoint import Endpoint
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World

WISH = "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund."


@pytest.fixture
def alerted(live_world: World, browser: Browser) -> Iterator[tuple[Slack, Discord]]:
    by = live_world.sam.actor
    with slack_server.slack_server() as slack, discord_server.discord_server() as discord:
        channels.set_up(
            Service.SLACK, channel=slack_server.CHANNEL, token=slack_server.TOKEN, check=slack_server.SECRET, by=by
        )
        channels.set_up(
            Service.DISCORD,
            channel=discord_server.CHANNEL,
            token=discord_server.TOKEN,
            check=discord_server.PUBLIC,
            by=by,
        )
        with agent_process.as_process(MEDIAN_SLACK_API=slack.url, MEDIAN_DISCORD_API=discord.url):
            yield slack, discord


def test_approved_in_slack_and_told_everywhere(
    live_world: World, endpoint: Endpoint, alerted: tuple[Slack, Discord], web: WebProcess, open_window: OpenWindow
) -> None:
    slack, discord = alerted
    customer = open_window(web.url)
    customer.goto(f"/widget/fernhill/#token={worlds.session_token(live_world.ana)}")
    customer.locator("#w-text").fill(WISH)
    customer.locator("#w-text").press("Enter")
    until(lambda: slack.messages and discord.messages)
    assert slack_server.texts(slack.message)[2] == "Order number: ORD-1042\nReason: damaged"
    assert discord_server.buttons(discord.message) == ["Deny", "Approve and run", "Open in Median"]
    sam = open_window(web.url, live_world.sam)
    sam.goto("/inbox/")
    sam.locator(".qrow").click()
    expect(card_of(sam)).to_have_attribute("data-state", "pending")

    press_in_slack(web, live_world)
    until(lambda: slack.whispers)
    kim = open_window(web.url, live_world.kim)
    kim.goto(urlsplit(slack.whispers[0]["text"].rsplit(" ", 1)[1]).path)
    kim.get_by_role("button", name="It is me, link it").click()
    expect(kim.locator(".people h3")).to_have_text("u0kim")
    expect(kim).to_have_url(re.compile("/settings/alerts/own/$"))
    assert endpoint.calls_of("refundOrder") == []

    press_in_slack(web, live_world)
    reads(card_of(sam).locator(".card-foot .outcome"), re.compile(r"^Approved by Kim · \d\d:\d\d$"))
    expect(customer.locator(".w-msg").nth(2)).to_contain_text("$48.00")
    assert [call.body["context"]["approvedBy"] for call in endpoint.calls_of("refundOrder")] == ["Kim Ito"]
    until(lambda: re.fullmatch(r"Approved by Kim · \d\d:\d\d", slack_server.texts(slack.message)[-1]))
    until(lambda: "Approved by Kim · " in discord.message["embeds"][0]["description"])
    assert slack_server.buttons(slack.message) == ["open"]
    assert discord_server.buttons(discord.message) == ["Open in Median"]


def press_in_slack(web: WebProcess, world: World) -> None:
    body = slack_server.pressed("approve", ToolApproval.objects.get().id, user="U0KIM")
    headers = {"Content-Type": slack_server.FORM, **slack_server.signed(body)}
    answer = httpx.post(f"{web.url}/alerts/slack/{world.fernhill.id}/", content=body, headers=headers)
    assert (answer.status_code, answer.content) == (200, b"")
