"""The assistant's panel in a window: asked by keyboard, deciding by the card's own buttons, in two tabs, on a phone."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from approvals.models import ToolApproval
from conversations import threads
from conversations.models import Customer
from team.events import Kind
from team.models import Event
from tests import agent_process
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow, card_of
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def wish(world: World) -> Iterator[ToolApproval]:
    """A request that waits, and the agent process at work."""
    threads.customer_wrote(world.conversation.id, body="The lid came dented.", client_id="1")
    wish = request(world)
    with agent_process.as_process():
        yield wish


def test_a_teammate_asks_by_keyboard_and_decides_on_the_card(
    world: World, web: WebProcess, open_window: OpenWindow, wish: ToolApproval
) -> None:
    page = open_window(web.url, world.sam)
    page.goto("/logs/")
    other = page.context.new_page()
    other.goto("/")
    other.get_by_role("link", name="Assistant").click()
    expect(other.get_by_text("Ask about threads and requests")).to_be_visible()

    panel = page.locator("#assistant")
    page.keyboard.press("q")
    expect(panel.get_by_label("Ask the assistant")).to_be_focused()
    page.keyboard.type("approve the refund")
    page.keyboard.press("Enter")
    expect(card_of(page)).to_have_attribute("data-state", "pending")
    expect(panel.get_by_label("Ask the assistant")).to_have_value("")
    expect(card_of(other)).to_have_attribute("data-state", "pending")
    assert not Event.objects.filter(kind=Kind.APPROVED).exists()

    panel.get_by_role("button", name="Approve and run").click()
    until(lambda: Event.objects.filter(kind=Kind.APPROVED).exists())
    event = Event.objects.get(kind=Kind.APPROVED)
    assert (event.actor_id, event.subject_id) == (world.sam.id, wish.id)
    expect(card_of(page)).to_have_attribute("data-state", re.compile("executing|completed|failed"))
    expect(card_of(other)).to_have_attribute("data-state", re.compile("executing|completed|failed"))

    page.get_by_role("link", name="Inbox").click()  # it stays open from page to page
    page.get_by_label("Ask the assistant").fill("half a question")
    page.reload()
    expect(page.get_by_label("Ask the assistant")).to_have_value("half a question")
    page.get_by_label("Ask the assistant").press("Escape")
    expect(panel).to_be_hidden()
    expect(page.get_by_role("link", name="Assistant")).to_be_focused()

    other.get_by_role("button", name="Clear").click()
    expect(other.get_by_text("Ask about threads and requests")).to_be_visible()


def test_a_denial_asks_once_more_on_any_page_and_names_the_customer(
    world: World, web: WebProcess, open_window: OpenWindow, wish: ToolApproval
) -> None:
    bo = Customer.objects.create(workspace=world.fernhill, subject="user_9", name="Bo")
    another = threads.start(bo)  # whose thread is open meanwhile
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{another.id}/")
    page.keyboard.press("q")
    expect(page.get_by_label("Ask the assistant")).to_be_focused()
    page.keyboard.type("deny the refund")
    page.keyboard.press("Enter")
    page.locator("#assistant").get_by_role("button", name="Deny").click()
    dialog = page.get_by_role("dialog", name="Deny Refund order?")
    expect(dialog).to_contain_text("For Ana Souza. Median AI tells the customer")
    dialog.get_by_label("Reason").fill("Paid back.")
    dialog.get_by_role("button", name="Deny").click()
    expect(card_of(page)).to_have_attribute("data-state", "denied")
    assert ToolApproval.objects.get().reason == "Paid back."
    assert page.url.endswith(f"/inbox/{another.id}/")


def test_a_card_that_the_page_has_already_stands_there_alone(
    world: World, web: WebProcess, open_window: OpenWindow, wish: ToolApproval
) -> None:
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    page.get_by_role("link", name="Assistant").click()
    page.get_by_role("button", name="Explain this request").click()
    expect(page.locator("#assistant")).to_contain_text("The customer asked: “The lid came dented.”")
    page.get_by_label("Ask the assistant").fill("deny this")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("link", name="Go to the card").click()
    expect(card_of(page)).to_have_count(1)
    expect(card_of(page).get_by_role("heading")).to_be_focused()


def test_on_a_phone_the_panel_is_the_whole_screen(
    world: World, web: WebProcess, open_window: OpenWindow, wish: ToolApproval
) -> None:
    page = open_window(web.url, world.sam)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/approvals/")
    page.get_by_role("button", name="You", exact=True).click()
    page.get_by_role("link", name="Assistant").click()
    expect(page.locator("#account")).to_be_hidden()
    page.get_by_label("Ask the assistant").fill("approve the refund")
    page.get_by_label("Ask the assistant").press("Enter")
    expect(page.get_by_role("link", name="Go to the card")).to_be_visible()
    assert page.locator("#assistant").bounding_box() == {"x": 0, "y": 0, "width": 360, "height": 740}
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Close the assistant").click()
    expect(page.locator("#assistant")).to_be_hidden()
    expect(page.get_by_role("button", name="You", exact=True)).to_be_focused()
