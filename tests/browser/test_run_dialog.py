"""A teammate runs tools from the thread in a real window: the slash menu, the dialog, what it keeps and what leaves."""

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from conversations import threads
from conversations.models import SavedReply
from tests import agent_process
from tests import world as worlds
from tests.browser.conftest import OpenWindow, reads, sign_in
from tests.chromium import Complaints
from tests.endpoint import Endpoint
from tests.web_process import WebProcess
from tests.world import World
from tools import manifest, sync
from tools.models import Tool, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

TIMING = "Refunds reach the card in 3 to 5 days."
POST = {"title": "Post", "type": "object", "required": ["weight"], "properties": {"weight": {"type": "number"}}}
COURIER = {"title": "Courier", "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
REPLACEMENT = {
    "name": "sendReplacement",
    "description": "Ship items again, at no charge.",
    "risk": "medium",
    "input": {
        "type": "object",
        "required": ["orderNumber", "count", "express", "to", "items"],
        "properties": {
            "orderNumber": {"type": "string"},
            "count": {"type": "integer", "minimum": 1, "maximum": 5},
            "express": {"type": "boolean"},
            "to": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}},
            "items": {"type": "array", "items": {"type": "string"}},
            "gift": {"type": ["string", "null"]},
            "at": {"type": "string", "format": "date-time"},
            "via": {"oneOf": [POST, COURIER]},
            "note": {"type": "string", "maxLength": 500},
        },
    },
}  # fmt: skip


@pytest.fixture
def thread(world: World, web: WebProcess, open_window: OpenWindow) -> Page:
    """Sam's window on the world's thread."""
    SavedReply.objects.create(workspace=world.fernhill, title="Refund timing", text=TIMING)
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    return page


@pytest.fixture
def offer(world: World) -> Callable[..., None]:
    def add(*tools: dict[str, object]) -> None:
        sync.store(
            world.endpoint, manifest.parse(json.dumps({"version": 1, "tools": [*worlds.TOOLS, *tools]}).encode())
        )

    return add


def reply_of(page: Page) -> Locator:
    return page.locator("#reply")


def dialog_of(page: Page) -> Locator:
    return page.locator("#run")


def run_of(page: Page) -> Locator:
    return dialog_of(page).locator(".dialog-foot [data-run]")


def opened(page: Page, label: str) -> Locator:
    """The dialog of a tool, from the details panel."""
    page.locator(".tool-list").get_by_role("link", name=label).click()
    expect(dialog_of(page)).to_be_visible()
    return dialog_of(page)


def marked(page: Page) -> Locator:
    """The option that the text box points at."""
    return page.locator(f"#{reply_of(page).get_attribute('aria-activedescendant')}")


def compose_enter(box: Locator) -> None:
    """The Enter that takes a candidate of an input method."""
    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "keyCode": 229, "bubbles": True})


def test_the_menu_by_keyboard(world: World, thread: Page) -> None:
    reply = reply_of(thread)
    reply.press_sequentially("/")
    options = thread.locator("#slash [role=option]:visible")
    expect(options).to_have_count(9)
    reply.press_sequentially("re")
    expect(options.locator("b")).to_have_text(["Refund order", "Refund small order", "Resend invoice", "Refund timing"])
    expect(thread.locator("#thread-status")).to_have_text("4 matches")
    expect(marked(thread)).to_contain_text("Refund order")
    reply.press("ArrowUp")
    expect(marked(thread)).to_contain_text("Refund timing")
    reply.press("ArrowDown")
    reply.press("ArrowDown")
    expect(marked(thread)).to_contain_text("Refund small order")
    compose_enter(reply)
    expect(dialog_of(thread)).to_be_hidden()
    expect(reply).to_have_value("/re")
    reply.press("Escape")
    expect(thread.locator("#slash")).to_be_hidden()
    expect(reply).to_have_value("/re")
    assert reply.get_attribute("aria-activedescendant") is None
    reply.fill("")
    reply.fill("/resendinv")
    expect(options).to_have_count(1)
    reply.fill("/refund nobody")
    expect(thread.locator("#thread-status")).to_have_text("No tool or saved reply matches")
    expect(thread.locator("#slash")).to_be_hidden()
    reply.fill("/refund t")
    expect(options).to_have_count(1)
    reply.press("Enter")
    expect(reply).to_have_value(TIMING)
    expect(reply).to_be_focused()
    assert ToolRun.objects.count() == 0


def test_the_single_key_leaves_a_draft_alone(thread: Page) -> None:
    thread.locator("#thread-title").click()
    thread.keyboard.press("/")
    expect(reply_of(thread)).to_have_value("/")
    expect(thread.locator("#slash")).to_be_visible()
    reply_of(thread).fill("Hello Ana, ")
    expect(thread.locator("#slash")).to_be_hidden()
    reply_of(thread).blur()
    thread.keyboard.press("/")
    expect(thread.locator("#slash")).to_be_visible()
    expect(reply_of(thread)).to_have_value("Hello Ana, ")
    thread.locator("#slash").get_by_text("Refund timing").click()
    expect(reply_of(thread)).to_have_value(f"Hello Ana, {TIMING}")


def test_run_from_the_menu_and_seen_by_all(
    live_world: World, endpoint: Endpoint, web: WebProcess, open_window: OpenWindow
) -> None:
    world = live_world
    conversation = threads.start(world.ana)
    sam, kim = open_window(web.url, world.sam), open_window(web.url, world.kim)
    for page in (sam, kim):
        page.goto(f"/inbox/{conversation.id}/")
    reply_of(sam).press_sequentially("/refund or")
    expect(sam.locator("#slash [role=option]:visible")).to_have_count(1)
    reply_of(sam).press("Enter")
    dialog = dialog_of(sam)
    expect(dialog.get_by_role("heading")).to_contain_text("Refund order")
    expect(dialog).to_contain_text("High risk")
    expect(dialog).to_contain_text("For Ana Souza")
    order = dialog.get_by_label("Order number")
    expect(order).to_be_focused()
    expect(reply_of(sam)).to_have_value("")
    expect(run_of(sam)).to_be_disabled()
    expect(dialog.locator("[data-left]")).to_have_text("2 required fields left")
    order.fill("ORD-1042")
    order.press("Enter")
    dialog.get_by_label("Reason").select_option("damaged")
    expect(run_of(sam)).to_be_enabled()
    expect(dialog.locator("[data-left]")).to_have_text("Ready to run")
    assert ToolRun.objects.count() == 0

    answer = endpoint.hold("refundOrder")
    with agent_process.as_process():
        run_of(sam).dblclick()
        expect(dialog).to_be_hidden()
        expect(reply_of(sam)).to_be_focused()
        for page, who in ((sam, "You"), (kim, "Sam")):
            card = page.locator(".run-card")
            reads(card.get_by_role("heading", level=2), f"{who} ran Refund order")
            expect(card.locator(".outcome")).to_have_text("Running now")
        sam.goto("/agent/tools/")
        sam.go_back()
        expect(sam.locator(".run-card .outcome")).to_have_text("Running now")
        answer.set()
        for page in (sam, kim):
            expect(page.locator(".run-card")).to_have_attribute("data-state", "completed", timeout=30_000)
            expect(page.locator(".run-card")).to_contain_text("48")
    called = endpoint.calls_of("refundOrder")
    assert [call.body["input"] for call in called] == [{"orderNumber": "ORD-1042", "reason": "damaged"}]
    assert [call.body["context"]["approvedBy"] for call in called] == ["Sam Okafor"]


def test_the_dialog_keeps_the_focus_and_what_was_typed(world: World, thread: Page) -> None:
    dialog = opened(thread, "Refund order")
    order = dialog.get_by_label("Order number")
    expect(order).to_be_focused()
    order.fill("ORD-1042")
    compose_enter(order)
    order.evaluate("(box) => box.setSelectionRange(2, 5)")
    for number in range(20):
        threads.note(world.conversation.id, by=world.kim.actor, body=f"Note {number}")
    expect(thread.locator("#thread-items .msg")).to_have_count(20)
    expect(order).to_be_focused()
    assert order.evaluate("(box) => [box.value, box.selectionStart, box.selectionEnd]") == ["ORD-1042", 2, 5]
    for _ in range(12):
        thread.keyboard.press("Tab")
        inside = thread.evaluate_handle("document.activeElement").evaluate(
            "(element) => element === document.body || Boolean(element.closest('#run'))"
        )
        assert inside
    thread.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(thread.locator(".tool-list").get_by_role("link", name="Refund order")).to_be_focused()
    expect(opened(thread, "Refund order").get_by_label("Order number")).to_have_value("ORD-1042")
    dialog.get_by_role("button", name="Cancel").click()
    expect(opened(thread, "Refund order").get_by_label("Order number")).to_have_value("")
    assert ToolRun.objects.count() == 0


def test_refused_by_the_server_or_lost_on_the_way(
    world: World, thread: Page, complaints: Complaints, offer: Callable[..., None]
) -> None:
    offer(REPLACEMENT)
    thread.reload()
    dialog = opened(thread, "Send replacement")
    dialog.get_by_label("Order number").fill("line one")
    dialog.get_by_label("Count").fill("50")
    dialog.get_by_label("No", exact=True).check(force=True)
    dialog.get_by_label("City").fill("Lisboa")
    run_of(thread).click()
    expect(dialog.locator(".error")).to_have_text("count is greater than the maximum of 5.")
    complaints.take("422")
    count = dialog.get_by_label("Count")
    expect(count).to_be_focused()
    expect(count).to_have_value("50")
    expect(dialog.get_by_label("Order number")).to_have_value("line one")
    Tool.objects.filter(name="sendReplacement").update(switched_on=False)
    count.fill("5")
    run_of(thread).click()
    fault = dialog.get_by_role("alert")
    expect(fault).to_have_text("Send replacement is unavailable or disabled. Check its settings in Agent > Tools.")
    complaints.take("409")
    expect(count).to_have_value("5")
    Tool.objects.filter(name="sendReplacement").update(switched_on=True)

    # A server in front of ours answers with a page of its own.
    thread.route(
        "**/run", lambda route: route.fulfill(status=502, content_type="text/html", body="<h1>Oh</h1>"), times=1
    )
    run_of(thread).click()
    expect(fault.filter(visible=True)).to_have_text("Something broke on our side. Nothing of yours was lost.")
    complaints.take("502")
    # What is typed while the form is on its way stays, and so does the focus.
    held: list[Route] = []
    thread.route("**/form", lambda route: held.append(route), times=1)
    with thread.expect_request("**/form"):
        dialog.get_by_role("button", name="Add an item to Items").click()
    dialog.get_by_label("City").fill("Porto")
    dialog.get_by_label("Order number").press("End")
    held.pop().continue_()
    expect(dialog.get_by_role("textbox", name="Items, item 1")).to_be_visible()
    expect(dialog.get_by_label("Order number")).to_be_focused()
    dialog.get_by_role("button", name="Remove Items, item 1").click()
    expect(dialog.get_by_role("textbox", name="Items, item 1")).to_have_count(0)

    run_of(thread).click()
    expect(dialog).to_be_hidden()
    expect(thread.locator(".run-card")).to_have_count(1)
    run = ToolRun.objects.get()
    assert run.input == '{"orderNumber":"line one","count":5,"express":false,"to":{"city":"Porto"},"items":[]}'


def test_every_kind_of_field_leaves_as_what_it_is(thread: Page, offer: Callable[..., None]) -> None:
    offer(REPLACEMENT)
    thread.reload()
    dialog = opened(thread, "Send replacement")
    dialog.get_by_label("Order number").fill("1042")
    dialog.get_by_label("Count").fill("2.0")
    dialog.get_by_label("Yes", exact=True).check(force=True)
    dialog.get_by_label("City").fill("a\nb")
    add = dialog.get_by_role("button", name="Add an item to Items")
    for number, text in ((1, "lid"), (2, "gone"), (3, "7")):
        add.press("Enter")
        item = dialog.get_by_label(f"Items, item {number}", exact=True)
        expect(item).to_be_focused()
        item.fill(text)
    dialog.get_by_role("button", name="Remove Items, item 2").click()
    expect(dialog.locator("[name='items:/items']")).to_have_count(2)
    expect(dialog.get_by_label("Items, item 2", exact=True)).to_have_value("7")
    dialog.get_by_label("null", exact=True).check(force=True)
    dialog.locator("[type=datetime-local]").fill("2025-06-05T10:30")
    expect(dialog.locator("[data-sent-as]")).to_have_text(re.compile(r"^Sent as 2025-06-05T10:30:00[+-]\d\d:\d\d$"))
    dialog.locator("[data-zone]").fill("+01:00")
    dialog.get_by_label("Courier").check()
    expect(run_of(thread)).to_be_disabled()
    expect(dialog.get_by_label("Weight")).to_be_hidden()
    dialog.get_by_role("button", name="Show", exact=True).click()  # what is still missing
    expect(dialog.get_by_label("Name")).to_be_focused()
    dialog.get_by_label("Name").fill("DHL")
    expect(dialog.get_by_role("button", name="Show", exact=True)).to_be_hidden()
    dialog.get_by_label("Note").fill("one\n two")
    dialog.get_by_role("button", name="Edit as JSON").click()
    expect(dialog.locator("[name=json]")).to_have_value(re.compile(r'"count": 2\.0,'))
    dialog.get_by_role("button", name="Edit as fields").click()
    expect(dialog.get_by_label("Name")).to_have_value("DHL")
    run_of(thread).click()
    expect(thread.locator(".run-card")).to_have_count(1)
    assert ToolRun.objects.get().input == (
        '{"orderNumber":"1042","count":2,"express":true,"to":{"city":"a\\nb"},"items":["lid","7"],"gift":null,'
        '"at":"2025-06-05T10:30:00+01:00","via":{"name":"DHL"},"note":"one\\n two"}'
    )


def test_on_a_phone_it_comes_from_below_and_covers_nothing_of_the_menu(thread: Page) -> None:
    thread.set_viewport_size({"width": 360, "height": 700})
    reply_of(thread).press_sequentially("/ref")
    menu = thread.locator("#slash")
    expect(menu).to_be_visible()
    above, below = menu.bounding_box(), reply_of(thread).bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] + above["height"] <= below["y"]
    menu.get_by_text("Refund order").click()
    expect(dialog_of(thread)).to_be_visible()
    box = dialog_of(thread).bounding_box()
    assert box is not None
    assert (box["x"], box["width"], box["y"] + box["height"]) == (0, 360, 700)


def test_without_a_script(world: World, web: WebProcess, browser: Browser) -> None:
    with browser.new_context(base_url=web.url, java_script_enabled=False) as context:
        sign_in(context, world.sam, url=web.url)
        page = context.new_page()
        page.goto(f"/inbox/{world.conversation.id}/")
        page.get_by_role("link", name="Run a tool").click()
        page.get_by_role("link", name="Refund order").click()
        page.get_by_label("Order number").fill("1042")
        page.get_by_role("button", name="Run").click()
        expect(page.locator(".error")).to_have_text("reason is needed to run this.")
        expect(page.get_by_label("Order number")).to_have_value("1042")
        page.get_by_role("combobox", name="Reason").select_option("late")
        page.get_by_role("button", name="Run").click()
        expect(page.locator(".run-card")).to_have_count(1)
    assert ToolRun.objects.get().input == '{"orderNumber":"1042","reason":"late"}'
