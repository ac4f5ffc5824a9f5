"""One card in several windows: its steps, a second press, a late press, and what was missed while the line was down."""

import json
import re
from dataclasses import replace

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from approvals import decisions
from approvals.models import ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind
from team.events import Kind
from team.models import Event
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow, card_of, deafen, reads
from tests.chromium import Complaints
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World, session_token
from tools import outcomes, runs
from tools.client import Answer

pytestmark = pytest.mark.django_db(transaction=True)

REFUNDED = '{"refunded":true,"amount":48}'


@pytest.fixture
def approval(world: World) -> ToolApproval:
    threads.customer_wrote(world.conversation.id, body="I'd like a refund.", client_id="message-1")
    return request(world)


@pytest.fixture
def sam(open_window: OpenWindow, web: WebProcess, world: World, approval: ToolApproval) -> Page:
    """Sam's window, on the thread with the card."""
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    expect(card_of(page)).to_have_attribute("data-state", "pending")
    return page


@pytest.fixture
def kim(open_window: OpenWindow, web: WebProcess, world: World, approval: ToolApproval) -> Page:
    """Kim's window, on the same thread."""
    page = open_window(web.url, world.kim)
    page.goto(f"/inbox/{world.conversation.id}/")
    expect(card_of(page)).to_have_attribute("data-state", "pending")
    return page


class Line:
    """The line of a page's socket, which can be cut: the browser's own "offline" leaves open sockets alone."""

    def __init__(self) -> None:
        self._is_up = True
        self._open: list[WebSocketRoute] = []

    def carry(self, socket: WebSocketRoute) -> None:
        if not self._is_up:
            return socket.close()
        socket.connect_to_server()
        self._open.append(socket)
        return None

    def cut(self) -> None:
        self._is_up = False
        for socket in self._open:
            socket.close()

    def mend(self) -> None:
        self._is_up = True


def decided(approval: ToolApproval) -> int:
    """How many decisions the log has."""
    return Event.objects.filter(subject_id=approval.id, kind__in=[Kind.APPROVED, Kind.DENIED]).count()


def answered() -> outcomes.Outcome:
    body = REFUNDED.encode()
    answer = Answer(
        status=200, headers={}, body=body, text=REFUNDED, replaced=False, truncated=False, elapsed_s=0.1
    )  # fmt: skip
    return outcomes.from_answer(answer, kind="manifest")


def test_a_card_goes_through_its_states_in_both_windows(approval: ToolApproval, sam: Page, kim: Page) -> None:
    asked = card_of(kim).evaluate("({ id, dataset, outerHTML }) => ({ id, version: dataset.version, html: outerHTML })")
    card_of(sam).locator("[data-approve]").click()
    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")
    reads(card_of(kim).locator(".outcome"), "Approved by Sam · running now")

    runs.begin(approval.id)
    runs.finish(approval.id, answered())
    for page in (sam, kim):
        expect(card_of(page)).to_have_attribute("data-state", "completed")
        expect(card_of(page)).to_contain_text("Working…")

    runs.write_up(approval.id)
    for page, by in ((sam, "you"), (kim, "Sam")):
        expect(card_of(page)).not_to_contain_text("Working…")
        expect(card_of(page).locator(".result h3")).not_to_be_empty()
        expect(card_of(page).locator(".result dt")).to_have_text(["Refunded", "Amount"])
        expect(card_of(page).locator("details.raw pre")).to_have_text(REFUNDED)
        reads(card_of(page).locator(".card-foot .outcome"), re.compile(rf"^Approved by {by} · \d\d:\d\d$"))

    assert kim.evaluate("(late) => Median.put(late, document.getElementById('thread-items'))", asked) is None
    expect(card_of(kim)).to_have_attribute("data-state", "completed")


def test_a_double_click_approves_once(world: World, approval: ToolApproval, sam: Page) -> None:
    card_of(sam).locator("[data-approve]").dblclick()
    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")
    expect(sam.locator(".line", has_text="approved running")).to_have_count(1)
    expect(sam.locator(".toast")).to_have_count(0)
    assert decided(approval) == 1


def test_a_press_that_failed_says_so_and_can_be_made_again(
    approval: ToolApproval, sam: Page, complaints: Complaints
) -> None:
    approve = card_of(sam).locator("[data-approve]")
    toast = sam.locator(".toast")
    sam.route("**/approve", lambda route: route.fulfill(status=500, body="<h1>Broken</h1>"), times=1)
    approve.click()
    expect(toast).to_contain_text("Something broke on our side. Nothing of yours was lost.")
    complaints.take("500")
    sam.route("**/approve", lambda route: route.abort(), times=1)
    approve.click()
    expect(toast).to_contain_text("No connection. Nothing was done; try again.")
    complaints.take("ERR_FAILED")

    approve.click()

    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")
    complaints.take("htmx:")
    assert decided(approval) == 1


def test_a_late_press_says_who_was_first(
    world: World, approval: ToolApproval, sam: Page, open_window: OpenWindow, web: WebProcess, complaints: Complaints
) -> None:
    """Kim's page never hears that Sam was first: its socket says nothing."""

    kim = open_window(web.url, world.kim)
    deafen(kim)
    kim.goto(f"/inbox/{world.conversation.id}/")
    card_of(sam).locator("[data-approve]").click()
    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")

    card_of(kim).locator("[data-approve]").click()

    expect(kim.locator(".toast")).to_contain_text("This request has already been reviewed.")
    reads(card_of(kim).locator(".outcome"), "Approved by Sam · running now")
    expect(card_of(kim).locator("[data-approve]")).to_have_count(0)
    assert decided(approval) == 1
    sentence = r"^This request has already been reviewed\. Already decided by Sam at \d\d:\d\d\.$"
    expect(card_of(kim).locator(".error")).to_have_text(re.compile(sentence))
    complaints.take("409")


def test_a_decision_while_the_line_was_down_is_caught_up(
    world: World, approval: ToolApproval, open_window: OpenWindow, web: WebProcess
) -> None:
    line = Line()
    kim = open_window(web.url, world.kim)
    kim.route_web_socket(re.compile("/live/$"), line.carry)
    kim.goto(f"/inbox/{world.conversation.id}/")
    expect(card_of(kim)).to_have_attribute("data-state", "pending")
    with kim.expect_response(re.compile("/draft$")):  # kept by the time the line is cut
        kim.locator("#reply").fill("Half a sentence")
    kim.context.set_offline(True)
    line.cut()
    expect(kim.locator("#offline")).to_be_visible()
    decisions.approve(approval.id, by=world.sam.actor)

    kim.context.set_offline(False)
    line.mend()

    reads(card_of(kim).locator(".outcome"), "Approved by Sam · running now")
    expect(kim.locator("#offline")).to_be_hidden()
    expect(kim.locator(".line", has_text="Sam approved running Refund order")).to_have_count(1)
    expect(kim.locator("#reply")).to_have_value("Half a sentence")


def test_work_goes_on_while_the_line_is_down(
    world: World, approval: ToolApproval, sam: Page, open_window: OpenWindow, web: WebProcess
) -> None:
    """Requests still get through: only the socket is gone. Afterwards everything is there once, in order."""
    line = Line()
    kim, ana = open_window(web.url, world.kim), open_window(web.url)
    ana.goto(f"/widget/fernhill/#token={session_token(world.ana)}")
    kim.route_web_socket(re.compile("/live/$"), line.carry)
    kim.goto(f"/inbox/{world.conversation.id}/")
    line.cut()
    expect(kim.locator("#offline")).to_be_visible()
    card_of(kim).locator("[data-approve]").click()
    reads(card_of(kim).locator(".outcome"), "Approved by you · running now")
    kim.locator("#reply").fill("From Kim")
    kim.get_by_role("button", name="Send").click()
    expect(kim.locator("#reply")).to_have_value("")
    ana.locator("#w-text").fill("From Ana")
    ana.locator("#w-text").press("Enter")
    expect(ana.locator(".w-msg").nth(2)).to_contain_text("From Ana")
    sam.locator("#reply").fill("From Sam")
    sam.get_by_role("button", name="Send").click()
    bodies = ["I'd like a refund.", "From Kim", "From Ana", "From Sam"]
    expect(sam.locator(".msg-body")).to_have_text(bodies)

    line.mend()
    kim.evaluate("() => dispatchEvent(new Event('online'))")  # what a browser says, so that nobody waits for a retry

    expect(kim.locator("#offline")).to_be_hidden()
    expect(kim.locator(".msg-body")).to_have_text(bodies)
    expect(kim.locator(".line", has_text="Kim approved running Refund order")).to_have_count(1)
    reads(card_of(kim).locator(".outcome"), "Approved by you · running now")
    reads(card_of(sam).locator(".outcome"), "Approved by Kim · running now")
    assert decided(approval) == 1


def test_the_bar_above_the_composer_answers_at_a_desk_and_only_leads_to_the_card_on_a_phone(
    approval: ToolApproval, sam: Page
) -> None:
    ask = sam.locator("#thread-ask")
    reads(ask.locator("p"), "Median AI needs approval to run Refund order ORD-1042, damaged Show request")
    sam.set_viewport_size({"width": 360, "height": 740})
    reads(ask.locator("p"), "Median AI needs approval to run Refund order")
    expect(ask.locator("[data-approve]")).to_be_hidden()
    ask.get_by_role("link", name="Show request").click()
    expect(card_of(sam)).to_be_in_viewport()
    expect(card_of(sam).locator("h2")).to_be_focused()
    sam.set_viewport_size({"width": 1280, "height": 800})
    ask.get_by_role("button", name="Approve and run").click()
    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")
    expect(ask).to_be_hidden()
    assert decided(approval) == 1


def test_a_press_while_another_thread_is_on_its_way_goes_to_the_thread_it_was_made_in(
    world: World, approval: ToolApproval, sam: Page
) -> None:
    other = threads.start(world.ana)
    threads.customer_wrote(other.id, body="Another refund, please.", client_id="message-2")
    second = request(replace(world, conversation=other))
    sam.locator("#reply").fill("For the first thread")
    under_way: list[Route] = []
    sam.route(f"**/inbox/{other.id}/", lambda route: under_way.append(route))
    button = card_of(sam).locator("[data-approve]").bounding_box()
    assert button
    sam.locator(f'.qrow[href="/inbox/{other.id}/"]').click(no_wait_after=True)
    until(lambda: sam.wait_for_timeout(20) or under_way)

    sam.mouse.click(button["x"] + 5, button["y"] + 5)
    until(lambda: sam.wait_for_timeout(20) or decided(approval) == 1)
    under_way[0].continue_()

    sam.wait_for_url(f"**/inbox/{other.id}/")
    expect(card_of(sam)).to_have_count(1)
    expect(card_of(sam)).to_have_attribute("data-approval", second.id)
    expect(card_of(sam)).to_have_attribute("data-state", "pending")
    expect(sam.locator("#reply")).to_have_value("")
    sam.locator("#reply").press("Control+Enter")
    assert decided(second) == 0
    sam.go_back()
    expect(sam.locator("#reply")).to_have_value("For the first thread")
    reads(card_of(sam).locator(".outcome"), "Approved by you · running now")
    assert not Item.objects.filter(kind=ItemKind.TEAM).exists()


def test_a_page_that_cannot_be_fetched_again_is_asked_for_once(sam: Page, complaints: Complaints) -> None:
    """As the answer to a form is, when more has changed than can be told one by one."""
    lines: list[WebSocketRoute] = []
    asked: list[str] = []

    def connected(line: WebSocketRoute) -> None:
        lines.append(line)
        line.on_message(lambda said: line.send(json.dumps({"kind": "refresh"})) if "requests" in str(said) else None)

    def answered(route: Route) -> None:
        if route.request.is_navigation_request():
            return route.continue_()
        asked.append(route.request.url)
        return route.fulfill(status=405)

    sam.route_web_socket("**/live/", connected)
    sam.route("**/approvals/", answered)
    with sam.expect_response(lambda response: response.status == 405):
        sam.goto("/approvals/")
    lines[0].send(json.dumps({"kind": "request", "id": "call_2", "pending": True, "facets": {}}))
    expect(sam).to_have_title("(2) Approvals, Median")
    assert len(asked) == 1
    complaints.take("405")
