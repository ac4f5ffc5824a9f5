"""Session-start tools: once a conversation, before the agent's first step, for good, whatever dies meanwhile."""

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from agent import session_start
from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Turn, TurnState
from conversations import threads
from conversations.models import Conversation
from median_site.lib import clock
from tests import agent_process
from tests import world as worlds
from tests.model_server import ModelServer, calls, says
from tests.socket_server import Connection, Request, SocketServer
from tests.tools.http_tools_at_hand import base, draft
from tests.waiting import until
from tests.world import World
from tools import manifest, sync, tool_versions
from tools.models import Endpoint, RunState, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)


class Shop:
    """The company's HTTP tools: answers by path, holds those named in `held` until their event is set."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[str, bytes]] = {"/tier": ("200 OK", b'{"tier": "gold"}')}
        self.held: dict[str, threading.Event] = {}
        self.server = SocketServer(self._respond)

    def _respond(self, connection: Connection, request: Request) -> None:
        path = request.target.partition("?")[0]
        if path in self.held:
            self.held[path].wait(10)
        status, body = self.answers.get(path, ("200 OK", b"{}"))
        connection.send(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def requests(self, path: str) -> list[Request]:
        return [request for request in self.server.requests if request.target.partition("?")[0] == path]


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    with made.server:
        yield made
        for event in made.held.values():
            event.set()


@pytest.fixture
def world(transactional_db: None) -> World:
    """Nothing of the world's endpoint: only HTTP tools."""
    made = worlds.build()
    made.conversation.delete()
    Endpoint.objects.update(removed_at=clock.now())
    return made


def start_tool(world: World, shop: Shop, name: str, path: str, **fields: object) -> None:
    draft(
        world, base(shop.server) + path, name=name, description=f"The customer's {name}.", sessionStart=True,
        subject={"name": "user", "place": "query"}, **fields,
    )  # fmt: skip


def write(world: World, text: str = "Hello") -> Conversation:
    sent = threads.from_customer(world.ana, channel="widget", body=text, client_id=text)
    return sent.conversation


def told(model: ModelServer, number: int) -> list[str]:
    """The session-start messages of the model's request of that number."""
    [system] = [message["content"] for message in model.requests[number].messages if message["role"] == "system"]
    return re.split(r"\n\n(?=SESSION START )", system)[1:]


def replies(conversation: Conversation) -> list[str]:
    return list(conversation.items.filter(kind="agent").order_by("number").values_list("text", flat=True))


def agent(model: ModelServer) -> AbstractContextManager[object]:
    """An agent process in a thread; write-ups, which a model makes too, stay away from this one."""
    return agent_process.in_thread(OpenAIModel(model.url, key="", name="test"), writer=DemoModel())


def test_they_run_once_side_by_side_before_the_first_step_and_are_told_for_good(
    world: World, shop: Shop, model: ModelServer
) -> None:
    shop.answers["/diet"] = ("403 Forbidden", b'{"error": {"message": "internal stack trace"}}')
    shop.held = {"/tier": threading.Event(), "/diet": threading.Event()}
    start_tool(world, shop, "tier", "/tier")
    start_tool(world, shop, "diet", "/diet")
    draft(world, base(shop.server) + "/stock")
    tool_versions.publish(by=world.sam.actor)
    model.script([says("Hello, gold customer."), calls(("stockLevel", "{}")), says("Seven.")])

    with agent(model):
        conversation = write(world)
        until(lambda: len(shop.server.requests) == 2)  # both are out before either has answered
        assert model.requests == []
        for event in shop.held.values():
            event.set()
        until(lambda: len(replies(conversation)) == 1)
        write(world, "How many are left?")
        until(lambda: len(replies(conversation)) == 2)

    wanted = [
        "SESSION START diet: The customer's diet.\nIt ran when this conversation started. What it returned is"
        ' authoritative:\n{"status":"error","kind":"refused","httpCode":403}',
        "SESSION START tier: The customer's tier.\nIt ran when this conversation started. What it returned is"
        ' authoritative:\n{"tier":"gold"}',
    ]
    assert [sorted(told(model, number)) for number in range(3)] == [wanted, wanted, wanted]
    assert "stack trace" not in json.dumps([request.body for request in model.requests])
    assert "user_123" not in json.dumps([request.body for request in model.requests])
    assert sorted(request.target for request in shop.server.requests) == [
        "/diet?user=user_123", "/stock", "/tier?user=user_123",
    ]  # fmt: skip
    runs = ToolRun.objects.filter(started_by="session_start").order_by("tool_name")
    assert [(run.tool_name, run.state, run.input) for run in runs] == [
        ("diet", "failed", "{}"), ("tier", "completed", "{}"),
    ]  # fmt: skip
    assert {run.turn_id for run in runs} == {Turn.objects.earliest("queued_at").id}
    assert ToolRun.objects.count() == 3


def test_without_the_entitlement_a_tool_is_skipped(world: World, shop: Shop, model: ModelServer) -> None:
    start_tool(world, shop, "tier", "/tier", requires="plus")
    start_tool(world, shop, "diet", "/diet")
    tool_versions.publish(by=world.sam.actor)
    model.script([says("Hello.")])
    with agent(model):
        conversation = write(world)
        until(lambda: len(replies(conversation)) == 1)
    assert [request.target for request in shop.server.requests] == ["/diet?user=user_123"]
    assert [message.splitlines()[0] for message in told(model, 0)] == ["SESSION START diet: The customer's diet."]


def test_killed_with_a_call_out_it_is_not_sent_again_and_the_other_results_are_kept(
    world: World, shop: Shop, model: ModelServer
) -> None:
    shop.held["/diet"] = threading.Event()
    start_tool(world, shop, "tier", "/tier")
    start_tool(world, shop, "diet", "/diet")
    tool_versions.publish(by=world.sam.actor)
    model.script([says("Hello.")])
    environment = {
        "MEDIAN_MODEL_URL": model.url,
        "MEDIAN_MODEL_NAME": "test",
        "MEDIAN_WRITEUP_URL": "http://127.0.0.1:9",
    }
    with agent_process.as_process(**environment) as first:
        conversation = write(world)
        until(lambda: len(shop.server.requests) == 2, within_s=60)
        until(lambda: ToolRun.objects.filter(tool_name="tier", state=RunState.COMPLETED).exists())
        first.send_signal(signal.SIGKILL)
        first.wait(10)
    shop.held["/diet"].set()
    ToolRun.objects.filter(state=RunState.RUNNING).update(started_at=clock.now() - timedelta(seconds=30))
    with agent(model):
        until(lambda: len(replies(conversation)) == 1, within_s=20)

    assert (len(shop.requests("/tier")), len(shop.requests("/diet"))) == (1, 1)
    assert [message.splitlines()[-1] for message in sorted(told(model, 0))] == [
        '{"status":"error","kind":"transport-error"}', '{"tier":"gold"}',
    ]  # fmt: skip
    assert ToolRun.objects.count() == 2


def turn_of(conversation: Conversation) -> Turn:
    turn = Turn.objects.get(conversation=conversation)
    turn.state, turn.claimed_by, turn.beat_at, turn.attempts = TurnState.RUNNING, "test", clock.now(), 1
    turn.save()
    return turn


def test_what_is_planned_is_planned_once_and_a_published_tool_joins_no_open_conversation(
    world: World, shop: Shop
) -> None:
    start_tool(world, shop, "tier", "/tier")
    tool_versions.publish(by=world.sam.actor)
    turn = turn_of(write(world))
    planned = session_start.plan(turn)
    start_tool(world, shop, "diet", "/diet")
    tool_versions.publish(by=world.sam.actor)
    assert session_start.plan(turn) == planned == [ToolRun.objects.get().id]


def test_a_teammate_who_took_the_thread_meanwhile_stops_them(world: World, shop: Shop) -> None:
    start_tool(world, shop, "tier", "/tier")
    tool_versions.publish(by=world.sam.actor)
    conversation = write(world)
    turn = turn_of(conversation)
    threads.take_over(conversation.id, by=world.kim.actor)
    assert session_start.plan(turn) == []
    assert ToolRun.objects.count() == 0


def test_a_manifest_tool_runs_too_but_none_that_somebody_must_be_asked_about(world: World) -> None:
    Endpoint.objects.update(removed_at=None)
    world.endpoint.refresh_from_db()
    tools = [
        {"name": "plan", "description": "The plan.", "sessionStart": True},
        {"name": "closeAccount", "description": "Close it.", "sessionStart": True, "risk": "high"},
        {"name": "callBack", "description": "Call.", "sessionStart": True, "risk": "medium"},
    ]
    sync.store(world.endpoint, manifest.parse(json.dumps({"version": 1, "tools": tools}).encode()))
    session_start.plan(turn_of(write(world)))
    run = ToolRun.objects.get()
    assert (run.tool_name, run.endpoint_id, run.started_by) == ("plan", world.endpoint.id, "session_start")
