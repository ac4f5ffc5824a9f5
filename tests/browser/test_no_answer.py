"""A request that nobody answers: the page says so in the end, what was typed stays, and the button works again."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from approvals.models import State, ToolApproval
from conversations import threads
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow, reads
from tests.chromium import Complaints
from tests.web_process import WebProcess
from tests.world import World
from tools.models import ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

# Half a minute is over at once for the request that gets no answer.
IMPATIENT = """() => document.body.addEventListener("htmx:configRequest", ({ detail }) => {
  const { dataset } = document.body;
  if (!dataset.silent || !detail.path.endsWith(dataset.silent)) return;
  detail.timeout = 300;
  dataset.silent = "";
})"""
NO_ANSWER = "No answer. Check whether it went through before you press again."


@pytest.fixture
def sam(open_window: OpenWindow, web: WebProcess, world: World) -> Page:
    """Sam's window on a thread with a card."""
    threads.customer_wrote(world.conversation.id, body="I'd like a refund.", client_id="message-1")
    request(world)
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    assert page.evaluate("() => htmx.config.timeout") == 30_000
    return page


class Silence:
    """What becomes of requests whose answers never come."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._kept: list[Route] = []
        page.evaluate(IMPATIENT)

    def at(self, end: str, *, is_lost: bool = False) -> None:
        """The next request to an address with this end never gets there; or it does, and its answer is lost."""
        self._page.evaluate("(end) => { document.body.dataset.silent = end; }", end)
        self._page.route(f"**{end}", self._lose if is_lost else self._swallow, times=1)

    def _swallow(self, route: Route) -> None:
        self._kept.append(route)

    def _lose(self, route: Route) -> None:
        route.fetch()
        self._kept.append(route)

    def end(self) -> None:
        for route in self._kept:
            route.abort()


@pytest.fixture
def silence(sam: Page, complaints: Complaints) -> Iterator[Silence]:
    silence = Silence(sam)
    yield silence
    silence.end()
    complaints.take("htmx:")


def test_a_decision(world: World, sam: Page, silence: Silence) -> None:
    first = ToolApproval.objects.get()
    second = request(world, tool="closeAccount")
    deny, reason = sam.locator(f"#{first.id} [data-deny]"), sam.get_by_label("Reason")
    question = sam.get_by_role("dialog", name="Deny Refund order?")
    silence.at("/deny")
    deny.click()
    reason.fill("Third refund this month.")
    question.get_by_role("button", name="Deny").click()
    expect(sam.locator(".toast")).to_contain_text(NO_ANSWER)
    sam.locator(".toast button").click()
    deny.click()
    expect(reason).to_have_value("Third refund this month.")
    question.get_by_role("button", name="Deny").click()
    expect(sam.locator(f"#{first.id}")).to_have_attribute("data-state", "denied")

    silence.at("/approve")
    approve = sam.locator(f"#{second.id} [data-approve]")
    approve.click()
    expect(approve).to_be_disabled()
    expect(sam.locator(".toast")).to_contain_text(NO_ANSWER)
    expect(approve).to_be_enabled()
    approve.click()
    reads(sam.locator(f"#{second.id} .outcome"), "Approved by you · running now")
    states = dict(ToolApproval.objects.values_list("id", "state"))
    assert states == {first.id: State.DENIED, second.id: State.EXECUTING}


def test_a_message_sent_again_stands_once(world: World, sam: Page, silence: Silence) -> None:
    text, send = sam.locator("#reply"), sam.get_by_role("button", name="Send")
    text.fill("You can, Ana.")
    silence.at("/write", is_lost=True)
    send.click()
    expect(sam.locator("[data-fault]:visible")).to_have_text(
        "No answer. Your text is kept here, and sending it again as it is cannot send it twice."
    )
    expect(sam.locator(".toast")).to_have_count(0)
    expect(text).to_have_value("You can, Ana.")
    send.click()
    expect(text).to_have_value("")
    # The same words once more are another message.
    text.fill("You can, Ana.")
    send.click()
    expect(text).to_have_value("")
    expect(sam.locator(".msg-body")).to_have_text(["I'd like a refund.", "You can, Ana.", "You can, Ana."])


def test_a_run_pressed_again_runs_once(world: World, sam: Page, silence: Silence) -> None:
    reply, dialog = sam.locator("#reply"), sam.locator("#run")
    silence.at("/slash")
    reply.press_sequentially("/orderstatus")
    expect(sam.locator(".toast")).to_contain_text(NO_ANSWER)
    reply.fill("/orderstatu")  # the menu is asked for again
    expect(sam.locator("#slash [role=option]:visible")).to_have_count(1)
    reply.press("Enter")
    order, run = dialog.get_by_label("Order number"), dialog.locator(".dialog-foot [data-run]")
    order.fill("ORD-1042")
    silence.at("/run", is_lost=True)
    run.click()
    expect(dialog.get_by_role("alert")).to_have_text(
        "No answer. What you typed is kept, and pressing Run again cannot run it twice."
    )
    expect(order).to_have_value("ORD-1042")
    run.click()
    expect(dialog).to_be_hidden()
    expect(sam.locator(".run-card")).to_have_count(1)
    assert ToolRun.objects.count() == 1
