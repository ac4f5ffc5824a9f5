"""Drafts, versions, which conversation has which, and what nobody but the session token may fill."""

import json
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent.arguments import read as read_arguments
from agent.models.base import ToolCall
from conversations import threads
from conversations.models import Conversation
from median_site.lib import clock
from median_site.lib.errors import NotFound
from median_site.lib.strict_json import Json
from team.models import Event
from tests.tools.http_tools_at_hand import TEXT, draft, parameter, publish
from tests.world import TOOLS, World
from tools import by_hand, endpoints, http_overview, http_tools, manifest, offered, roster, sync, tool_versions
from tools.http_tools import InvalidDefinition
from tools.models import HttpTool, Tool, ToolRun, ToolVersion

URL = "http://127.0.0.1:9/stock"


def offered_to(conversation: Conversation) -> dict[str, str]:
    """The HTTP tools that the agent is offered, by name, with their descriptions."""
    return {tool.name: tool.description for tool in offered.to_agent(conversation) if tool.kind == "http"}


def test_a_draft_is_offered_to_nobody_until_it_is_published(world: World) -> None:
    draft(world, URL)
    assert offered_to(threads.start(world.ana)) == {}
    assert not Tool.objects.filter(name="stockLevel").exists()

    assert publish(world) == 1
    assert offered_to(threads.start(world.ana)) == {"stockLevel": "How many are left."}
    tool = world.tool("stockLevel")
    assert (tool.kind, tool.served_by, tool.switched_on, tool.present) == ("http", "", True, True)
    assert json.loads(tool.input_schema) == {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False,
    }  # fmt: skip


def test_new_conversations_have_the_newest_version_and_open_ones_keep_theirs(world: World) -> None:
    before = threads.start(world.ana)
    draft(world, URL)
    draft(world, URL + "/old", name="oldTool")
    tool_versions.publish(by=world.sam.actor)
    first = threads.start(world.ana)
    draft(world, URL, description="Changed.", risk="high")
    http_tools.remove(HttpTool.objects.get(name="oldTool").id, by=world.sam.actor)
    tool_versions.publish(by=world.sam.actor)
    second = threads.start(world.ana)

    assert [each.tool_version for each in (before, first, second)] == [0, 1, 2]
    assert offered_to(before) == {}
    assert offered_to(first) == {"oldTool": "How many are left.", "stockLevel": "How many are left."}
    assert offered_to(second) == {"stockLevel": "Changed."}
    kept = offered.by_name(first, "stockLevel")
    assert kept is not None
    assert kept.risk == "low"
    endpoints.switch("stockLevel", by=world.sam.actor, on=False)
    assert offered_to(first) == {"oldTool": "How many are left."}
    assert offered_to(second) == {}


def test_a_version_never_changes_and_going_back_is_a_new_one(world: World) -> None:
    draft(world, URL)
    first = tool_versions.publish(by=world.sam.actor)
    draft(world, URL, description="Changed.")
    tool_versions.publish(by=world.sam.actor)
    third = tool_versions.restore(1, by=world.sam.actor)

    assert (third.number, third.restored_from, third.by_name) == (3, 1, "Sam Okafor")
    assert third.definitions == first.definitions == ToolVersion.objects.get(number=1).definitions
    assert offered_to(threads.start(world.ana)) == {"stockLevel": "How many are left."}
    assert [change.fields for change in http_overview.summary(world.fernhill.id).changes] == [
        [("description", "How many are left.", "Changed.")]
    ]
    assert Event.objects.filter(kind="http_tools.published").count() == 3
    with pytest.raises(tool_versions.NothingToPublish):
        tool_versions.restore(1, by=world.sam.actor)
    with pytest.raises(NotFound):
        tool_versions.restore(9, by=world.sam.actor)
    with pytest.raises(NotFound):
        tool_versions.restore(1, by=world.mallory.actor)
    assert ToolVersion.objects.count() == 3


def test_only_what_was_looked_at_is_published(world: World) -> None:
    draft(world, URL)
    seen = tool_versions.fingerprint(tool_versions.drafted(world.fernhill.id))
    draft(world, URL, description="Changed meanwhile.")
    with pytest.raises(tool_versions.DraftsChanged):
        tool_versions.publish(by=world.sam.actor, seen=seen)
    assert ToolVersion.objects.count() == 0
    seen = tool_versions.fingerprint(tool_versions.drafted(world.fernhill.id))
    assert tool_versions.publish(by=world.sam.actor, seen=seen).number == 1
    with pytest.raises(tool_versions.NothingToPublish):
        tool_versions.publish(by=world.sam.actor, seen=seen)


@pytest.mark.django_db(transaction=True)
def test_two_people_publish_at_once_and_one_version_comes_of_it(world: World) -> None:
    draft(world, URL)
    ended: list[str] = []

    def press() -> None:
        try:
            ended.append(str(tool_versions.publish(by=world.sam.actor).number))
        except tool_versions.NothingToPublish as error:
            ended.append(error.code)
        finally:
            connection.close()

    presses = [threading.Thread(target=press) for _ in range(4)]
    for thread in presses:
        thread.start()
    for thread in presses:
        thread.join()
    assert sorted(ended) == ["1", "nothing_to_publish", "nothing_to_publish", "nothing_to_publish"]
    assert ToolVersion.objects.count() == 1


def test_a_name_is_one_tools_of_both_kinds(world: World) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        draft(world, URL, name="refundOrder")
    assert refused.value.faults == [("name", "An endpoint of this workspace serves a tool of this name.")]
    draft(world, URL)
    with pytest.raises(InvalidDefinition) as refused:
        http_tools.save({"name": "stockLevel", "description": "Again.", "url": URL}, by=world.sam.actor)
    assert refused.value.faults == [("name", "Another HTTP tool has this name.")]
    publish(world)

    served = [*TOOLS, {"name": "stockLevel", "description": "From the endpoint."}]
    sync.store(world.endpoint, manifest.parse(json.dumps({"version": 1, "tools": served}).encode()))
    world.endpoint.refresh_from_db()
    assert [tool["name"] for tool in world.endpoint.refused] == ["stockLevel"]
    assert world.tool("stockLevel").kind == "http"
    assert HttpTool.objects.count() == 1


def test_a_name_that_an_endpoint_took_since_is_not_published(world: World) -> None:
    draft(world, URL)
    served = [*TOOLS, {"name": "stockLevel", "description": "From the endpoint."}]
    sync.store(world.endpoint, manifest.parse(json.dumps({"version": 1, "tools": served}).encode()))
    with pytest.raises(tool_versions.NameTaken):
        tool_versions.publish(by=world.sam.actor)
    assert (world.tool("stockLevel").kind, ToolVersion.objects.count()) == ("manifest", 0)


def test_no_more_tools_are_switched_on_than_a_workspace_may_have(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "SWITCHED_ON_LIMIT", 8)
    draft(world, URL)
    with pytest.raises(roster.TooManySwitchedOn):
        tool_versions.publish(by=world.sam.actor)
    assert (ToolVersion.objects.count(), Tool.objects.filter(name="stockLevel").count()) == (0, 0)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://10.0.0.1/stock", "The address of this host is not public."),
        ("https://169.254.169.254/latest", "The address of this host is not public."),
        ("https://user:word@127.0.0.1/", "The URL must not hold a user name or password."),
        ("http://8.8.8.8/stock", "The URL must start with https://."),
    ],
)
def test_a_url_that_calls_may_not_go_to(world: World, url: str, sentence: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        draft(world, url)
    assert refused.value.faults == [("url", sentence)]
    assert HttpTool.objects.count() == 0


def test_entitlements_hide_a_tool_from_the_agent_and_not_from_the_team(world: World) -> None:
    draft(world, URL, requires="plus")
    publish(world)
    conversation = world.conversation
    assert offered_to(conversation) == {}
    assert "stockLevel" in [tool.name for tool in offered.to_team(conversation)]
    conversation.claims, conversation.claims_expire_at = {"plus": True}, clock.now() + timedelta(minutes=1)
    assert offered_to(conversation) == {"stockLevel": "How many are left."}
    conversation.claims = {"plus": False}
    assert offered_to(conversation) == {}
    conversation.claims, conversation.claims_expire_at = {"plus": True}, clock.now()
    assert offered_to(conversation) == {}


def test_a_value_for_the_subject_is_dropped_and_logged_and_the_rest_goes_on(world: World) -> None:
    draft(
        world, URL, parameters=[parameter("sku", "query")], subject={"name": "user", "place": "query"},
    )  # fmt: skip
    publish(world)
    tool = offered.by_name(world.conversation, "stockLevel")
    assert tool is not None
    assert "user" not in tool.input_schema

    call = ToolCall("1", "stockLevel", '{"sku": "LID", "user": "somebody_else"}')
    agent = threads.agent_actor(world.conversation)
    assert read_arguments(call, tool, finish="stop", by=agent, conversation_id=world.conversation.id) == '{"sku":"LID"}'
    values: dict[str, Json] = {"user": None, "sku": "LID"}
    run = by_hand.run(world.conversation.id, "stockLevel", values, by=world.kim.actor)
    assert (run.input, run.endpoint_id, run.kind) == ('{"sku":"LID"}', "", "http")

    logged = Event.objects.filter(kind="tool.subject_dropped").order_by("id")
    assert [(event.actor_name, event.tool_name, event.data) for event in logged] == [
        ("Median AI", "stockLevel", {"label": "Stock level"}), ("Kim Ito", "stockLevel", {"label": "Stock level"}),
    ]  # fmt: skip


def test_a_value_for_the_subject_is_logged_though_the_input_is_refused_and_sending_again_is_the_same_run(
    world: World,
) -> None:
    draft(world, URL, parameters=[parameter("sku", "query")], subject={"name": "user", "place": "query"})
    publish(world)

    def send(value: dict[str, Json]) -> ToolRun:
        return by_hand.run(world.conversation.id, "stockLevel", value, by=world.kim.actor, client_id="form-1")

    dropped = Event.objects.filter(kind="tool.subject_dropped")
    with pytest.raises(by_hand.BadInput, match="sku is needed to run this"):
        send({"user": "somebody_else"})
    assert (dropped.count(), ToolRun.objects.count()) == (1, 0)

    first = send({"sku": "LID", "user": "somebody_else"})
    assert send({"sku": "LID", "user": "somebody_else"}) == send({"sku": "LID"}) == first
    with pytest.raises(by_hand.AlreadySent):
        send({"sku": "POT", "user": "somebody_else"})
    assert (dropped.count(), ToolRun.objects.count()) == (2, 1)


def test_a_path_value_that_could_climb_is_said_to_whoever_wrote_it(world: World) -> None:
    draft(world, URL + "/{sku}", parameters=[parameter("sku", "path")])
    publish(world)
    with pytest.raises(by_hand.BadInput) as refused:
        by_hand.run(world.conversation.id, "stockLevel", {"sku": "../admin"}, by=world.kim.actor)
    assert (refused.value.field, refused.value.message) == (
        "sku", "sku must not hold / or \\: it is one part of the path.",
    )  # fmt: skip
    assert ToolRun.objects.count() == 0


def test_another_workspace_reaches_no_draft(world: World) -> None:
    made = draft(world, URL)
    for press in (http_tools.find, lambda by, draft_id: http_tools.remove(draft_id, by=by)):
        with pytest.raises(NotFound):
            press(world.mallory.actor, made.id)
    raw: dict[str, Json] = {"name": "mine", "description": "Mine.", "url": URL}
    with pytest.raises(NotFound):
        http_tools.save(raw, by=world.mallory.actor, draft_id=made.id)
    assert HttpTool.objects.get().name == "stockLevel"


def test_an_import_makes_drafts_and_changes_none(world: World) -> None:
    draft(world, URL)
    operation: Json = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}]}
    document: Json = {"openapi": "3.1.0", "servers": [{"url": "http://127.0.0.1:9/v1"}], "paths": {
        "/stock": {"get": {"operationId": "stockLevel", "summary": "Another one."}},
        "/refunds": {"post": {"operationId": "refundOrder"}},
        "/orders/{id}": {
            "get": {"operationId": "order.get", **operation}, "delete": {**operation, "summary": "Drop it."},
        },
        "/files": {"post": {"requestBody": {"content": {"multipart/form-data": {}}, "required": True}}},
    }}  # fmt: skip
    made = http_tools.take_in(json.dumps(document), by=world.sam.actor)
    assert [each.definition.name for each in made.operations] == ["order_get", "delete_orders_id"]
    assert sorted(made.unsupported) == [
        ("GET /stock", "Another HTTP tool has this name."),
        ("POST /files", "Its body is multipart/form-data; a tool's is JSON."),
        ("POST /refunds", "An endpoint of this workspace serves a tool of this name."),
    ]
    drafts = {each.name: http_tools.definition_of(each) for each in HttpTool.objects.all()}
    assert {name: (each.method, each.risk, each.description) for name, each in drafts.items()} == {
        "stockLevel": ("GET", "low", "How many are left."),
        "order_get": ("GET", "low", "GET /orders/{id}"),
        "delete_orders_id": ("DELETE", "high", "Drop it."),
    }
    assert Event.objects.filter(kind="http_tools.imported").count() == 1
    again = http_tools.take_in(json.dumps(document), by=world.sam.actor)
    assert (again.operations, len(again.unsupported), HttpTool.objects.count()) == ([], 5, 3)


def test_an_import_of_a_host_that_may_not_be_called_makes_nothing(world: World) -> None:
    document: Json = {"openapi": "3.0.3", "servers": [{"url": "http://10.1.1.1"}], "paths": {"/a": {"get": {}}}}
    made = http_tools.take_in(json.dumps(document), by=world.sam.actor)
    assert made.unsupported == [("GET /a", "The address of this host is not public.")]
    assert HttpTool.objects.count() == 0


def test_drafts_have_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_tools, "DRAFT_LIMIT", 1)
    draft(world, URL)
    with pytest.raises(http_tools.TooManyDrafts):
        draft(world, URL, name="another")
    draft(world, URL, description="Changed.")
    assert HttpTool.objects.count() == 1


def test_whatever_the_number_of_tools_the_statements_are_three(world: World) -> None:
    for number in range(12):
        draft(world, f"{URL}/{number}", name=f"tool{number}")
    publish(world)
    with CaptureQueriesContext(connection) as statements:
        assert len(offered.to_team(world.conversation)) == 20
    assert len(statements) == 3
