"""What a teammate does all day, each journey by mouse, by keyboard alone, and at 360 pixels."""

import re

import pytest
from allauth.mfa.totp.internal import auth as totp
from playwright.sync_api import Page, expect

from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Conversation, Customer, Status
from team.models import Invitation
from tests import world as worlds
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow, card_of, reads
from tests.browser.hands import EVERY_WAY, Hands
from tests.manifest_server import manifest_server
from tests.web_process import WebProcess
from tests.world import World
from tools.models import Tool, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

WISH = "My kettle leaks. Can I have my money back?"


@pytest.fixture
def window(world: World, web: WebProcess, open_window: OpenWindow) -> Page:
    """Sam's, with Ana's wish in the queue."""
    threads.customer_wrote(world.conversation.id, body=WISH, client_id="message-1")
    return open_window(web.url, world.sam)


@pytest.fixture
def hands(window: Page, way: str) -> Hands:
    return Hands(window, way=way)


@EVERY_WAY
def test_answer_a_customer(world: World, hands: Hands, web: WebProcess, open_window: OpenWindow) -> None:
    page, ana = hands.page, open_window(web.url)
    ana.goto(f"/widget/fernhill/#token={worlds.session_token(world.ana)}")
    expect(ana.locator(".w-msg")).to_have_count(1)
    page.goto("/inbox/")
    hands.press(page.locator(".qrow"))
    page.wait_for_url(f"**/inbox/{world.conversation.id}/")  # and loaded, so that its scripts are awake
    expect(page.locator(".msg--customer")).to_contain_text(WISH)
    hands.write(page.locator("#reply"), "You can, Ana.")
    hands.press(page.get_by_role("button", name="Send"))
    expect(page.locator(".msg--team")).to_contain_text("You can, Ana.")
    expect(page.locator("#reply")).to_have_value("")
    expect(ana.locator(".w-msg").nth(1)).to_contain_text("You can, Ana.")


@EVERY_WAY
def test_approve_from_the_thread(world: World, hands: Hands) -> None:
    page, approval = hands.page, request(world)
    page.goto("/inbox/")
    hands.press(page.locator(".qrow"))
    page.wait_for_url(f"**/inbox/{world.conversation.id}/")  # and loaded, so that its scripts are awake
    expect(card_of(page)).to_have_attribute("data-state", "pending")
    hands.press(card_of(page).get_by_role("button", name="Approve and run"))
    reads(card_of(page).locator(".outcome"), "Approved by you · running now")
    expect(page.get_by_role("log")).to_contain_text("Sam approved running Refund order")
    if hands.is_keyboard:
        expect(card_of(page).locator("h2")).to_be_focused()
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id) == (State.EXECUTING, world.sam.id)


@EVERY_WAY
def test_deny_with_a_reason_from_approvals(world: World, hands: Hands) -> None:
    page, approval = hands.page, request(world)
    page.goto("/approvals/")
    hands.press(card_of(page).get_by_role("button", name="Deny"))
    question = page.get_by_role("dialog", name="Deny Refund order?")
    expect(question.get_by_role("button", name="Keep waiting")).to_be_focused()
    hands.write(question.get_by_label("Reason"), "Third refund this month.")
    hands.press(question.get_by_role("button", name="Deny"))
    reads(card_of(page).locator(".outcome"), re.compile(r"^Denied by you · \d\d:\d\d\s*Third refund this month\.$"))
    approval.refresh_from_db()
    assert (approval.state, approval.reason) == (State.DENIED, "Third refund this month.")


@EVERY_WAY
def test_run_a_tool_from_the_slash_menu(world: World, hands: Hands) -> None:
    page = hands.page
    page.goto(f"/inbox/{world.conversation.id}/")
    hands.write(page.locator("#reply"), "/refund or")
    option = page.locator("#slash [role=option]:visible")
    expect(option).to_have_count(1)
    if hands.is_keyboard:
        page.keyboard.press("Enter")
    else:
        option.click()
    dialog = page.get_by_role("dialog", name="Refund order")
    hands.write(dialog.get_by_label("Order number"), "ORD-1042")
    hands.choose(dialog.get_by_label("Reason"), "damaged")
    hands.press(dialog.locator(".dialog-foot [data-run]"))
    expect(page.locator(".run-card .outcome")).to_have_text("Running now")
    expect(page.locator("#reply")).to_be_focused()
    assert ToolRun.objects.get().input == '{"orderNumber":"ORD-1042","reason":"damaged"}'


@EVERY_WAY
def test_add_an_endpoint_and_sync_it(world: World, hands: Hands) -> None:
    page = hands.page
    with manifest_server({"name": "stockLevel", "description": "How many are left."}) as server:
        page.goto("/agent/tools/")
        hands.press(page.get_by_role("button", name="Add endpoint"))
        hands.write(page.get_by_role("dialog", name="Add endpoint").get_by_label("Address"), server.url)
        hands.press(page.get_by_role("button", name="Add and sync"))
        expect(page.locator(".secret")).to_have_text(re.compile("^whsec_"))
        expect(page.get_by_role("row", name="Stock level")).to_contain_text("Low risk")
        server.tools = [{"name": "stockLevel", "description": "How many are left.", "risk": "medium"}]
        row = page.locator(".row-list > li", has_text=server.url)
        hands.press(row.get_by_role("button", name="Sync now"))
        expect(page.get_by_role("row", name="Stock level")).to_contain_text("Medium risk")
    assert Tool.objects.get(name="stockLevel").risk == "medium"


@EVERY_WAY
def test_search_assign_snooze_resolve_reopen(world: World, hands: Hands) -> None:
    page = hands.page
    threads.start(Customer.objects.create(workspace=world.fernhill, subject="bob", name="Bob"))
    page.goto("/inbox/")
    hands.write(page.locator("#queue-search"), "kettle")
    page.keyboard.press("Enter")
    expect(page.locator(".qrow mark")).to_have_text("kettle")
    hands.press(page.locator(".qrow"))
    page.wait_for_url(re.compile(f"/inbox/{world.conversation.id}/"))  # and loaded, so that its scripts are awake

    menu = page.get_by_role("button", name="More actions")
    for words, answer, told in (
        ("Assign", "Kim Ito", "Sam assigned the thread to Kim"),
        ("Snooze", "Tomorrow", "Sam snoozed the thread until"),
    ):
        hands.press(menu)
        hands.press(page.locator("#thread-menu").get_by_role("link", name=words))
        hands.press(page.locator("#asks").get_by_role("button", name=answer))
        expect(page.locator("#thread-items")).to_contain_text(told)
        expect(page.locator("#asks")).to_be_hidden()
        if hands.is_keyboard:
            expect(menu).to_be_focused()
    if hands.is_phone:
        hands.press(menu)
    hands.press(page.locator("#thread-head [data-resolve]:visible"))
    expect(page.locator("#thread-items")).to_contain_text("Sam resolved the conversation")
    hands.press(page.get_by_role("button", name="Reopen"))
    expect(page.locator("#thread-items")).to_contain_text("Sam reopened the conversation")
    assert Conversation.objects.get(id=world.conversation.id).status == Status.OPEN


@EVERY_WAY
def test_follow_the_log(world: World, hands: Hands) -> None:
    page, rows = hands.page, hands.page.locator("#events li")
    page.goto("/logs/")
    follow = page.get_by_role("button", name="Follow")
    before = rows.count()
    threads.note(world.conversation.id, by=world.kim.actor, body="First")
    expect(rows).to_have_count(before + 1)
    expect(rows.first).to_contain_text("Kim left a note")
    hands.press(follow)
    threads.note(world.conversation.id, by=world.kim.actor, body="Second")
    expect(page.locator("#log-status")).to_have_text("1 newer event. Show")
    expect(rows).to_have_count(before + 1)
    hands.press(rows.first.locator("summary"))
    expect(rows.first.locator("details")).to_have_attribute("open", "")


@EVERY_WAY
def test_invite_a_teammate(world: World, hands: Hands, web: WebProcess, open_window: OpenWindow) -> None:
    page = hands.page
    page.goto("/settings/people/")
    hands.press(page.get_by_role("button", name="Invite"))
    dialog = page.get_by_role("dialog", name="Invite a teammate")
    hands.write(dialog.get_by_label("Email"), "lee@fernhill.example")
    hands.choose(dialog.get_by_label("Role"), "Admin")
    hands.press(dialog.get_by_role("button", name="Make the link"))
    link = page.locator("#invitation-link code").inner_text()
    assert Invitation.objects.get().role == "admin"

    lee = open_window(web.url)
    lee.goto(re.sub("^https?://[^/]+", "", link))
    theirs = Hands(lee, way="keyboard" if hands.is_keyboard else "phone" if hands.is_phone else "mouse")
    theirs.write(lee.get_by_label("Name"), "Lee Park")
    theirs.write(lee.get_by_label("Password"), "a long enough sentence")
    theirs.press(lee.locator("form button.btn--primary"))
    expect(lee).to_have_url(re.compile("/inbox/"))


@EVERY_WAY
def test_sign_in_with_a_code(world: World, way: str, web: WebProcess, open_window: OpenWindow) -> None:
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(world.sam.user, secret)
    hands = Hands(open_window(web.url), way=way)
    page = hands.page
    page.goto("/accounts/login/")
    hands.write(page.get_by_label("Email"), "sam@fernhill.example")
    hands.write(page.get_by_label("Password"), "correct horse battery")
    hands.press(page.get_by_role("button", name="Sign in", exact=True))
    expect(page.get_by_role("heading", name="Your second step")).to_be_visible()
    hands.write(page.get_by_label("code"), "000000")
    hands.press(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("alert")).to_be_visible()
    code = totp.format_hotp_value(totp.hotp_value(secret, list(totp.yield_hotp_counters_from_time())[1]))
    hands.write(page.get_by_label("code"), code)
    hands.press(page.get_by_role("button", name="Sign in"))
    expect(page).to_have_url(re.compile("/inbox/"))


# A key of another alphabet, and what a browser sends when it fills a form in.
CYRILLIC_A = """() => {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ф", code: "KeyA", bubbles: true }));
  document.body.dispatchEvent(new Event("keydown", { bubbles: true }));
}"""


def test_the_map_of_keys(world: World, window: Page) -> None:
    """A only moves the focus, so that one stray key runs nothing; all of them go with one box."""
    approval = request(world)
    page, keys = window, window.keyboard
    page.goto("/inbox/")
    keys.press("j")
    keys.press("Enter")
    expect(card_of(page)).to_have_attribute("data-state", "pending")
    page.wait_for_load_state()
    keys.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_be_visible()
    keys.press("d")  # not while a dialog is open
    expect(page.locator("#deny")).to_be_hidden()
    keys.press("Escape")
    expect(sheet).to_be_hidden()
    keys.press("d")
    expect(page.locator("#deny").get_by_role("button", name="Keep waiting")).to_be_focused()
    keys.press("Escape")
    expect(page.locator("#deny")).to_be_hidden()
    keys.press("r")
    expect(page.locator("#reply")).to_be_focused()
    keys.type("ade?")
    expect(page.locator("#reply")).to_have_value("ade?")
    page.locator("#reply").fill("")
    page.locator("#reply").blur()
    page.evaluate(CYRILLIC_A)
    expect(card_of(page).locator("[data-approve]")).to_be_focused()
    for key in ("Control+k", "Meta+k"):
        keys.press(key)
        expect(page.get_by_role("combobox", name="Go to a page or a thread")).to_be_focused()
        keys.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
    keys.press("e")
    expect(page.locator("[data-resolve]").first).to_be_focused()
    keys.press("a")
    expect(card_of(page).locator("[data-approve]")).to_be_focused()
    assert ToolApproval.objects.get().state == State.PENDING
    page.keyboard.press("?")
    sheet.get_by_role("checkbox").uncheck()
    keys.press("Escape")
    expect(sheet).to_be_hidden()
    keys.press("d")
    expect(page.locator("#deny")).to_be_hidden()
    keys.press("?")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    sheet.get_by_role("checkbox").check()
    keys.press("Escape")
    expect(sheet).to_be_hidden()
    keys.press("a")
    keys.press("Enter")
    reads(card_of(page).locator(".outcome"), "Approved by you · running now")
    assert ToolApproval.objects.get(id=approval.id).state == State.EXECUTING


def test_keys_answer_the_request_that_has_the_focus(world: World, window: Page) -> None:
    """And not the first that waits: j, k go from one to the next, and so does an answer."""
    soonest, later = request(world), request(world, tool="cancelSubscription", input_text="{}")
    page, keys = window, window.keyboard
    page.goto("/approvals/")
    first, second = (page.locator(f"#request-{each.id}") for each in (soonest, later))
    keys.press("j")
    keys.press("j")
    expect(second.locator("h2, h3").first).to_be_focused()
    keys.press("d")
    expect(page.get_by_role("dialog", name="Deny Cancel subscription?")).to_be_visible()
    keys.press("Escape")
    keys.press("a")
    expect(second.locator("[data-approve]")).to_be_focused()
    keys.press("k")
    expect(first.locator("h2, h3").first).to_be_focused()
    keys.press("a")
    keys.press("Enter")
    expect(second.locator("h2, h3").first).to_be_focused()
    assert [ToolApproval.objects.get(id=each.id).state for each in (soonest, later)] == [State.EXECUTING, State.PENDING]
