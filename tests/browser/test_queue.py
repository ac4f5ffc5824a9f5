"""The queue in a window: searching, the questions of a thread's menu, the palette, and the count in the tab."""

import re

import pytest
from playwright.sync_api import expect

from conversations import threads
from conversations.models import Conversation, Customer, Status
from median_site.dashboard import thread
from team.models import Role
from tests import world as worlds
from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.dashboard.threads_at_hand import many
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World

# What scrolls sideways that should not: the places for whole pages and threads.
WIDER = """[...document.querySelectorAll(":root, .main, .stream")].filter((one) => one.scrollWidth > one.clientWidth)
  .map((one) => one.className)"""

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_menu_of_a_thread_assigns_and_snoozes(
    world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("link", name="Assign").click()
    page.get_by_role("button", name="Kim Ito").click()
    expect(page.get_by_text("Sam assigned the thread to Kim")).to_be_visible()
    expect(page.locator("#asks")).to_be_hidden()

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("link", name="Snooze").click()
    page.get_by_role("button", name="Tomorrow").click()
    expect(page.locator("#thread-head")).to_contain_text("Snoozed until tomorrow at 09:00")
    until(lambda: Conversation.objects.get(id=world.conversation.id).is_snoozed)

    # A refusal can be read and put away although the question still stands before the page.
    for number in range(12):
        worlds.teammate(world.fernhill, f"Lee {number}", f"lee{number}@fernhill.example", Role.MEMBER)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("link", name="Assign").click()
    expect(page.locator("#assignees bdi").first).to_have_text("Sam Okafor")
    page.get_by_role("searchbox", name="Find a teammate").fill("KIM")
    page.keyboard.press("Enter")  # gives it to nobody
    expect(page.locator("#assignees bdi:visible")).to_have_text(["Kim Ito"])
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.ARCHIVED)
    page.get_by_role("button", name="Kim Ito").click()
    expect(page.get_by_role("alert")).to_have_text("This conversation is not open. Reopen it first.")
    complaints.take("409")
    page.locator(".toast button").click()
    expect(page.locator(".toast")).to_have_count(0)


def test_the_palette_goes_to_pages_and_threads_and_presses_actions(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    threads.customer_wrote(world.conversation.id, body="Where is ORD-1042?", client_id="1")
    page = open_window(web.url, world.sam)
    page.goto("/inbox/")

    page.keyboard.press("Control+k")
    page.keyboard.type("1042")
    expect(page.locator("#palette [data-found] .opt")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/inbox/{world.conversation.id}/$"))
    page.wait_for_load_state()  # its scripts hear the keys

    page.keyboard.press("Control+k")
    page.keyboard.type("resolve")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Sam resolved the conversation")).to_be_visible()

    page.keyboard.press("Control+k")
    page.keyboard.type("log")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/logs/$"))


def test_the_tab_counts_what_waits(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    page = open_window(web.url, world.sam)
    page.goto("/inbox/?q=ana")
    expect(page).to_have_title("Inbox, Median")
    expect(page.locator(".qrow mark")).to_have_text(["Ana"])

    request(world)
    expect(page).to_have_title("(1) Inbox, Median")
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    expect(page).to_have_title("Inbox, Median")

    ended, *_ = many(world, 103)
    page.goto("/inbox/")
    total = page.locator(".queue-total")
    expect(total).to_have_text("99+ open")
    threads.end(ended.id, by=world.sam.actor, to=Status.RESOLVED)
    expect(page.locator(f"#row-{ended.id}")).to_have_count(0)
    expect(total).to_have_text("99+ open")  # of those it does not know there may be any number


def test_a_search_and_a_name_without_a_space_fit_a_phone(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    page = open_window(web.url, world.sam)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto("/inbox/?q=ana")

    expect(page.locator(".qrow mark")).to_have_text(["Ana"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360

    Customer.objects.update(name="Ana" * 50)
    threads.customer_wrote(world.conversation.id, body="w" * 500, client_id="1")
    request(world)
    for path in (f"/inbox/{world.conversation.id}/", "/approvals/", f"/customers/{world.ana.id}/"):
        page.goto(path)
        assert page.evaluate(WIDER) == [], path


def test_a_search_stays_beside_the_thread_that_it_found(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    threads.start(Customer.objects.create(workspace=world.fernhill, subject="user_124", name="Bo Lind"))
    for number in range(thread.PAGE):
        threads.customer_wrote(world.conversation.id, body="Hello" if number else "It is Ana.", client_id=str(number))
    page = open_window(web.url, world.sam)
    page.goto("/inbox/?q=ana")
    page.locator(".qrow").click()
    expect(page.get_by_role("heading", name="Ana Souza", level=1)).to_be_visible()
    expect(page.locator("#queue-search")).to_have_value("ana")
    expect(page.locator(".qrow")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=ana&at=(item-\d+)#\1$"))
    expect(page.locator(".msg:target")).to_have_text(re.compile("It is Ana"))
    expect(page.locator(".msg:target")).to_be_in_viewport()
    page.go_back()  # a whole page again
    expect(page.locator(".rail")).to_be_visible()
    expect(page.locator("#queue-search")).to_have_value("ana")

    page.set_viewport_size({"width": 360, "height": 740})
    page.locator(".qrow").press("Enter")
    page.get_by_role("link", name="Back to the queue").click()
    expect(page.get_by_text("Choose a thread")).to_be_attached()
    expect(page.locator("#queue-search")).to_have_value("ana")
