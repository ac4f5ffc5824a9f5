"""Several people in one thread, each in a window of their own, on two web processes."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from conversations import threads
from tests.browser.conftest import OpenWindow
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
