"""live.js in a real browser: what is pushed lands in its place, and takes nothing away from who is working there."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from approvals import decisions
from conversations import threads
from tests.approvals.requests import answer, request
from tests.chromium import chromium, closing_connections
from tests.page_socket import signed_in
from tests.web_process import WebProcess, serving
from tests.world import World
from tools import runs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    with serving(tmp_path_factory.mktemp("web") / "web.log") as web:
        yield web


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console and scripts complain about."""
    return []


@pytest.fixture
def page(browser: Browser, world: World, web: WebProcess, complaints: list[str]) -> Iterator[Page]:
    """Kim's browser, on the world's thread."""
    threads.note(world.conversation.id, by=world.sam.actor, body="First")
    _, cookie = signed_in(world.kim)
    name, value = cookie.split("=", 1)
    address = f"http://127.0.0.1:{web.port}"
    with (
        closing_connections(),
        browser.new_context(base_url=address, viewport={"width": 1280, "height": 700}) as context,
    ):
        context.add_cookies([{"name": name, "value": value, "url": address}])
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"/inbox/{world.conversation.id}/")
        yield page


def test_a_push_lands_in_its_place_and_leaves_the_writer_alone(world: World, page: Page, complaints: list[str]) -> None:
    composer = page.locator("textarea").first
    composer.fill("Half a sentence")
    composer.evaluate("(element) => element.setSelectionRange(5, 9)")

    threads.customer_wrote(world.conversation.id, body="Is anybody there?", client_id="1")
    threads.note(world.conversation.id, by=world.sam.actor, body="Second <b>note</b>")

    items = page.locator("[data-items]:not([data-watch-queue]) > [data-number]")
    expect(items).to_have_count(3)
    expect(items.nth(1)).to_contain_text("Is anybody there?")
    expect(items.nth(2)).to_contain_text("Second <b>note</b>")
    expect(page.locator(f"#row-{world.conversation.id}")).to_contain_text("Is anybody there?")
    expect(composer).to_have_value("Half a sentence")
    expect(composer).to_be_focused()
    assert composer.evaluate("(element) => [element.selectionStart, element.selectionEnd]") == [5, 9]
    assert complaints == []


def test_a_reader_further_up_is_not_moved(world: World, page: Page, complaints: list[str]) -> None:
    approval = request(world)
    for number in range(30):
        threads.note(world.conversation.id, by=world.sam.actor, body=f"Note {number}")
    items = page.locator("[data-items]:not([data-watch-queue]) > [data-number]")
    expect(items).to_have_count(33)
    stream = page.locator(".stream")
    assert stream.evaluate("(element) => element.scrollTop") == 0
    stream.evaluate("(element) => { element.scrollTop = -600 }")
    seen = items.nth(12)
    before = seen.bounding_box()
    expect(page.locator("#new-below")).to_be_hidden()

    card = page.locator(".approval-card")
    height = card.evaluate("(element) => element.offsetHeight")
    decisions.deny(approval.id, by=world.sam.actor, reason="Long ago. " * 50)

    expect(items).to_have_count(34)
    assert card.evaluate("(element) => element.offsetHeight") != height  # further up than what is read
    expect(page.locator("#new-below")).to_be_visible()
    after = seen.bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=1)
    page.locator("#new-below").click()
    expect(page.locator("#new-below")).to_be_hidden()
    expect(items.nth(33)).to_be_in_viewport()
    assert complaints == []


@pytest.mark.parametrize("length", [9_000, 99_000])  # in the page, and asked for when it is opened
def test_opening_a_long_output_moves_nothing(world: World, page: Page, complaints: list[str], length: int) -> None:
    for number in range(10):
        threads.note(world.conversation.id, by=world.sam.actor, body=f"Note {number}")
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)
    answer(approval, json.dumps({"note": "x" * length}))
    runs.write_up(approval.id)
    pressed, output = page.locator("details.raw summary").last, page.locator("details.raw pre").last
    expect(page.locator(".approval-card .result h3")).not_to_be_empty()  # it is written up, and grows no more
    expect(page.locator(".approval-card")).not_to_contain_text("Working…")
    expect(pressed).to_be_in_viewport()
    before = pressed.bounding_box()
    pressed.click()
    expect(output).to_contain_text("x" * 9_000)
    after = pressed.bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=1)
    assert complaints == []


@pytest.mark.parametrize("missed", [1, 101])
def test_what_was_missed_while_the_server_was_away_comes_by_itself(
    world: World, page: Page, web: WebProcess, missed: int
) -> None:
    page.locator("textarea").first.fill("Half a sentence")
    web.kill()
    expect(page.locator("#offline")).to_be_visible()
    for number in range(missed):
        threads.note(world.conversation.id, by=world.sam.actor, body=f"While away {number}")

    web.start()

    newest = page.locator(".stream").get_by_text(f"While away {missed - 1}", exact=True)
    expect(newest).to_be_visible(timeout=20_000)
    expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator("textarea").first).to_have_value("Half a sentence")
    shown = page.locator("[data-items]:not([data-watch-queue]) > [data-number]")
    ids = shown.evaluate_all("(elements) => elements.map((element) => element.id)")
    assert len(ids) == len(set(ids))


def test_a_removed_teammate_is_sent_to_sign_in_and_not_in_circles(world: World, page: Page) -> None:
    with page.expect_navigation():
        page.context.clear_cookies()
        world.kim.user.set_password("another horse battery")
        world.kim.user.save(update_fields=["password"])
        threads.live.changed("teammate", workspace_id=world.fernhill.id, id=world.kim.id)
    expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/inbox/"))
