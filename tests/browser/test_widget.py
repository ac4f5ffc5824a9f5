"""The chat on a company's own site: one script tag, a frame of another site, and what may go wrong between them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from conversations import threads
from conversations.models import Conversation, Customer, Item, ItemKind, Status, WidgetUse
from median_site.lib import clock
from tests.alerts.json_server import Reply, serving
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World
from tools import keys, session_tokens

# What the site of a strict company allows: the two things that docs/widget.md asks for.
STRICT: Final = "default-src 'none'; script-src {median}; frame-src {median}; require-trusted-types-for 'script'"
NO_STORAGE: Final = """
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });
}
"""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shop(world: World, web: WebProcess) -> Iterator[str]:
    """The address of a company's site that may show the chat. `?TOKEN` is a page of somebody signed in.

    To the browser it is another site than the chat's, whose frame may keep nothing there.
    """

    def answer(method: str, path: str, authorization: str, body: object) -> Reply:
        token = path.partition("?")[2]
        tag = f'<script src="{web.url}/static/js/embed.js" data-workspace="fernhill" data-token="{token}"></script>'
        page = f"<!doctype html><title>Shop</title>{tag}<h1>Shop</h1><a href='/other?{token}'>Another page</a>"
        headers = {"Content-Type": "text/html", "Content-Security-Policy": STRICT.format(median=web.url)}
        return Reply(data=page.encode(), headers=headers)

    with serving(answer) as address:
        near = address.removesuffix("/api")
        far = near.replace("127.0.0.1", "localhost")
        world.fernhill.widget_origins = f"{near}\n{far}"
        world.fernhill.save(update_fields=["widget_origins"])
        yield far


def chat_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


def launcher_of(page: Page) -> Locator:
    return page.locator("median-widget button")


def token_of(customer: Customer, *, ends_in: float = 1_800) -> str:
    """A token that runs out so many seconds from now, as a company's server made it half an hour before."""
    made_at = clock.now() + timedelta(seconds=ends_in - session_tokens.LIFETIME_S)
    return session_tokens.mint(
        keys.current(customer.workspace_id), issuer=customer.workspace.issuer, subject=customer.subject,
        anonymous=False, claims={}, email=customer.email, name=customer.name, now=made_at,
    )  # fmt: skip


def written() -> list[str]:
    return list(Item.objects.filter(kind=ItemKind.CUSTOMER).order_by("number").values_list("text", flat=True))


def test_one_script_tag(world: World, shop: str, open_window: OpenWindow) -> None:
    page = open_window(shop.replace("localhost", "127.0.0.1"))  # where the frame may keep things
    page.add_init_script("window.before = new Set(Object.keys(window))")
    token = token_of(world.ana)
    page.goto(f"/?{token}")
    height = page.evaluate("() => document.body.offsetHeight")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(launcher_of(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(chat_of(page).get_by_role("textbox")).to_be_focused()
    page.keyboard.type("Where is it?")
    page.keyboard.press("Enter")
    expect(chat_of(page).locator(".w-msg")).to_contain_text("Where is it?")
    page.keyboard.press("Escape")
    expect(launcher_of(page)).to_be_focused()
    expect(launcher_of(page)).to_have_attribute("aria-expanded", "false")
    assert page.evaluate("() => document.body.offsetHeight") == height
    assert page.evaluate("() => Object.keys(window).filter((name) => !before.has(name))") == ["before", "Median"]

    # Closed, and on another page, it counts; what is read in one window is read in all of them.
    other = page.context.new_page()
    other.goto(f"/?{token}")
    threads.reply(world.conversation.id, by=world.sam.actor, body=f"It is [on its way]({shop}/way)")
    expect(launcher_of(page)).to_have_attribute("aria-label", "Chat, 1 new")
    expect(other.locator("median-widget [role=status]")).to_have_text("1 new in the chat")
    page.get_by_role("link", name="Another page").click()
    page.wait_for_url("**/other*")
    expect(launcher_of(page)).to_have_attribute("aria-label", "Chat, 1 new")
    launcher_of(page).click()
    expect(launcher_of(page)).to_have_attribute("aria-label", "Chat")
    expect(launcher_of(other)).to_have_attribute("aria-label", "Chat")
    with page.context.expect_page() as opened:  # a link leaves the chat where it is
        chat_of(page).get_by_role("link", name="on its way").click()
    opened.value.close()

    # Left open it is open on the next page, and signed out it is nobody's.
    page.goto("/")
    expect(chat_of(page).locator("#w-foot")).to_have_text("Not signed in")
    expect(chat_of(page).locator(".w-msg")).to_have_count(0)
    page.evaluate("() => Median.remove()")
    expect(page.locator("median-widget")).to_have_count(0)
    assert page.evaluate("() => typeof Median") == "undefined"


def test_offline_and_back_without_storage(
    world: World, shop: str, open_window: OpenWindow, complaints: Complaints
) -> None:
    world.conversation.delete()
    page = open_window(shop)
    page.add_init_script(NO_STORAGE)
    page.goto("/")
    launcher_of(page).click()
    text, error = chat_of(page).get_by_role("textbox"), chat_of(page).locator("#w-error")
    expect(chat_of(page).locator("#w-foot")).to_have_text("Not signed in")
    text.fill("Are you there?")
    page.context.set_offline(True)
    text.press("Enter")
    expect(error).to_contain_text("Not sent yet. It is kept here, and goes out when the connection is back.")
    expect(chat_of(page).get_by_role("button", name="Send again")).to_be_visible()
    expect(text).to_have_value("Are you there?")
    page.context.set_offline(False)
    expect(chat_of(page).locator(".w-msg--me")).to_have_text("Are you there?")
    expect(text).to_have_value("")
    expect(error).to_be_hidden()

    # Sent, but the answer was lost: sent again, it is there once.
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/messages", lose, times=1)
    text.fill("Hello?")
    text.press("Enter")
    expect(error).to_be_visible()
    chat_of(page).get_by_role("button", name="Send again").click()
    expect(chat_of(page).locator(".w-msg--me")).to_have_text(["Are you there?", "Hello?"])
    expect(text).to_have_value("")
    assert written() == ["Are you there?", "Hello?"]
    complaints.said = [said for said in complaints.said if "ERR_INTERNET_DISCONNECTED" not in said]
    complaints.take("ERR_FAILED")


def test_two_windows_of_one_visitor(world: World, shop: str, open_window: OpenWindow) -> None:
    world.conversation.delete()
    page = open_window(shop)
    page.goto("/")
    launcher_of(page).click()
    expect(chat_of(page).locator("#w-foot")).to_have_text("Not signed in")
    other = page.context.new_page()
    other.goto("/")
    launcher_of(other).click()
    expect(chat_of(other).locator("#w-foot")).to_have_text("Not signed in")

    # The first message begins a conversation, which the other window has not heard of.
    for window, says in ((page, "From here"), (other, "And from there")):
        chat_of(window).get_by_role("textbox").fill(says)
        chat_of(window).get_by_role("textbox").press("Enter")
        for each in (page, other):
            expect(chat_of(each).locator(".w-msg--me").last).to_have_text(says)
    threads.end(Conversation.objects.get().id, by=world.sam.actor, to=Status.CLOSED)
    chat_of(page).get_by_role("textbox").fill("One more thing")
    chat_of(page).get_by_role("textbox").press("Enter")
    for each in (page, other):
        expect(chat_of(each).locator(".w-msg--me")).to_have_text(["One more thing"])
    assert Conversation.objects.count() == 2


def test_a_token_that_runs_out_in_the_middle(
    world: World, shop: str, open_window: OpenWindow, complaints: Complaints
) -> None:
    page = open_window(shop)
    fresh = token_of(world.ana)
    # A page that asks its server when told to, once it is ready to.
    page.add_init_script("window.asked = 0; addEventListener('median:expired', () => { asked += 1; })")
    page.goto(f"/?{fresh}")
    launcher_of(page).click()
    expect(chat_of(page).locator("#w-foot")).to_have_text("Signed in as ana@example.com")
    page.evaluate("(token) => Median.identify(token)", token_of(world.ana, ends_in=64))
    until(lambda: page.evaluate("() => asked") == 1)  # a minute ahead, so that nothing is refused
    expect(chat_of(page).locator("#w-error")).to_be_hidden()

    # This one the server no longer takes in a second.
    steps = page.evaluate("() => history.length")
    at = clock.now() + timedelta(seconds=1)
    page.evaluate("(token) => Median.identify(token)", token_of(world.ana, ends_in=1 - session_tokens.LEEWAY_S))
    text = chat_of(page).get_by_role("textbox")
    text.fill("Does this get lost?")
    until(lambda: clock.now() > at)
    text.press("Enter")
    until(lambda: page.evaluate("() => asked") >= 2)
    expect(chat_of(page).locator("#w-error")).to_contain_text("Your sign-in has run out.")
    expect(text).to_have_value("Does this get lost?")
    page.evaluate("(token) => Median.identify(token)", fresh)
    expect(chat_of(page).locator(".w-msg--me")).to_have_text("Does this get lost?")
    expect(chat_of(page).locator("#w-error")).to_be_hidden()
    expect(text).to_have_value("")
    assert written() == ["Does this get lost?"]
    assert page.evaluate("() => history.length") == steps
    complaints.take("401")


def test_what_one_typed_is_not_there_for_the_next(
    world: World, shop: str, open_window: OpenWindow, complaints: Complaints
) -> None:
    page = open_window(shop.replace("localhost", "127.0.0.1"))  # where the frame may keep things
    text, foot = chat_of(page).get_by_role("textbox"), chat_of(page).locator("#w-foot")
    ben = Customer.objects.create(
        workspace=world.fernhill, subject="user_ben", verified=True, name="Ben", email="ben@example.com"
    )
    page.goto(f"/?{token_of(world.ana)}")
    launcher_of(page).click()
    expect(foot).to_have_text("Signed in as ana@example.com")
    text.fill("My card ends in 1234")

    # On a page of somebody else, at once.
    page.goto(f"/?{token_of(ben)}")
    expect(foot).to_have_text("Signed in as ben@example.com")
    expect(text).to_have_value("")

    # Also when the first one's token had run out, with a message that would go out again by itself.
    at = clock.now() + timedelta(seconds=1)
    page.goto(f"/?{token_of(world.ana, ends_in=1 - session_tokens.LEEWAY_S)}")
    text.fill("My card ends in 1234")
    until(lambda: clock.now() > at)
    text.press("Enter")
    expect(chat_of(page).locator("#w-error")).to_contain_text("Your sign-in has run out.")
    page.evaluate("(token) => Median.identify(token)", token_of(ben))
    expect(foot).to_have_text("Signed in as ben@example.com")
    expect(text).to_have_value("")
    text.fill("Hello from Ben")
    text.press("Enter")
    expect(chat_of(page).locator(".w-msg--me")).to_have_text(["Hello from Ben"])
    assert written() == ["Hello from Ben"]
    complaints.take("401")


def test_too_fast(world: World, shop: str, open_window: OpenWindow, complaints: Complaints) -> None:
    page = open_window(shop)
    page.goto(f"/?{token_of(world.ana)}")
    launcher_of(page).click()
    expect(chat_of(page).locator("#w-foot")).to_have_text("Signed in as ana@example.com")
    for ahead in (0, 1):  # the minute may turn
        minute = clock.now().replace(second=0, microsecond=0) + timedelta(minutes=ahead)
        WidgetUse.objects.create(
            workspace=world.fernhill, what="messages", who="session verified:user_123", minute=minute, times=30
        )
    text, again = chat_of(page).get_by_role("textbox"), chat_of(page).get_by_role("button", name="Send again")
    text.fill("One more")
    text.press("Enter")
    expect(chat_of(page).get_by_role("alert").filter(has_text="That is a lot of messages at once.")).to_be_visible()
    expect(text).to_have_value("One more")
    WidgetUse.objects.all().delete()
    again.click()
    expect(chat_of(page).locator(".w-msg--me")).to_have_text("One more")
    assert written() == ["One more"]
    complaints.take("429")


def test_a_site_that_may_not_show_it(world: World, shop: str, open_window: OpenWindow, complaints: Complaints) -> None:
    world.fernhill.widget_origins = "https://elsewhere.example"
    world.fernhill.save(update_fields=["widget_origins"])
    page = open_window(shop)
    page.goto("/")
    launcher_of(page).click()
    expect(page.locator("median-widget [role=status]")).to_have_text(
        "The chat could not be opened. Try again in a moment."
    )
    expect(page.locator("iframe")).to_have_count(0)
    expect(launcher_of(page)).to_have_attribute("aria-expanded", "false")
    complaints.take("frame-ancestors")
    complaints.take(f"Median: no chat on {shop}. Is this site listed under Settings > Widget")
    complaints.said = [said for said in complaints.said if "ERR_BLOCKED_BY_RESPONSE" not in said]
