"""The main job in real windows: a customer asks, two teammates see it live, one decides, the customer gets the answer.

Web and agent are processes of their own, on PostgreSQL alone and once with Redis between them.
"""

import os
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from median_tools.server import Server
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

from approvals.models import State, ToolApproval
from examples.shop.call_log import CallLog
from examples.shop.records import fernhill
from examples.shop.sessions import Median
from examples.shop.site import Site
from examples.shop.tools import shop_tools
from team import api_keys
from tests import agent_process
from tests import world as worlds
from tests.browser.conftest import OpenWindow, card_of, reads
from tests.endpoint import Endpoint
from tests.web_process import WebProcess, serving
from tests.world import World
from tools.models import RunState, ToolRun

WISH = "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund."
REDIS = os.environ.get("MEDIAN_TEST_REDIS_URL", "")


@pytest.fixture
def agent(live_world: World, browser: Browser) -> Iterator[None]:
    """Only where there is a browser, so that nothing is started for a test that is then skipped."""
    with agent_process.as_process():
        yield


@pytest.fixture(params=["postgres", *(["redis"] if REDIS else [])])
def processes(
    request: pytest.FixtureRequest, live_world: World, browser: Browser, tmp_path: Path
) -> Iterator[WebProcess]:
    """Web and agent, which hear of each other over either layer."""
    if request.param == "postgres":
        request.getfixturevalue("agent")
        yield request.getfixturevalue("web")
        return
    with (
        serving(tmp_path / "web.log", MEDIAN_REDIS_URL=REDIS) as web,
        agent_process.as_process(MEDIAN_REDIS_URL=REDIS),
    ):
        yield web


def ask(chat: Page | FrameLocator) -> None:
    chat.locator("#w-text").fill(WISH)
    chat.locator("#w-text").press("Enter")
    expect(chat.locator(".w-msg").nth(0)).to_contain_text("dented lid")
    expect(chat.locator(".w-msg").nth(1)).to_contain_text("sign-off", timeout=60_000)
    expect(chat.locator("#w-state")).to_contain_text("Waiting for sign-off")


def wait_for_request(page: Page) -> Locator:
    """The card as it asks, in the page of an open thread."""
    card = card_of(page)
    expect(card).to_have_attribute("data-state", "pending")
    expect(card.get_by_role("heading")).to_have_text("Median AI wants to run Refund order")
    expect(card).to_contain_text("High risk")
    expect(card.locator("dt")).to_have_text(["Order number", "Reason"])
    expect(card.locator("dd").nth(0)).to_contain_text("ORD-1042")
    expect(card.locator("dd").nth(1)).to_contain_text("damaged")
    return card


def test_asked_approved_run_and_told(
    live_world: World, endpoint: Endpoint, processes: WebProcess, open_window: OpenWindow
) -> None:
    world, web = live_world, processes
    customer = open_window(web.url)
    customer.goto(f"/widget/fernhill/#token={worlds.session_token(world.ana)}")
    expect(customer.locator("#w-foot")).to_have_text("Signed in as ana@example.com")
    assert "token" not in customer.url
    kim = open_window(web.url, world.kim)
    kim.goto("/inbox/")
    expect(kim.locator(".qrow")).to_have_count(0)

    ask(customer)
    row = kim.locator(".qrow")
    expect(row).to_have_attribute("data-unread", "")
    expect(row.locator("[data-mark=waiting]")).to_have_text("Needs approval: Refund order")
    sam = open_window(web.url, world.sam)
    sam.goto("/inbox/")
    sam.locator(".qrow").click()
    kim.locator(".qrow").click()
    kims_card, card = wait_for_request(kim), wait_for_request(sam)
    expect(sam.locator(".qrow[data-unread]")).to_have_count(0)

    answer = endpoint.hold("refundOrder")
    card.get_by_role("button", name="Approve and run").click()
    reads(card.locator(".outcome"), "Approved by you · running now")
    reads(kims_card.locator(".outcome"), "Approved by Sam · running now")
    for page in (sam, kim):
        expect(page.locator(".line", has_text="approved running")).to_contain_text("Sam approved running Refund order")
        expect(page.locator("[data-approve]")).to_have_count(0)
    expect(customer.locator(".w-wait").last).to_contain_text("Signed off")
    answer.set()

    told = customer.locator(".w-msg").nth(2)
    expect(told).to_contain_text("$48.00")
    for page, by in ((sam, "you"), (kim, "Sam")):
        shown = card_of(page)
        expect(shown).to_have_attribute("data-state", "completed")
        expect(shown.get_by_role("heading", level=2)).to_have_text("Median AI asked to run Refund order")
        expect(shown.locator(".result h3")).not_to_be_empty()  # until then "Working…" stands there as well
        reads(shown.locator(".outcome"), re.compile(rf"^Approved by {by} · \d\d:\d\d$"))
        expect(shown.locator(".result dt")).to_have_text(["Refunded", "Amount"])
        expect(shown.locator(".result dd")).to_have_text(["Yes", "48"])
        expect(page.locator(".msg", has_text="$48.00")).to_have_count(1)
    raw = card.locator("details.raw", has_text="Show raw output")
    raw.locator("summary").click()
    assert raw.locator("pre").inner_text() == ToolRun.objects.get(tool_name="refundOrder").raw
    assert [call.body["context"]["approvedBy"] for call in endpoint.calls_of("refundOrder")] == ["Sam Okafor"]
    assert ToolRun.objects.get(tool_name="refundOrder").state == RunState.COMPLETED


def test_denied_with_a_reason_that_the_customer_does_not_see(
    live_world: World, endpoint: Endpoint, web: WebProcess, agent: None, open_window: OpenWindow
) -> None:
    customer = open_window(web.url)
    customer.goto(f"/widget/fernhill/#token={worlds.session_token(live_world.ana)}")
    ask(customer)
    sam, kim = open_window(web.url, live_world.sam), open_window(web.url, live_world.kim)
    for page in (sam, kim):
        page.goto("/inbox/")
        page.locator(".qrow").click()
        wait_for_request(page)

    card_of(sam).get_by_role("button", name="Deny").click()
    dialog = sam.get_by_role("dialog", name="Deny Refund order?")
    expect(dialog).to_be_visible()
    sam.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert ToolApproval.objects.get().state == State.PENDING

    card_of(sam).get_by_role("button", name="Deny").click()
    dialog.get_by_label("Reason").fill("Third refund this month.")
    dialog.get_by_role("button", name="Deny").click()
    for page, by in ((sam, "you"), (kim, "Sam")):
        denied = re.compile(rf"^Denied by {by} · \d\d:\d\d\s*Third refund this month\.$")
        reads(card_of(page).locator(".outcome"), denied)
        line = page.locator(".line", has_text="declined")
        expect(line).to_contain_text("Sam declined Median AI’s request to run Refund order")
    expect(customer.locator(".w-msg").nth(2)).to_contain_text("did not approve")
    assert "month" not in customer.content()
    assert endpoint.calls_of("refundOrder") == []


def test_an_anonymous_customer_gets_an_answer_and_keeps_the_thread(
    live_world: World, web: WebProcess, agent: None, open_window: OpenWindow
) -> None:
    customer, sam = open_window(web.url), open_window(web.url, live_world.sam)
    sam.goto("/inbox/")
    customer.goto("/widget/fernhill/")
    expect(customer.locator("#w-foot")).to_have_text("Not signed in")
    customer.locator("#w-text").fill("Hello, who are you?")
    customer.get_by_role("button", name="Send").click()
    expect(customer.locator(".w-msg")).to_have_count(2, timeout=60_000)
    expect(sam.locator(".qrow")).to_contain_text("Visitor")

    customer.reload()
    expect(customer.locator(".w-msg")).to_have_count(2)
    sam.locator(".qrow").click()
    expect(sam.locator(".ident[data-verified=no]")).to_contain_text("Not verified")


def test_in_the_shops_page_the_chat_works_without_cookies(
    live_world: World, endpoint: Endpoint, web: WebProcess, agent: None, open_window: OpenWindow
) -> None:
    """The shop is another site to the browser, which keeps the frame from everything of Median's own."""
    world = live_world
    _, key = api_keys.create(world.fernhill, name="Shop", scopes=["sessions"])
    shop = fernhill(date(2026, 6, 3))
    tools = shop_tools(shop, secret=worlds.SECRET, issuer=None)
    site = Site(shop, tools=tools.wsgi, log=CallLog(), median=Median(web.url, key, f"{web.url}/widget/fernhill/"))
    with Server(site) as server:
        server.start()
        origin = server.url.replace("127.0.0.1", "localhost")
        world.fernhill.widget_origins = origin
        world.fernhill.save(update_fields=["widget_origins"])
        customer = open_window(origin)
        customer.goto("/chat?as=user_123")
        chat = customer.frame_locator("iframe")
        expect(chat.locator("#w-foot")).to_have_text("Signed in as ana@example.com")
        ask(chat)
        sam = open_window(web.url, world.sam)
        sam.goto("/inbox/")
        sam.locator(".qrow").click()
        wait_for_request(sam).get_by_role("button", name="Approve and run").click()
        expect(chat.locator(".w-msg").nth(2)).to_contain_text("$48.00")

        visitor = open_window(origin)
        visitor.goto("/")
        launcher = visitor.get_by_role("button", name="Chat", exact=True)
        launcher.press("Enter")
        corner = visitor.frame_locator("iframe")
        expect(corner.locator("#w-foot")).to_have_text("Not signed in")
        corner.locator("#w-text").press("Escape")
        expect(visitor.locator("iframe")).to_be_hidden()
        expect(launcher).to_be_focused()
        for window in (customer, visitor):
            assert window.context.cookies() == []
            window.goto("about:blank")
