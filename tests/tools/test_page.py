"""Agent > Tools: what the page says, who may change what, and that adding an endpoint syncs it."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from median_site.lib import clock
from team.models import Event, Teammate
from tests.world import World
from tools.models import Endpoint, EndpointSync, Tool, ToolRun

Browser = Callable[[Teammate], Client]
PAGE = "/agent/tools/"
MANIFEST = {"version": 1, "sdk": "median-tools/1.0 (python)", "tools": [
    {"name": "stockLevel", "description": "How many are left.", "risk": "low"},
    {"name": "bad name", "description": "Refused."},
]}  # fmt: skip


@pytest.fixture
def server() -> Iterator[str]:
    """A company's endpoint, as a URL."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802  # the base class's name
            body = json.dumps(MANIFEST).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/tools"
        listening.shutdown()
        thread.join()


def test_what_the_page_shows(world: World, browser_of: Browser) -> None:
    Tool.objects.filter(name="closeAccount").update(switched_on=False)
    tool = world.tool("refundOrder")
    ToolRun.objects.create(
        workspace=world.fernhill, tool=tool, endpoint_id=tool.endpoint_id, tool_name=tool.name, tool_label=tool.label,
        risk=tool.risk, input="{}", started_by="teammate", queued_at=clock.now(),
    )  # fmt: skip
    page = browser_of(world.sam).get(PAGE).text
    assert "<code>http://127.0.0.1:9/tools</code>" in page
    assert "8 tools" in page
    for shown in ["Refund order", "<code>refundOrder</code>", "Refund an order in full.", "High risk", "wrong_item"]:
        assert shown in page
    assert page.count('role="switch"') == 8
    assert page.count('aria-checked="false"') == 1
    assert page.count('<td class="when">Never</td>') == 7


def test_a_failed_sync_says_why_and_what_to_do(world: World, browser_of: Browser) -> None:
    Endpoint.objects.update(failed_at=clock.now(), failure="bad_status", failure_detail="500", refused=[
        {"name": "orderStatus2", "path": "/input/properties/when", "reason": "It is not a schema."},
    ])  # fmt: skip
    page = browser_of(world.sam).get(PAGE).text
    assert "The endpoint answered 500." in page
    assert "<code>bad_status</code>" in page
    assert "To fix: GET on the endpoint must answer 200 with the manifest." in page
    assert "<code>orderStatus2</code>, <code>/input/properties/when</code>. It is not a schema." in page


def test_whatever_the_number_of_tools_the_statements_stay_few(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    browser.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        browser.get(PAGE)
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=world.endpoint, name=f"tool{n}", label=f"Tool {n}", description="More.",
             input_schema="{}", content_hash="x")
        for n in range(60)
    )  # fmt: skip
    with CaptureQueriesContext(connection) as many:
        browser.get(PAGE)
    assert len(few) == len(many) <= 8


def test_a_manager_switches_a_tool(world: World, browser_of: Browser) -> None:
    for _ in range(2):
        answer = browser_of(world.sam).post(f"{PAGE}refundOrder/switch", {"on": "0"})
        assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert not world.tool("refundOrder").switched_on
    assert Event.objects.filter(kind="tool.switched").count() == 1
    browser_of(world.sam).post(f"{PAGE}refundOrder/switch", {"on": "1"})
    assert world.tool("refundOrder").switched_on


def test_removing_an_endpoint(world: World, browser_of: Browser) -> None:
    browser_of(world.sam).post(f"{PAGE}endpoints/{world.endpoint.id}/remove")
    world.endpoint.refresh_from_db()
    assert world.endpoint.removed_at is not None
    page = browser_of(world.sam).get(PAGE).text
    assert "No tools yet" in page
    assert "http://127.0.0.1:9/tools" not in page


def paths(world: World) -> list[str]:
    endpoint = f"{PAGE}endpoints/{world.endpoint.id}"
    return [f"{PAGE}endpoints", f"{endpoint}/sync", f"{endpoint}/remove", f"{PAGE}refundOrder/switch"]


def is_untouched(world: World) -> bool:
    return (
        Endpoint.objects.filter(removed_at=None).count() == 1
        and world.tool("refundOrder").switched_on
        and EndpointSync.objects.count() == 1
    )


def test_a_member_looks_and_changes_nothing(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.kim)
    page = browser.get(PAGE).text
    assert "Refund order" in page
    assert "Owners and admins add endpoints and switch tools." in page
    assert 'role="switch"' not in page
    assert "Sync now" not in page
    for path in paths(world):
        answer = browser.post(path, {"url": "https://shop.example/tools", "on": "0"}, headers={"HX-Request": "true"})
        assert (answer.status_code, answer.text) == (403, "Only owners and admins can do this.")
    assert is_untouched(world)


def test_another_workspace_finds_nothing(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.mallory)
    assert "Refund order" not in browser.get(PAGE).text
    for path in paths(world)[1:]:
        assert browser.post(path, {"on": "0"}).status_code == 404
    assert is_untouched(world)


def test_a_get_changes_nothing(world: World, browser_of: Browser) -> None:
    for path in paths(world):
        assert browser_of(world.sam).get(path).status_code == 405
    assert is_untouched(world)


def test_a_page_made_for_somebody_else(world: World, browser_of: Browser) -> None:
    answer = browser_of(world.sam).post(
        f"{PAGE}refundOrder/switch", {"on": "0"}, headers={"X-Median-As": world.kim.id, "HX-Request": "true"}
    )
    assert (answer.status_code, answer.text) == (
        409, "You are signed in as Sam now. Reload the page; nothing was done.",
    )  # fmt: skip
    assert is_untouched(world)


def test_nobody_is_sent_to_sign_in(world: World) -> None:
    answer = Client().get(PAGE)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/agent/tools/")


@pytest.mark.django_db(transaction=True)
def test_adding_an_endpoint_syncs_it_and_shows_its_secret_once(world: World, browser_of: Browser, server: str) -> None:
    browser = browser_of(world.sam)
    page = browser.post(f"{PAGE}endpoints", {"url": server})
    assert page.status_code == 200
    assert page.text.count("whsec_") == 1
    assert "Stock level" in page.text
    assert "Refused: <code>bad name</code>" in page.text
    endpoint = Endpoint.objects.get(url=server)
    assert endpoint.synced_at is not None
    assert "whsec_" not in endpoint.sealed_secret
    assert "whsec_" not in browser.get(PAGE).text
    again = browser.post(f"{PAGE}endpoints", {"url": server}, headers={"HX-Request": "true"})
    assert (again.status_code, again.text) == (409, "This endpoint is in the list already.")
    assert Endpoint.objects.filter(url=server).count() == 1


@pytest.mark.django_db(transaction=True)
def test_sync_now_says_what_came_of_it(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    page = browser.post(f"{PAGE}endpoints/{world.endpoint.id}/sync", follow=True).text
    assert "The endpoint could not be reached." in page
    assert "Still showing 8 tools from the last successful sync" in page
    assert EndpointSync.objects.filter(endpoint=world.endpoint, code="unreachable").count() == 1


def test_an_address_that_is_none(world: World, browser_of: Browser) -> None:
    answer = browser_of(world.sam).post(f"{PAGE}endpoints", {"url": "ftp://x"}, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert json.loads(answer["HX-Trigger"])["toast"]["field"] == "url"
    assert is_untouched(world)
