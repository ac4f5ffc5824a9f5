"""The risk of an MCP server's tool, set on Agent > Tools: who may, what asks again, and what sets it back."""

import html
from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from team.models import Event, Teammate
from tests.mcp_server import McpServer, mcp_server, tool
from tests.world import World
from tools.models import Endpoint, EndpointSync, Tool

pytestmark = pytest.mark.django_db(transaction=True)

Browser = Callable[[Teammate], Client]
PATH = "/agent/tools/dropOrder/"
HELD = ("low", "high", "Sam Okafor")


@pytest.fixture
def served(world: World, browser_of: Browser) -> Iterator[McpServer]:
    """A server whose tool is high, synced at Fernhill."""
    with mcp_server(tool("dropOrder", description="Drop an order.", annotations={})) as server:
        browser_of(world.sam).post("/agent/tools/endpoints", {"kind": "mcp", "url": server.url})
        yield server


def stored() -> Tool:
    return Tool.objects.get(name="dropOrder")


def risk() -> tuple[str, str, str]:
    row = stored()
    assert bool(row.risk_set_at) == bool(row.served_risk)
    return row.risk, row.served_risk, row.risk_set_by


def press(browser: Client, wanted: str, *, seen: str | None = None, sure: bool = False) -> tuple[int, str]:
    given = {"risk": wanted, "seen": stored().content_hash if seen is None else seen} | ({"sure": "1"} if sure else {})
    answer = browser.post(f"{PATH}risk", given, headers={"HX-Request": "true", "HX-Target": "drawer"})
    return answer.status_code, html.unescape(answer.text)


def sync(browser: Client) -> None:
    EndpointSync.objects.update(at="2026-01-01T00:00:00Z")
    endpoint = Endpoint.objects.get(kind="mcp")
    browser.post(f"/agent/tools/endpoints/{endpoint.id}/sync")
    endpoint.refresh_from_db()
    assert not endpoint.failure


def test_lowering_is_asked_about_and_logged(world: World, served: McpServer, browser_of: Browser) -> None:
    sam = browser_of(world.sam)
    assert risk() == ("high", "", "")
    status, asked = press(sam, "low")
    assert status == 200
    assert "Lower the risk of Drop order from high to low? The agent then runs it by itself" in asked
    assert risk() == ("high", "", "")

    assert press(sam, "low", sure=True)[0] == 302
    assert press(sam, "low", sure=True)[0] == 302
    assert risk() == HELD
    (event,) = Event.objects.filter(kind="tool.rated")
    assert (event.actor_name, event.tool_name, event.type) == ("Sam Okafor", "dropOrder", "tools")
    assert event.data == {"label": "Drop order", "risk": "low", "was": "high"}
    assert "Sam set the risk of Drop order to low, from high" in html.unescape(sam.get("/logs/?tool=dropOrder").text)
    shown = " ".join(sam.get(PATH).text.split())
    assert "Set by Sam Okafor <time" in shown
    assert (
        "</time>; it was high. It goes back to what the server’s annotations say once the server changes this tool’s"
        in shown
    )
    assert "Set by Sam Okafor" in sam.get("/agent/tools/").text

    assert press(sam, "reviewed")[0] == 302  # higher than low: at once
    assert risk() == ("reviewed", "high", "Sam Okafor")
    assert press(sam, "high")[0] == 302
    assert risk() == ("high", "", "")
    assert Event.objects.filter(kind="tool.rated").count() == 3


def test_it_holds_until_the_definition_changes(world: World, served: McpServer, browser_of: Browser) -> None:
    sam = browser_of(world.sam)
    press(sam, "low", sure=True)
    sync(sam)
    assert risk() == HELD
    first, served.tools = served.tools, []
    sync(sam)  # gone, and back as it was
    served.tools = first
    sync(sam)
    assert (risk(), stored().present) == (HELD, True)

    changed = [
        {"description": "Drop every order."},
        {"inputSchema": {"type": "object", "properties": {"all": {"type": "boolean"}}}},
        {"annotations": {"idempotentHint": True}},
        {"title": "Drop"},
    ]
    for change in changed:
        served.tools = [served.tools[0] | change]
        sync(sam)
        assert risk() == ("high", "", "")
        press(sam, "low", sure=True)
        assert risk() == HELD
    newest = EndpointSync.objects.latest("id")
    assert newest.summary == "1 changed; Drop is high risk now, was low risk"


def test_a_definition_that_was_not_read_is_not_rated(world: World, served: McpServer, browser_of: Browser) -> None:
    sam, seen = browser_of(world.sam), stored().content_hash
    served.tools = [tool("dropOrder", description="Drop every order.", annotations={})]
    sync(sam)
    for sure in (False, True):
        status, said = press(sam, "low", seen=seen, sure=sure)
        assert (status, said) == (
            409, "The tool changed since you read it. Look at it again before you set its risk.",
        )  # fmt: skip
    assert risk() == ("high", "", "")


def test_who_may_and_of_what(world: World, served: McpServer, browser_of: Browser) -> None:
    assert "Set risk" in browser_of(world.sam).get(PATH).text
    kim = browser_of(world.kim)
    assert "Set risk" not in kim.get(PATH).text
    assert press(kim, "low", sure=True) == (403, "Only owners and admins can do this.")
    assert press(browser_of(world.mallory), "low", sure=True)[0] == 404
    assert browser_of(world.sam).get(f"{PATH}risk").status_code == 405
    assert press(browser_of(world.sam), "none", sure=True) == (422, "The risk must be low, medium, reviewed or high.")
    other = world.tool("refundOrder")
    given = {"risk": "low", "seen": other.content_hash, "sure": "1"}
    answer = browser_of(world.sam).post("/agent/tools/refundOrder/risk", given, headers={"HX-Request": "true"})
    assert (answer.status_code, html.unescape(answer.text)) == (
        409, "Only the risk of an MCP server's tool is set here. Any other tool says its own.",
    )  # fmt: skip
    assert "Set risk" not in browser_of(world.sam).get("/agent/tools/refundOrder/").text
    assert (risk(), world.tool("refundOrder").risk) == (("high", "", ""), "high")
    assert Event.objects.filter(kind="tool.rated").count() == 0
