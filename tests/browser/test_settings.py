"""Settings in a window: what a press is answered with, and where the focus is after the page came again."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(world: World, web: WebProcess, open_window: OpenWindow) -> Page:
    window = open_window(web.url, world.sam)
    window.goto("/settings/")
    return window


def test_saving_says_so_and_the_focus_stays_on_the_button(page: Page) -> None:
    save = page.get_by_role("group").filter(has=page.get_by_label("Time zone")).get_by_role("button", name="Save")
    first = save.element_handle()
    page.get_by_label("Name", exact=True).fill("Fernhill Coffee")
    save.focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert").get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("button", name="Delete…")).to_be_visible()
    expect(page.get_by_text("Delete Fernhill Coffee", exact=True)).to_be_visible()
    assert first
    assert not first.evaluate("(button) => button.isConnected")
    expect(save).to_be_focused()


def test_a_dialog_has_the_focus_in_its_first_field_and_after_it_on_what_opened_it_or_else_on_the_heading(
    page: Page, complaints: Complaints
) -> None:
    page.goto("/settings/people/")
    opener = page.get_by_role("button", name="Invite")
    opener.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Invite a teammate")
    expect(dialog.get_by_label("Email")).to_be_focused()
    page.keyboard.type("kim@fernhill.example")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_have_text("kim@fernhill.example is in this workspace already.")
    expect(page.locator(".toast")).to_have_count(0)
    complaints.take("409")
    dialog.get_by_label("Email").fill("lee@fernhill.example")
    page.keyboard.press("Enter")
    link = page.locator("#invitation-link .secret")
    expect(link).to_contain_text("/join/")
    expect(opener).to_be_focused()

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_role("alert").get_by_text("Copied.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link.inner_text()

    page.get_by_role("button", name="Withdraw").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Invited")).to_have_count(0)
    expect(page.get_by_role("heading", name="Settings")).to_be_focused()


def test_a_button_that_a_push_turned_into_another_one_has_not_the_focus(page: Page, world: World) -> None:
    page.goto(f"/inbox/{world.conversation.id}/")
    page.get_by_role("button", name="Take over").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Hand back").first).to_be_visible()
    heading = page.get_by_role("heading", name="Ana Souza", level=1)
    expect(heading).to_be_focused()
    page.keyboard.press("Enter")  # a second press does nothing more
    world.conversation.refresh_from_db()
    assert (world.conversation.status, world.conversation.assignee_id) == ("open", world.sam.id)

    page.get_by_role("button", name="More actions").press("Enter")
    page.locator("#thread-menu").get_by_role("button", name="Close").press("Enter")
    expect(page.get_by_role("button", name="Reopen")).to_be_visible()
    expect(page.locator("#thread-menu")).to_be_hidden()
    expect(heading).to_be_focused()


def test_the_palette_says_that_nothing_matches_only_once_the_threads_were_looked_through(page: Page) -> None:
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go anywhere")
    nothing = palette.get_by_text("No page, thread or action has this in it.")
    expect(nothing).to_be_hidden()
    expect(palette.get_by_role("option", name="Logs")).to_be_visible()
    expect(palette.get_by_role("option", name="Webhooks")).to_be_hidden()
    page.keyboard.type("webh")
    expect(palette.get_by_role("option", name="Webhooks")).to_be_visible()
    page.keyboard.press("Control+a")
    with page.expect_response(lambda response: "/inbox/find?q=zzqq" in response.url):
        page.keyboard.type("zzqq")
    expect(nothing).to_be_visible()
    page.keyboard.press("Control+a")
    page.keyboard.type("log")
    expect(palette.get_by_role("option", name="Logs")).to_be_visible()
    expect(nothing).to_be_hidden()
