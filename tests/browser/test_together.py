"""Several people in one thread, each in a window of their own, on two web processes."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from conversations import threads
from conversations.models import Draft
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.waiting import until
from tests.web_process import WebProcess, serving
from tests.world import World, session_token

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
