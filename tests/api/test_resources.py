"""Tools, endpoints, conversations, runs by the API and the log, as programs use them."""

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from conversations.models import Conversation, Customer, Handler, ItemKind
from median_site.api.app import api
from team import api_keys, jobs
from team.models import Event
from tests import world as worlds
from tests.api.conftest import Program
from tests.endpoint import Endpoint, shop_endpoint
from tests.world import World
from tools.models import Endpoint as EndpointRow
from tools.models import Tool, ToolRun


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with shop_endpoint(worlds.SECRET) as served:
        yield served


def test_tools_are_listed_and_switched(world: World, program: Program) -> None:
    listed = {tool["name"]: tool for tool in program.get("/tools").json()["data"]}
    assert sorted(listed) == sorted(Tool.objects.values_list("name", flat=True))
    assert listed["refundOrder"]["risk"] == "high"
    assert program.post("/tools/refundOrder/disable").json()["enabled"] is False
    assert Tool.objects.get(name="refundOrder").switched_on is False
    assert program.post("/tools/refundOrder/enable").json()["enabled"] is True
    assert program.post("/tools/nothing/enable").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_an_endpoint_is_added_synced_and_removed(world: World, program: Program, endpoint: Endpoint) -> None:
    answer = program.post("/tool-endpoints", {"url": endpoint.url, "secret": worlds.SECRET})
    assert answer.status_code == 201
    added = answer.json()
    assert (added["url"], added["secret"], added["failure"]) == (endpoint.url, worlds.SECRET, None)
    assert endpoint.syncs == 1
    assert "secret" not in program.get(f"/tool-endpoints/{added['id']}").json()
    assert program.post(f"/tool-endpoints/{added['id']}/sync").json()["failure"] is None
    assert program.delete(f"/tool-endpoints/{added['id']}").status_code == 204
    assert program.get(f"/tool-endpoints/{added['id']}").status_code == 404
    assert EndpointRow.objects.get(id=added["id"]).removed_at is not None


def test_a_bad_endpoint_names_its_field(world: World, program: Program) -> None:
    for body in ({"url": "ftp://x.example"}, {"url": "http://10.0.0.5/tools"}, {"url": 7}, {}):
        answer = program.post("/tool-endpoints", body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "url")


def test_a_company_writes_for_its_customer(world: World, program: Program) -> None:
    body = {"customer": {"subject": "user_9", "name": "Bo"}, "text": "Where is my order?", "client_id": "message-1"}
    shown = program.post("/conversations", body).json()
    assert (shown["channel"], shown["handler"], shown["status"]) == ("api", "agent", "open")
    assert Customer.objects.get(subject="user_9").verified
    again = {"text": "Hello?", "client_id": "message-2"}
    assert program.post(f"/conversations/{shown['id']}/messages", again).status_code == 201
    items = program.get(f"/conversations/{shown['id']}/items").json()
    assert [item["text"] for item in items["data"]] == ["Where is my order?", "Hello?"]
    assert program.get(f"/conversations/{shown['id']}/items?after={items['data'][0]['version']}").json()["data"] == [
        items["data"][1]
    ]


def test_a_thread_is_handed_over_and_back_resolved_and_reopened(world: World, program: Program) -> None:
    path = f"/conversations/{world.conversation.id}"
    assert program.post(f"{path}/hand-over").json()["handler"] == Handler.NOBODY
    assert program.post(f"{path}/hand-back").json()["handler"] == Handler.AGENT
    assert program.post(f"{path}/status", {"status": "resolved"}).json()["status"] == "resolved"
    assert program.post(f"{path}/status", {"status": "open"}).json()["status"] == "open"
    assert program.post(f"{path}/status", {"status": "gone"}).json()["error"]["field"] == "status"
    assert program.post(f"{path}/notes", {"text": "Known bug."}).status_code == 201
    kinds = list(world.conversation.items.order_by("number").values_list("kind", flat=True))
    assert kinds == [ItemKind.LINE] * 4 + [ItemKind.NOTE]


def test_a_run_through_the_api_is_by_the_api(world: World, program: Program) -> None:
    path = f"/conversations/{world.conversation.id}/tools/run"
    answer = program.post(path, {"tool": "orderStatus", "input": {"orderNumber": "ORD-1042"}})
    assert (answer.status_code, answer.json()["status"], answer.json()["approved_by"]) == (202, "queued", "the API")
    assert program.get(f"/tool-runs/{answer.json()['id']}").json()["input"] == {"orderNumber": "ORD-1042"}
    missing = program.post(path, {"tool": "orderStatus", "input": {}})
    assert missing.status_code == 422
    assert missing.json()["error"]["message"] == "orderNumber is needed to run this."
    assert missing.json()["error"]["field"] == "orderNumber"
    assert ToolRun.objects.count() == 1


def test_numbers_keep_their_digits(world: World, program: Program) -> None:
    path = f"/conversations/{world.conversation.id}/tools/run"
    Tool.objects.filter(name="subscription").update(
        input_schema='{"type":"object","properties":{"amount":{"type":"number"},"big":{"type":"integer"}}}'
    )
    answer = program.post(path, {"tool": "subscription", "input": {"amount": 19.99, "big": 12345678901234567890}})
    assert answer.status_code == 202, answer.content
    assert ToolRun.objects.get().input == '{"amount":19.99,"big":12345678901234567890}'
    assert b'"big":12345678901234567890' in program.get(f"/tool-runs/{answer.json()['id']}").content


def test_the_log_is_read_from_where_one_is(world: World, program: Program) -> None:
    program.post("/tools/refundOrder/disable")
    everything = program.get("/events").json()["data"]
    assert [event["id"] for event in everything] == sorted(Event.objects.values_list("id", flat=True))
    switched = program.get("/events?type=tools").json()["data"][-1]
    assert (switched["kind"], switched["actor"]["kind"]) == ("tool.switched", "api")
    assert program.get(f"/events?after={switched['id']}").json()["data"] == []
    for type in ("conversations", "tools", "syncs", "team"):
        told = program.get(f"/events?type={type}").json()["data"]
        assert [event["id"] for event in told] == list(
            Event.objects.filter(type=type, workspace=world.fernhill).order_by("id").values_list("id", flat=True)
        )
    assert program.get("/events?type=secrets").json()["error"]["field"] == "type"


def test_the_log_is_read_in_the_order_of_its_chain(program: Program, program_with: Callable[..., Program]) -> None:
    jobs.link()
    newest = program.get("/events?newest=1&limit=1").json()["data"][0]
    head = program.get("/events/head").json()
    assert head == {"position": newest["position"], "hash": newest["hash"], "dropped": None}
    rows = program.get("/events?after_position=0&limit=2").json()["data"]
    assert [row["position"] for row in rows] == [1, 2]
    assert rows[1]["previous_hash"] == rows[0]["hash"]
    program.post("/tools/refundOrder/disable")
    fresh = program.get("/events?newest=1&limit=1").json()["data"][0]
    assert (fresh["position"], fresh["previous_hash"], fresh["hash"]) == (None, None, None)
    elsewhere = program_with("read", elsewhere=True).get("/events/head").json()
    assert elsewhere == {"position": 0, "hash": None, "dropped": None}


FOREIGN = [
    ("get", "/tool-endpoints/{endpoint}"), ("post", "/tool-endpoints/{endpoint}/sync"),
    ("delete", "/tool-endpoints/{endpoint}"), ("post", "/tools/refundOrder/disable"),
    ("get", "/conversations/{conversation}"), ("get", "/conversations/{conversation}/items"),
    ("post", "/conversations/{conversation}/messages"), ("post", "/conversations/{conversation}/notes"),
    ("post", "/conversations/{conversation}/status"), ("post", "/conversations/{conversation}/hand-over"),
    ("post", "/conversations/{conversation}/hand-back"), ("post", "/conversations/{conversation}/tools/run"),
]  # fmt: skip
BODIES = {
    "messages": {"text": "x", "client_id": "message-1"}, "notes": {"text": "x"}, "status": {"status": "resolved"},
    "run": {"tool": "orderStatus", "input": {"orderNumber": "ORD-1"}},
}  # fmt: skip


@pytest.mark.parametrize(("method", "path"), FOREIGN)
def test_another_workspaces_key_finds_nothing(
    world: World, program_with: Callable[..., Program], method: str, path: str
) -> None:
    foreign = program_with(*api_keys.SCOPES, elsewhere=True)
    path = path.format(endpoint=world.endpoint.id, conversation=world.conversation.id)
    before = (Event.objects.count(), list(Conversation.objects.values()), list(Tool.objects.order_by("id").values()))
    body = BODIES.get(path.rsplit("/", 1)[-1])
    answer = foreign.post(path, body) if method == "post" else getattr(foreign, method)(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    after = (Event.objects.count(), list(Conversation.objects.values()), list(Tool.objects.order_by("id").values()))
    assert after == before


def test_the_description_is_served_and_names_every_operation(world: World, program: Program) -> None:
    described = program.get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    assert {"/v1/tool-approvals/{approval_id}/approve", "/v1/conversations/{conversation_id}/tools/run"} <= set(
        described["paths"]
    )


def test_the_description_is_shown_to_people(world: World) -> None:
    page = Client().get("/v1/docs")
    assert page.status_code == 200
    shown = api.get_openapi_schema(path_prefix="/v1/")
    for path, methods in shown["paths"].items():
        for method, operation in methods.items():
            assert f'id="{operation["operationId"]}"' in page.text
            assert f'data-method="{method.upper()}">{method.upper()}</span><code>{path}</code>' in page.text
    assert '<a href="#shape-Approval">page with a list of Approval</a>' in page.text
    assert "This request has already been reviewed." in page.text
    linked = set(re.findall(r'href="#([^"]+)"', page.text))
    assert linked <= set(re.findall(r'id="([^"]+)"', page.text))
    elsewhere = re.findall(r'(?:src|href)="(?!/|#)([^"]*)"', page.text)
    assert elsewhere == []
