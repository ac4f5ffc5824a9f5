"""Signing in and out in real windows, and a page that was made for a session which is over."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from approvals.models import State, ToolApproval
from conversations import threads
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow, card_of, deafen, reads
from tests.chromium import Complaints
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "correct horse battery"
SIGN_IN = re.compile(r"/accounts/login/")


@pytest.fixture
def approval(world: World) -> ToolApproval:
    threads.customer_wrote(world.conversation.id, body="My secret wish", client_id="message-1")
    return request(world)


@pytest.fixture
def page(open_window: OpenWindow, web: WebProcess) -> Page:
    return open_window(web.url)


def sign_in_as_sam(page: Page) -> None:
    page.goto("/accounts/login/")
    sign_in(page, "sam@fernhill.example")
    expect(page).to_have_url(re.compile("/inbox/$"))


def sign_in_elsewhere(page: Page, email: str) -> None:
    """Another tab of the same browser signs out, and in again."""
    second = page.context.new_page()
    second.goto("/inbox/")
    sign_out(second)
    sign_in(second, email)
    expect(second).to_have_url(re.compile("/inbox/"))


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page) -> None:
    page.locator(".rail .avatar").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(SIGN_IN)


def open_card(page: Page, world: World) -> None:
    page.goto(f"/inbox/{world.conversation.id}/")
    expect(card_of(page)).to_have_attribute("data-state", "pending")


def test_a_wrong_password_is_said_and_the_right_one_leads_to_where_one_was_going(
    world: World, approval: ToolApproval, page: Page
) -> None:
    page.goto(f"/inbox/{world.conversation.id}/")
    expect(page).to_have_url(SIGN_IN)
    sign_in(page, "sam@fernhill.example", "wrong horse battery")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Email")).to_have_value("sam@fernhill.example")
    expect(page.get_by_label("Password")).to_have_value("")
    assert world.ana.name not in page.content()

    sign_in(page, "sam@fernhill.example")
    expect(page).to_have_url(re.compile(f"/inbox/{world.conversation.id}/$"))
    expect(card_of(page)).to_have_attribute("data-state", "pending")


def test_a_press_after_the_session_ended_moves_the_whole_page_to_the_sign_in(
    world: World, approval: ToolApproval, open_window: OpenWindow, web: WebProcess, complaints: Complaints
) -> None:
    page = open_window(web.url, world.sam)
    deafen(page)  # its socket would take the page away before the press
    open_card(page, world)
    page.wait_for_load_state("networkidle")  # whatever else it asks for would take it away as well
    Session.objects.all().delete()

    card_of(page).locator("[data-approve]").click()

    expect(page).to_have_url(SIGN_IN)
    expect(page.get_by_role("heading", name="Sign in to Median")).to_be_visible()
    expect(card_of(page)).to_have_count(0)
    assert ToolApproval.objects.get().state == State.PENDING
    complaints.take("401")

    sign_in(page, "sam@fernhill.example")
    expect(page).to_have_url(re.compile(f"/inbox/{world.conversation.id}/$"))
    card_of(page).locator("[data-approve]").click()
    reads(card_of(page).locator(".outcome"), "Approved by you · running now")


def test_a_page_of_sam_decides_nothing_once_kim_has_signed_in(
    world: World, approval: ToolApproval, page: Page, complaints: Complaints
) -> None:
    sign_in_as_sam(page)
    deafen(page)
    open_card(page, world)
    sign_in_elsewhere(page, "kim@fernhill.example")

    approve = card_of(page).locator("[data-approve]")
    approve.click()

    expect(page.locator(".toast")).to_contain_text("You are signed in as Kim now. Reload the page; nothing was done.")
    assert ToolApproval.objects.get().state == State.PENDING
    complaints.take("409")


def test_a_page_still_works_after_the_same_person_signed_in_again(
    world: World, approval: ToolApproval, page: Page
) -> None:
    sign_in_as_sam(page)
    deafen(page)
    open_card(page, world)
    sign_in_elsewhere(page, "sam@fernhill.example")

    card_of(page).locator("[data-approve]").click()

    reads(card_of(page).locator(".outcome"), "Approved by you · running now")
    assert ToolApproval.objects.get().decided_by_id == world.sam.id


def test_going_back_after_signing_out_shows_nothing_of_a_customer(
    world: World, approval: ToolApproval, page: Page
) -> None:
    sign_in_as_sam(page)
    open_card(page, world)
    page.locator("#reply").fill("A draft about Ana")
    # As when the saving of a draft ends while the signing out is already on its way.
    page.evaluate("document.addEventListener('submit', () => { sessionStorage['median-draft-late'] = '{}'; })")
    sign_out(page)

    page.go_back()

    expect(page).to_have_url(SIGN_IN)
    for secret in ("My secret wish", world.ana.name, "A draft about Ana"):
        assert secret not in page.content()
    assert page.evaluate("() => Object.keys(sessionStorage).filter((key) => key.startsWith('median-draft'))") == []
