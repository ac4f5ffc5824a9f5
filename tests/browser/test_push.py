"""A push in a real browser: the worker shows it and opens what it is about. Its push service is another company's and
cannot be had here, so the browser hands the worker what it would have opened."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import CDPSession, expect

from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)
SHOWN = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
  .map((shown) => [shown.tag, shown.title, shown.body])"""


def registration_of(wire: CDPSession) -> Callable[[], str]:
    """The id under which the browser knows the page's worker."""
    ids: list[str] = []
    wire.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda heard: ids.extend(each["registrationId"] for each in heard["registrations"]),
    )
    wire.send("ServiceWorker.enable")
    return lambda: ids[-1] if ids else ""


def push(wire: CDPSession, registration: str, *, origin: str, **data: str) -> None:
    message = {"origin": origin, "registrationId": registration, "data": json.dumps(data)}
    wire.send("ServiceWorker.deliverPushMessage", message)


def test_what_is_pushed_is_shown_once(
    world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    page = open_window(web.url, world.kim)
    page.context.grant_permissions(["notifications"])
    page.goto("/settings/notifications/")
    expect(page.get_by_text("Nothing is pushed here.")).to_be_visible()
    wire = page.context.new_cdp_session(page)
    registration = registration_of(wire)
    page.get_by_role("button", name="Turn on").click()
    expect(page.get_by_text("push service did not answer")).to_be_visible()  # none is reached from here
    complaints.said.clear()
    told = {"tag": "call_1", "title": "Fernhill", "path": "/approvals/"}
    origin = page.evaluate("location.origin")
    for body in ("Needs approval: Refund order", "Needs approval: Cancel subscription"):
        page.goto("about:blank")  # nobody looks at Median
        push(wire, until(registration), origin=origin, body=body, **told)
        page.goto("/settings/notifications/")
        until(lambda body=body: page.evaluate(SHOWN) == [["call_1", "Fernhill", body]])


def test_a_browser_that_blocks_them_says_so(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    page = open_window(web.url, world.kim)
    page.add_init_script("Object.defineProperty(Notification, 'permission', { get: () => 'denied' })")
    page.goto("/settings/notifications/")
    expect(page.get_by_text("The browser blocks notifications of this site.")).to_be_visible()
    expect(page.get_by_role("button", name="Turn on")).to_be_hidden()
