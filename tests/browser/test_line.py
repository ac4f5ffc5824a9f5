"""The line between a page and its server: one for each page, none left behind, and noticed when it is dead."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, WebSocket, WebSocketRoute, expect

from approvals import decisions
from approvals.models import ToolApproval
from conversations import threads
from median_site.lib import clock
from tests.approvals.requests import answer, request
from tests.browser.conftest import OpenWindow, card_of, reads
from tests.chromium import closing_connections
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World, session_token

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 7
HTTP_CONNECTIONS = 6  # of a browser with one server, at most


class Line:
    """The line of a page's socket, which can die as a laptop's does in its sleep: without a word to either side."""

    def __init__(self, page: Page) -> None:
        self.opened = 0
        self._dead = 0
        page.route_web_socket(re.compile("/live/$"), self._carry)

    def die(self) -> None:
        """Those opened until now carry nothing any more."""
        self._dead = self.opened

    def _carry(self, socket: WebSocketRoute) -> None:
        self.opened += 1
        mine, server = self.opened, socket.connect_to_server()
        socket.on_message(lambda frame: server.send(frame) if mine > self._dead else None)
        server.on_message(lambda frame: socket.send(frame) if mine > self._dead else None)


@pytest.fixture
def approval(world: World) -> ToolApproval:
    threads.customer_wrote(world.conversation.id, body="I'd like a refund.", client_id="message-1")
    return request(world)


def connections(web: WebProcess) -> int:
    """How many a web process has at this moment."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(here.endswith(f":{web.port:04X}") and state == "01" for _, here, _, state, *_ in rows)


def test_each_thread_opens_one_socket_and_leaves_none_behind(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    conversations = [threads.start(world.ana) for _ in range(THREADS)]
    page = open_window(web.url, world.sam)
    opened: list[WebSocket] = []
    frames: list[str] = []

    def is_open(socket: WebSocket) -> None:
        opened.append(socket)
        socket.on("framereceived", lambda frame: frames.append(str(frame)))

    page.on("websocket", is_open)
    page.goto("/inbox/")
    for conversation in conversations:
        page.locator(f'.qrow[href="/inbox/{conversation.id}/"]').click()
        page.wait_for_url(f"**/inbox/{conversation.id}/")  # and loaded
    page.go_back()
    page.wait_for_url(f"**/inbox/{conversations[-2].id}/")
    for conversation in conversations:
        threads.note(conversation.id, by=world.kim.actor, body="First")
    threads.note(conversations[-2].id, by=world.kim.actor, body="Second")

    expect(page.locator("#thread-items .msg-body")).to_have_text(["First", "Second"])
    pushed = [
        part for frame in frames if '"kind":"thread"' in frame for part in re.findall(r'"id":"(item-\d+)"', frame)
    ]
    assert pushed == ["item-1", "item-2"]
    assert len(opened) == THREADS + 2
    until(lambda: connections(web) <= HTTP_CONNECTIONS + 1)


def test_a_line_that_died_without_a_word_is_noticed(
    world: World, approval: ToolApproval, web: WebProcess, open_window: OpenWindow
) -> None:
    sam, ana = open_window(web.url, world.sam), open_window(web.url)
    lines = [Line(sam), Line(ana)]
    for page in (sam, ana):
        page.clock.install()
    sam.goto(f"/inbox/{world.conversation.id}/")
    ana.goto(f"/widget/fernhill/#token={session_token(world.ana)}")
    sam.locator("#reply").fill("Half a sentence")

    def say(words: str) -> None:
        threads.reply(world.conversation.id, by=world.kim.actor, body=words)

    def hear(words: str) -> None:
        expect(sam.locator(".msg--team").last).to_contain_text(words)
        expect(ana.locator(".w-msg").last).to_contain_text(words)

    say("The lines are up.")
    hear("The lines are up.")
    for line in lines:
        line.die()
    decisions.approve(approval.id, by=world.kim.actor)
    answer(approval, '{"refunded":true}')
    say("While you slept.")
    for page in (sam, ana):
        page.clock.fast_forward("10:00")
    hear("While you slept.")
    expect(card_of(sam)).to_have_attribute("data-state", "completed")
    expect(sam.locator(".line", has_text="Kim approved running Refund order")).to_have_count(1)

    # And by a machine whose clock is set back.
    for line in lines:
        line.die()
    say("An hour ago.")
    for page in (sam, ana):
        page.clock.set_system_time(clock.now() - timedelta(hours=1))
        page.clock.run_for(5_000)  # until the page looks again
    hear("An hour ago.")
    expect(sam.locator(".msg--team")).to_have_count(3)
    expect(sam.locator("#reply")).to_have_value("Half a sentence")
    expect(sam.locator("#reply")).to_be_focused()
    for page in (sam, ana):
        expect(page.locator("#offline")).to_be_hidden()
    assert [line.opened for line in lines] == [3, 3]


def test_what_happens_before_the_page_joins_is_not_missed(
    world: World, approval: ToolApproval, web: WebProcess, open_window: OpenWindow
) -> None:
    page = open_window(web.url, world.sam)

    def late(route: Route) -> None:
        """The page is there, made before Kim approved; its scripts are not."""
        with closing_connections():
            decisions.approve(approval.id, by=world.kim.actor)
        route.continue_()

    page.route("**/js/app.js", late, times=1)
    page.goto(f"/inbox/{world.conversation.id}/")
    reads(card_of(page).locator(".outcome"), "Approved by Kim · running now")
    expect(page.locator(".line", has_text="Kim approved running Refund order")).to_have_count(1)


def test_an_answer_that_was_overtaken_paints_over_nothing(
    world: World, approval: ToolApproval, web: WebProcess, open_window: OpenWindow
) -> None:
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")

    def late(route: Route) -> None:
        """The card as it was when the call had not left yet, after it has come back."""
        pressed = route.fetch()
        with closing_connections():
            answer(approval, '{"refunded":true}')
        until(lambda: page.wait_for_timeout(20) or card_of(page).get_attribute("data-state") == "completed")
        route.fulfill(response=pressed)

    page.route("**/approve", late, times=1)
    with page.expect_response("**/approve"):
        card_of(page).locator("[data-approve]").click()
    expect(card_of(page)).to_have_attribute("data-state", "completed")
    expect(page.locator(".line", has_text="Sam approved running Refund order")).to_have_count(1)
