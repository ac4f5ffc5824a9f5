"""An input method at work, as people write Japanese with: what it has not settled yet is nobody's to send, run, choose
or take away."""

import pytest
from playwright.sync_api import CDPSession, Locator, Page, Route, expect

from conversations import drafts, threads
from conversations.models import Draft
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World, session_token
from tools.models import ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

COUNT_ENDS = """() => document.addEventListener("compositionend", () => {
  document.body.dataset.ends = Number(document.body.dataset.ends ?? 0) + 1;
})"""
CONTROL = 2


class InputMethod:
    """Of one page: it writes where the focus is."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._wire: CDPSession = page.context.new_cdp_session(page)
        page.evaluate(COUNT_ENDS)

    def compose(self, text: str) -> None:
        at = {"selectionStart": len(text), "selectionEnd": len(text)}
        self._wire.send("Input.imeSetComposition", {"text": text, **at})

    def settle(self, text: str) -> None:
        self._wire.send("Input.insertText", {"text": text})

    def enter(self, *, modifiers: int = 0) -> None:
        """The Enter that takes a candidate. In Safari it comes after the composition has ended."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229, "modifiers": modifiers}
        self._wire.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
        self._wire.send("Input.dispatchKeyEvent", {"type": "keyUp", **key})

    @property
    def ends(self) -> int:
        """How many compositions have ended."""
        return int(self._page.evaluate("() => document.body.dataset.ends ?? 0"))

    def write(self, where: Locator, text: str, *, modifiers: int = 0) -> None:
        """Composes it at the end of what is there, taking a candidate in both orders of events."""
        where.press("End")
        self.compose(text)
        self.enter(modifiers=modifiers)
        self.settle(text)
        self.enter(modifiers=modifiers)


def test_pushes_leave_a_composition_alone(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    page, path = open_window(web.url, world.sam), f"/inbox/{world.conversation.id}/"
    page.goto(path)
    reply = page.locator("#reply")
    reply.press_sequentially("Hi ")
    method = InputMethod(page)
    for field in (reply, page.locator("#run").get_by_label("Order number")):
        if field is not reply:
            page.locator(".tool-list").get_by_role("link", name="Order status").click()
            field.press_sequentially("Hi ")
        ended, notes = method.ends, page.locator(".msg--note").count()
        method.compose("にほ")
        for number in range(20):
            threads.note(world.conversation.id, by=world.kim.actor, body=f"Note {number}")
        expect(page.locator(".msg--note")).to_have_count(notes + 20)
        if field is reply:
            request(world)
            expect(page.locator("#thread-ask")).to_be_visible()
            until(lambda: Draft.objects.filter(text="Hi にほ").exists())  # nothing is left that could not be taken away
            drafts.save(world.conversation.id, by=world.sam.actor, mode="reply", body="Elsewhere", base=0)
            with page.expect_response("**/draft"):
                page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
        expect(field).to_have_value("Hi にほ")
        expect(field).to_be_focused()
        assert method.ends == ended
        method.compose("にほん")
        method.settle("日本")
        expect(field).to_have_value("Hi 日本")
        assert method.ends == ended + 1


def test_the_answer_to_a_reply_leaves_what_is_typed_meanwhile(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    method, reply, sent = InputMethod(page), page.locator("#reply"), page.locator(".msg--team .msg-body")
    held: list[Route] = []
    page.route("**/write", lambda route: held.append(route))

    reply.press_sequentially("Hello")
    with page.expect_request("**/write"):
        reply.press("Control+Enter")
    expect(page.locator("#mode-note")).to_be_disabled()  # its text is another one
    reply.press_sequentially("\n  - x")
    reply.press("ArrowLeft")
    held.pop().continue_()
    expect(reply).to_have_value("\n  - x")
    assert reply.evaluate("(box) => box.selectionStart") == 5

    with page.expect_request("**/write"):
        reply.press("Control+Enter")
    reply.press("End")
    method.compose("にほ")
    held.pop().continue_()
    expect(sent).to_have_count(2)
    expect(reply).to_have_value("\n  - xにほ")
    assert method.ends == 0
    method.settle("日本")
    expect(reply).to_have_value("日本")
    until(lambda: list(Draft.objects.values_list("text", flat=True)) == ["日本"])


def test_the_enter_that_takes_a_candidate_does_nothing_else(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    method, reply, field = InputMethod(page), page.locator("#reply"), page.locator("#run").get_by_label("Order number")

    reply.press_sequentially("/orderstatus")
    expect(page.locator("#slash [role=option]:visible")).to_have_count(1)
    method.enter()
    expect(reply).to_have_value("/orderstatus")
    expect(page.locator("#run")).to_be_hidden()
    reply.press("Enter")
    expect(field).to_be_focused()
    method.write(field, "注文")
    expect(field).to_have_value("注文")
    expect(page.locator("#run")).to_be_visible()
    page.locator("#run").get_by_role("button", name="Cancel").click()

    method.write(reply, "日本", modifiers=CONTROL)
    expect(reply).to_have_value("日本")
    reply.press("Control+Enter")
    expect(page.locator(".msg--team .msg-body")).to_have_text("日本")
    reply.press("Escape")
    expect(page.locator(".qrow[aria-current]")).to_be_focused()

    page.keyboard.press("Control+k")
    palette = page.locator("#palette input")
    method.write(palette, "受")
    expect(page.locator("#palette")).to_be_visible()
    assert ToolRun.objects.count() == 0

    ana = open_window(web.url)
    ana.goto(f"/widget/fernhill/#token={session_token(world.ana)}")
    text = ana.locator("#w-text")
    expect(ana.locator(".w-msg")).to_have_count(1)
    InputMethod(ana).write(text, "ありがとう")
    expect(text).to_have_value("ありがとう")
    text.press("Enter")
    expect(ana.locator(".w-msg--me")).to_have_text("ありがとう")
    expect(page.locator(".msg--customer .msg-body")).to_have_text("ありがとう")
