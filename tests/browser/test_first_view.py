"""What the first view of a page costs, in a window that has kept nothing: bytes, and the wait before it is painted."""

from collections import Counter

import pytest
from playwright.sync_api import Page, Route, expect

from tests.approvals.requests import request
from tests.browser.conftest import OpenWindow
from tests.dashboard.threads_at_hand import many, write
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)

BYTES = 60_000  # HTML, styles and scripts together; without the fonts and icons, which nothing waits for
FIRST_PAINT = """() => new Promise((done) => new PerformanceObserver((seen) => done(seen.getEntries()[0].startTime))
  .observe({ type: "paint", buffered: true }))"""


def weigh(page: Page) -> Counter[str]:
    """Counts from now on the bytes on the wire, headers too, by type: Document, Stylesheet, Script and so on."""
    weights: Counter[str] = Counter()
    kinds: dict[str, str] = {}
    wire = page.context.new_cdp_session(page)
    wire.on("Network.responseReceived", lambda heard: kinds.update({heard["requestId"]: heard["type"]}))
    wire.on(
        "Network.loadingFinished",
        lambda heard: weights.update({kinds[heard["requestId"]]: int(heard["encodedDataLength"])}),
    )
    wire.send("Network.enable")
    return weights


@pytest.mark.parametrize("place", ["queue", "thread"])
def test_the_first_view(world: World, web: WebProcess, open_window: OpenWindow, place: str) -> None:
    many(world, 50)
    for number in range(50):
        write(world, client_id=f"m{number}")
    request(world)
    address = "/inbox/" if place == "queue" else f"/inbox/{world.conversation.id}/"

    page = open_window(web.url, world.sam)
    weights = weigh(page)
    page.goto(address, wait_until="networkidle")
    assert weights["Document"] + weights["Stylesheet"] + weights["Script"] < BYTES

    held: list[Route] = []
    page = open_window(web.url, world.sam)
    page.route("**/*.js", lambda route: held.append(route))  # none of them ever arrives
    page.goto(address, wait_until="commit")
    assert page.evaluate(FIRST_PAINT) > 0
    expect(page.locator(".qrow").first).to_be_visible()
    assert len(held) == (1 if place == "queue" else 2)
