"""Several people in one thread, each in a window of their own, on two web processes."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Route, expect

from conversations import handling, returning, threads
from conversations.models import Conversation, Customer, Draft
from median_site.lib import clock
from tests.browser.conftest import OpenWindow, deafen
from tests.chromium import Complaints, closing_connections
from tests.waiting import until
from tests.web_process import WebProcess, serving
from tests.world import World, session_token

# What the system is asked to show, as somebody sees it whose window is not in front.
HEARS_NOTIFICATIONS = """
document.hasFocus = () => false;
window.Notification = class extends Notification {
  constructor(says, options) {
    super(says, options);
    this.addEventListener("show", () => { document.documentElement.dataset.notified = says; });
  }
};
"""

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_else_is_here_and_who_types(world: World, web: WebProcess, open_window: OpenWindow, tmp_path: Path) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    path = f"/inbox/{world.conversation.id}/"
    with serving(tmp_path / "web.log") as other:
        sam, kim = open_window(web.url, world.sam), open_window(other.url, world.kim)
        ana = open_window(other.url)
        ana.goto(f"/widget/fernhill/#token={session_token(world.ana)}")
        sam.goto(path)
        kim.goto(path)
        here = sam.locator("#thread-presence li:visible")
        expect(here).to_have_text(["KIKim is here"])
        expect(sam.locator("#thread-presence [role=status] :visible")).to_have_text(
            "Kim is looking at this thread too."
        )

        sam.locator("#reply").fill("Half a")
        sam.locator("#reply").focus()
        ana.get_by_role("textbox").press_sequentially("It is late")
        kim.locator("#reply").press_sequentially("I look")
        expect(here).to_have_text(["ASAna is typing", "KIKim is typing"])
        expect(ana.locator("#w-writing")).to_contain_text("is writing")
        expect(sam.locator("#reply")).to_be_focused()
        expect(sam.locator("#reply")).to_have_value("Half a")

        kim.close()
        expect(here).to_have_text(["ASAna is typing"])
        ana.get_by_role("textbox").press("Enter")
        expect(here).to_have_count(0)
        # The head is drawn anew with what happened, and who is here stays.
        sam.locator("#thread-head").get_by_role("button", name="Take over").click()
        expect(sam.get_by_text("Sam took the thread over from Median AI")).to_be_visible()
        expect(sam.locator("#thread-presence ul")).to_have_count(1)
        ana.close()


def test_a_draft_goes_along_to_another_device_and_survives_a_failed_sending(
    world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    path = f"/inbox/{world.conversation.id}/"

    def texts() -> dict[str, str]:
        return dict(Draft.objects.filter(teammate=world.sam).values_list("mode", "text"))

    desk = open_window(web.url, world.sam)
    desk.goto(path)
    desk.locator("#reply").press_sequentially("Half an answer")
    desk.locator("#mode-note").check()
    expect(desk.locator("#reply")).to_have_value("")
    desk.locator("#reply").press_sequentially("For us")
    until(lambda: texts() == {"reply": "Half an answer", "note": "For us"})
    expect(desk.locator(".qrow-draft")).to_be_visible()

    phone = open_window(web.url, world.sam)
    phone.goto(path)
    expect(phone.locator("#reply")).to_have_value("For us")
    phone.locator("#mode-reply").check()
    expect(phone.locator("#reply")).to_have_value("Half an answer")
    phone.locator("#reply").press("End")
    phone.locator("#reply").press_sequentially(", whole")
    phone.route("**/write", lambda route: route.abort())
    phone.get_by_role("button", name="Send").click()
    expect(phone.locator("[data-fault]")).to_contain_text("Not sent. Your text is kept here.")
    until(lambda: texts()["reply"] == "Half an answer, whole")
    complaints.take("/write")
    complaints.take("ERR_FAILED")
    complaints.take("htmx:")
    phone.unroute("**/write")
    phone.get_by_role("button", name="Send").click()
    expect(phone.locator(".msg--team")).to_contain_text("Half an answer, whole")
    until(lambda: texts() == {"note": "For us"})

    # The desk, looked at again, has what the server has.
    desk.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    desk.locator("#mode-reply").check()
    expect(desk.locator("#reply")).to_have_value("")
    desk.locator("#mode-note").check()
    desk.locator("#reply").fill("")
    expect(desk.locator(".qrow-draft")).to_have_count(0)

    # Both at once: the newest wins, and the other text is offered to it.
    phone.locator("#reply").press_sequentially("From the phone")
    until(lambda: texts() == {"reply": "From the phone"})
    desk.locator("#mode-reply").check()
    desk.locator("#reply").press_sequentially("From the desk")
    desk.get_by_role("button", name="Add it").click()
    expect(desk.locator("#reply")).to_have_value("From the desk\n\nFrom the phone")
    until(lambda: texts() == {"reply": "From the desk\n\nFrom the phone"})


def test_a_draft_that_is_saved_while_the_page_reloads_is_there_afterwards(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    path = f"/inbox/{world.conversation.id}/"
    page = open_window(web.url, world.sam)
    deafen(page)
    page.goto(path)
    page.locator("#reply").press_sequentially("Half an answer")

    def late(route: Route) -> None:
        """The page as it was made before the draft was saved."""
        answer = route.fetch()
        with closing_connections():
            until(lambda: Draft.objects.filter(teammate=world.sam).exists())
        route.fulfill(response=answer)

    page.route(f"**{path}", late)
    page.reload()
    expect(page.locator("#reply")).to_have_value("Half an answer")


def test_a_mention_reaches_whoever_is_named_wherever_they_are(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    kim, sam = open_window(web.url, world.kim), open_window(web.url, world.sam)
    kim.context.grant_permissions(["notifications"])
    kim.add_init_script(HEARS_NOTIFICATIONS)
    kim.goto("/notifications/")
    kim.get_by_role("button", name="Kim Ito, your account").click()
    kim.get_by_label("Desktop notifications").check()
    kim.keyboard.press("Escape")
    expect(kim.get_by_text("Nothing yet")).to_be_visible()

    sam.goto(f"/inbox/{world.conversation.id}/")
    text, menu = sam.locator("#reply"), sam.locator("#slash")
    text.press_sequentially("@ki")
    expect(menu).to_be_hidden()  # a reply mentions nobody
    text.fill("")
    sam.locator("#mode-note").check()
    text.press_sequentially("Can you look, @")
    expect(menu.locator("[role=option]:visible")).to_have_count(2)
    text.press_sequentially("ki")
    expect(menu.locator("[role=option]:visible")).to_have_count(1)
    expect(menu.get_by_role("group", name="Teammates")).to_be_visible()
    text.press("Enter")
    expect(text).to_have_value("Can you look, @Kim Ito ")
    expect(menu).to_be_hidden()
    text.press_sequentially("today?")
    text.press("Control+Enter")
    expect(sam.locator(".msg--note .mention")).to_have_text("@Kim Ito")

    expect(kim.locator(".rail-bell .count")).to_have_text("1 unread")
    expect(kim.locator("#notices .notice[data-unread]")).to_contain_text("Can you look, @Kim Ito today?")
    expect(kim.locator("html")).to_have_attribute("data-notified", "Sam mentioned you: Ana Souza")
    kim.keyboard.press("j")
    kim.keyboard.press("Enter")
    expect(kim.locator(".msg--note .mention")).to_be_visible()
    expect(kim.locator(".rail-bell .count")).to_be_hidden()
    expect(kim.locator(f"#row-{world.conversation.id} .qrow:not([data-unread])")).to_be_visible()


def test_a_snoozed_thread_comes_back_into_an_open_queue(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    handling.snooze(world.conversation.id, by=world.sam.actor, until=clock.now() + timedelta(hours=1))
    newer = threads.start(Customer.objects.create(workspace=world.fernhill, subject="bob", name="Bob"))
    page = open_window(web.url, world.kim)
    page.goto("/inbox/")
    rows = page.locator(".qrow-name")
    expect(rows).to_have_text(["Bob"])

    Conversation.objects.exclude(id=newer.id).update(snoozed_until=clock.now())
    returning.end_snoozes()

    expect(rows).to_have_text(["Ana Souza, unread", "Bob"])


def test_what_is_typed_survives_being_signed_out(
    world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    page.locator("#reply").fill("Half an answer")
    for session in Session.objects.all():
        session.delete()

    expect(page).to_have_url(re.compile("/accounts/login/"))
    # Whether the page tried to hand its text over before it went is a matter of moments.
    complaints.said = [said for said in complaints.said if "401" not in said]
    page.locator("input[name=login]").fill("sam@fernhill.example")
    page.locator("input[name=password]").fill("correct horse battery")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("#reply")).to_have_value("Half an answer")
    until(lambda: Draft.objects.filter(text="Half an answer").exists())
