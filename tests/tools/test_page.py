"""Agent > Tools: what the page and its drawers say, and that they cost few statements."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from median_site.lib import clock
from team.models import Teammate
from tests.approvals import requests
from tests.world import World
from tools import endpoints, keys, manifest, overview, sync
from tools.models import Endpoint, EndpointSync, Tool, ToolRun

Browser = Callable[[Teammate], Client]
PAGE = "/agent/tools/"
DRAWER = {"HX-Request": "true", "HX-Target": "drawer"}


def ran(
    world: World, name: str = "refundOrder", *, state: str = "completed", by: str = "teammate", days: int = 0
) -> None:
    tool = world.tool(name)
    ToolRun.objects.create(
        workspace=world.fernhill, tool=tool, endpoint_id=tool.endpoint_id, tool_name=tool.name, tool_label=tool.label,
        risk=tool.risk, input="{}", started_by=by, by_name="Sam Okafor", state=state, headline="Done",
        queued_at=clock.now() - timedelta(days=days),
    )  # fmt: skip


def test_what_the_page_shows(world: World, browser_of: Browser) -> None:
    Tool.objects.filter(name="closeAccount").update(switched_on=False)
    page = browser_of(world.sam).get(PAGE).text
    assert "<code>http://127.0.0.1:9/tools</code>" in page
    assert "8 tools" in page
    for shown in [
        "Refund order",
        "<code>refundOrder</code>",
        "High risk",
        f"{world.fernhill.issuer}/.well-known/jwks.json",
    ]:
        assert shown in page
    assert page.count('role="switch"') == 8
    assert page.count('aria-checked="false"') == 1
    assert page.count('<td class="when">Never</td>') == 8


def test_usage_of_seven_days_without_tests(world: World) -> None:
    for _ in range(2):
        ran(world)
    ran(world, state="failed", days=2)
    ran(world, by="test")
    ran(world, days=8)
    ran(world, "orderStatus", days=9)
    rows = {row.tool.name: row for row in overview.tools(world.fernhill.id)}
    refund, status, other = rows["refundOrder"], rows["orderStatus"], rows["closeAccount"]
    assert (refund.runs, refund.failed, refund.failure_rate) == (3, 1, 34)
    assert [bar.height for bar in refund.bars] == [1, 1, 1, 1, 8, 1, 15]
    assert (status.runs, status.failure_rate, status.last_used_at is not None) == (0, 0, True)
    assert (other.runs, other.last_used_at) == (0, None)


def test_a_failed_sync_says_why_and_what_to_do(world: World, browser_of: Browser) -> None:
    Endpoint.objects.update(failed_at=clock.now(), failure="bad_status", failure_detail="500", refused=[
        {"name": "orderStatus2", "path": "/tools/3/input", "reason": "It is not a schema.", "code": "invalid_tool"},
    ])  # fmt: skip
    page = browser_of(world.sam).get(PAGE).text
    assert "The endpoint answered 500." in page
    assert "<code>bad_status</code>" in page
    assert "To fix: A signed GET must answer 200 with the manifest. Still showing 8 tools from the last" in page
    assert "<code>orderStatus2</code>, <code>/tools/3/input</code>. It is not a schema. Correct the tool" in page


def test_a_sync_under_way(world: World, browser_of: Browser) -> None:
    EndpointSync.objects.create(workspace=world.fernhill, endpoint=world.endpoint, at=clock.now())
    assert 'data-state="syncing"' in browser_of(world.sam).get(PAGE).text
    EndpointSync.objects.update(at=clock.now() - timedelta(seconds=16))
    assert 'data-state="syncing"' not in browser_of(world.sam).get(PAGE).text


@pytest.mark.parametrize("path", [PAGE, f"{PAGE}refundOrder/", f"{PAGE}endpoints/<id>/"])
def test_whatever_the_number_of_tools_the_statements_stay_few(path: str, world: World, browser_of: Browser) -> None:
    browser, path = browser_of(world.sam), path.replace("<id>", world.endpoint.id)
    browser.get(path)
    with CaptureQueriesContext(connection) as few:
        browser.get(path)
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=world.endpoint, name=f"tool{n}", label=f"Tool {n}", description="More.",
             input_schema="{}", content_hash="x")
        for n in range(60)
    )  # fmt: skip
    for n in range(20):
        ran(world, f"tool{n}")
        ran(world)
    with CaptureQueriesContext(connection) as many:
        browser.get(path)
    assert len(few) == len(many) <= 12


def test_runs_are_counted_by_the_index(world: World) -> None:
    """In a workspace that has run tools for a long time."""
    tool = world.tool("refundOrder")
    ToolRun.objects.bulk_create(
        ToolRun(workspace=world.fernhill, tool=tool, endpoint_id="x", tool_name="x", tool_label="x", risk="low",
                input="{}", started_by="agent", state="completed", queued_at=clock.now() - timedelta(hours=n))
        for n in range(5_000)
    )  # fmt: skip
    with CaptureQueriesContext(connection) as captured:
        overview.tools(world.fernhill.id)
    with connection.cursor() as cursor:
        cursor.execute("analyze tools_toolrun")
        for query in list(captured):
            cursor.execute("explain " + query["sql"])
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "run_by_tool" in plan
            assert "Seq Scan on tools_toolrun" not in plan


def test_what_removing_would_take(world: World, browser_of: Browser) -> None:
    requests.request(world)
    page = browser_of(world.sam).get(PAGE).text
    assert "This takes 8 tools of <code>http://127.0.0.1:9/tools</code> out of use: Order status, Subscription" in page
    assert "1 request is waiting on them. It expires, with a line in its thread." in page


def test_the_drawer_of_a_tool(world: World, browser_of: Browser) -> None:
    ran(world, state="failed")
    ran(world, by="test")
    drawer = browser_of(world.sam).get(f"{PAGE}refundOrder/", headers=DRAWER).text
    assert "<html" not in drawer
    for shown in [
        "Refund an order in full.", "Added by Median, because the risk is high",
        "A teammate must approve this call before it runs", "The order number to refund.", "<code>wrong_item</code>",
        "A test by <bdi>Sam Okafor</bdi>", 'id="test-form"', "&#34;orderNumber&#34;: &#34;&#34;",
        '<a class="btn" href="/logs/?tool=refundOrder">Show in Logs</a>',
        "median tools test refundOrder \\\n  --input &#39;{&#34;orderNumber&#34;:&#34;&#34;,&#34;reason&#34;:"
        "&#34;damaged&#34;}&#39; \\\n  --as user_123</pre>",
    ]:  # fmt: skip
        assert shown in drawer
    page = browser_of(world.kim).get(f"{PAGE}refundOrder/").text
    assert "<html" in page
    assert "Refund an order in full." in page
    assert "test-form" not in page
    assert '<a class="btn" href="/logs/?tool=refundOrder">Show in Logs</a>' in page


def test_everybody_copies_addresses_and_finds_the_syncs_in_the_log(world: World, browser_of: Browser) -> None:
    page, issuer = browser_of(world.kim).get(PAGE).text, world.fernhill.issuer
    assert page.count(f'data-copies="{world.endpoint.url}"') == 1
    for address in (issuer, f"{issuer}/.well-known/jwks.json"):
        assert page.count(f'<code>{address}</code> <button class="btn btn--small btn--plain btn--icon" ') == 1
    logs = f"/logs/?type=syncs&q={world.endpoint.id}"
    assert f'<a href="{logs.replace("&", "&amp;")}">' in page
    assert "Change address or secret" not in page
    sync.store(world.endpoint, manifest.parse(b'{"version":1,"tools":[]}'))
    assert f"{world.endpoint.url} synced" in browser_of(world.kim).get(logs).text


def test_the_drawer_of_an_endpoint(world: World, browser_of: Browser) -> None:
    tools = b'[{"name":"refundOrder","description":"Refund.","risk":"low","input":{"type":"object"}}]'
    sync.store(world.endpoint, manifest.parse(b'{"version":1,"tools":' + tools + b"}"))
    page = browser_of(world.sam).get(f"{PAGE}endpoints/{world.endpoint.id}/", headers=DRAWER).text
    assert "1 changed, 7 gone; Refund order is low risk now, was high risk" in page
    assert '<div class="risk-moved"><dt>Risk</dt>' in page
    assert "<del>high</del>" in page
    assert "<ins>low</ins>" in page
    assert "<del>-    &#34;orderNumber&#34;,</del>" in page
    assert page.count('<li class="sync"') == 2
    summary = browser_of(world.sam).get(PAGE).text
    assert "1 changed, 7 gone; Refund order is low risk now, was high risk." in summary


def test_a_rotation_says_until_when(world: World, browser_of: Browser) -> None:
    path = f"{PAGE}endpoints/{world.endpoint.id}/"
    assert "Stop the old one now" not in browser_of(world.sam).get(path).text
    endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor)
    page = browser_of(world.sam).get(path).text
    assert "Two signatures stand side by side until tomorrow at " in page
    assert "Stop the old one now" in page
    assert "The old secret signs too, until" in browser_of(world.kim).get(PAGE).text


def test_keys_and_what_each_does(world: World, browser_of: Browser) -> None:
    old = keys.current(world.fernhill.id)
    made = keys.rotate(by=world.sam.actor)
    page = browser_of(world.sam).get(PAGE).text
    assert "Published; signs from" in page
    assert "Signs until the next one takes over" in page
    assert (old.kid in page, made.kid in page) == (True, True)
    with clock.at(made.signs_from):
        states = [(row.key.kid, row.state) for row in overview.keys(world.fernhill.id)]
    assert states == [(made.kid, "signs"), (old.kid, "verifies")]


def test_a_full_workspace(world: World, browser_of: Browser) -> None:
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=world.endpoint, name=f"tool{n}", label="x", description="x",
             input_schema="{}", content_hash="x") for n in range(192)
    )  # fmt: skip
    assert "200 tools are switched on, which is as many as" in browser_of(world.sam).get(PAGE).text
