"""Agent > Tools in a window: adding, the drawers, rotating, testing a tool, removing."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from median_site.lib import clock
from tests import world as worlds
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.manifest_server import ManifestServer, manifest_server
from tests.web_process import WebProcess
from tests.world import World
from tools.models import Endpoint, EndpointSync, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

STOCK = {"name": "stockLevel", "description": "How many are left.", "input": worlds.ORDER}


@pytest.fixture
def served() -> Iterator[ManifestServer]:
    with manifest_server(STOCK) as server:
        yield server


@pytest.fixture
def page(world: World, web: WebProcess, open_window: OpenWindow) -> Page:
    window = open_window(web.url, world.sam)
    window.goto("/agent/tools/")
    return window


def was_refused(complaints: Complaints) -> None:
    """Chromium and htmx tell the console of every answer that is no success."""
    assert len(complaints.said) == 2, complaints.said
    complaints.said.clear()


def test_an_endpoint_from_adding_to_removing(
    page: Page, world: World, served: ManifestServer, complaints: Complaints
) -> None:
    page.get_by_role("button", name="Add endpoint").click()
    add = page.get_by_role("dialog", name="Add endpoint")
    add.get_by_label("Address").fill(world.endpoint.url)
    add.get_by_role("button", name="Add and sync").click()
    expect(add.get_by_text("This endpoint is in the list already.")).to_be_visible()
    was_refused(complaints)
    add.get_by_label("Address").fill(served.url)
    add.get_by_role("button", name="Add and sync").click()
    expect(page.locator(".secret")).to_have_text(re.compile("^whsec_"))
    expect(page.get_by_role("row", name="Stock level")).to_be_visible()

    served.tools = [{**STOCK, "risk": "high"}]
    page.get_by_role("link", name=served.url, exact=True).click()
    drawer = page.locator("#drawer")
    drawer.get_by_role("button", name="Sync now").click()
    expect(drawer.locator(".risk-moved")).to_contain_text("low")
    drawer.get_by_role("button", name="Rotate").click()
    expect(drawer.locator(".secret")).to_be_visible()
    drawer.get_by_role("button", name="Stop the old one now").click()
    expect(drawer.get_by_text("Two signatures")).to_have_count(0)
    expect(drawer.locator(".secret")).to_have_count(0)
    drawer.get_by_role("button", name="Close").click()
    # What was done in the drawer shows on the page.
    expect(page.get_by_role("row", name="Stock level")).to_contain_text("High risk")

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=f"More actions for {served.url}").click()
    page.get_by_role("button", name="Copy address").locator("visible=true").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    page.get_by_placeholder("Find a tool").press("Control+v")
    expect(page.get_by_placeholder("Find a tool")).to_have_value(served.url)

    page.get_by_role("button", name=f"More actions for {served.url}").click()
    page.get_by_role("button", name="Remove endpoint").locator("visible=true").click()
    question = page.get_by_role("dialog", name="Remove endpoint?")
    expect(question.get_by_role("button", name="Keep it")).to_be_focused()
    question.get_by_role("button", name="Remove endpoint").click()
    expect(page.get_by_role("row", name="Stock level")).to_have_count(0)


def test_a_tool_is_switched_and_tested(page: Page, served: ManifestServer, complaints: Complaints) -> None:
    Endpoint.objects.update(url=served.url)
    page.get_by_placeholder("Find a tool").fill("status")
    expect(page.locator("#tools-list tr:visible")).to_have_count(1)
    page.get_by_role("switch", name="Order status").click()
    expect(page.get_by_role("switch", name="Order status")).to_have_attribute("aria-checked", "false")

    page.get_by_role("link", name="Test Order status").click()
    drawer = page.locator("#drawer")
    drawer.get_by_label("Input, as JSON").fill("{}")
    drawer.get_by_role("button", name="Test").click()
    expect(drawer.get_by_text("orderNumber is needed to run this.")).to_be_visible()
    was_refused(complaints)
    drawer.get_by_label("Input, as JSON").fill('{"orderNumber":"ORD-1042"}')
    drawer.get_by_label("As the customer").fill("user_123")
    drawer.get_by_role("button", name="Test").click()
    expect(drawer.get_by_label("Answer")).to_contain_text('{"left":3}')
    expect(drawer.get_by_label("Request")).to_contain_text('"externalId":"user_123"')
    expect(drawer.locator("#last-runs")).to_contain_text("A test by Sam Okafor")
    expect(drawer.get_by_role("button", name="Test")).to_be_focused()
    assert ToolRun.objects.get().state == "completed"
    drawer.get_by_role("switch", name="Order status").click()
    expect(drawer.get_by_role("switch", name="Order status")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("switch", name="Order status")).to_have_attribute("aria-checked", "true")


def test_a_row_notices_that_its_sync_ended(page: Page, world: World) -> None:
    running = EndpointSync.objects.create(workspace=world.fernhill, endpoint=world.endpoint, at=clock.now())
    page.reload()
    expect(page.get_by_role("button", name="Syncing")).to_be_disabled()
    EndpointSync.objects.filter(id=running.id).update(ended_at=clock.now())
    expect(page.get_by_role("button", name="Sync now")).to_be_enabled()
    page.get_by_role("button", name=f"More actions for {world.endpoint.url}").click()
    expect(page.get_by_role("link", name="Show its syncs in Logs")).to_be_visible()
