"""An HTTP tool written, mended and published in a browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.web_process import WebProcess
from tests.world import World
from tools import tool_versions
from tools.models import HttpTool


@pytest.mark.django_db(transaction=True)
def test_a_tool_is_written_mended_and_published(
    world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    page = open_window(web.url, world.sam)
    page.goto("/agent/tools/")
    page.get_by_role("link", name="New HTTP tool").click()
    page.get_by_label("Name", exact=True).fill("loyaltyTier")
    page.get_by_label("Description, which the agent reads").fill("The customer's loyalty tier.")
    page.get_by_label("URL").fill("http://127.0.0.1:9/customers/{id}/tier")
    page.get_by_label("Subject parameter").fill("user")
    page.get_by_label("URL").press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was saved. 1 field needs another look.")
    expect(page.get_by_text("{id} in the URL has no path parameter of that name.")).to_be_visible()
    expect(page.get_by_label("Subject parameter")).to_have_value("user")
    # Chromium tells its console of every answer that is no success.
    assert [said.partition(":")[0] for said in complaints.said] == ["Failed to load resource"]
    complaints.said.clear()

    page.get_by_label("Name of parameter 1").fill("id")
    page.get_by_label("Place of parameter 1").select_option("path")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("1 change is not published yet")).to_be_visible()
    page.get_by_role("link", name="Publish version 1").click()
    page.get_by_role("button", name="Publish version 1").click()
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    expect(page.locator("#tool-loyaltyTier")).to_contain_text(re.compile("Loyalty tier.*HTTP", re.DOTALL))

    published = tool_versions.definitions(tool_versions.newest(world.fernhill.id))
    assert [(each.name, each.risk) for each in published] == [("loyaltyTier", "low")]
    assert HttpTool.objects.count() == 1
