"""What a model may answer: nonsense, broken arguments, tools that do not exist, one id for two calls."""

import json
from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Turn, TurnState
from approvals.models import ToolApproval
from conversations.models import ItemKind
from team.models import Teammate
from tests import agent_process
from tests.endpoint import Endpoint
from tests.flows.conftest import Chat
from tests.model_server import ModelServer, Reply, calls, message, model_server, says
from tests.waiting import until
from tests.world import World
from tools.models import Tool, ToolRun

SignIn = Callable[[Teammate], Client]
UNKNOWN = {"status": "error", "kind": "unknown-tool"}
APOLOGY = "I’m sorry, I can’t answer this right now. A person from the team will reply to you here."


@pytest.fixture
def model(live_world: World) -> Iterator[ModelServer]:
    """The model that the agent, at work beside the test, asks."""
    with model_server() as server:
        asked = OpenAIModel(server.url, key="", name="test")
        with agent_process.in_thread(asked, writer=DemoModel()):
            yield server


def told(model: ModelServer) -> list[dict[str, object]]:
    """The results of tool calls that the model was last given."""
    return [json.loads(said["content"]) for said in model.requests[-1].messages if said["role"] == "tool"]


def answered(ana: Chat, model: ModelServer, *script: Reply, reply: str = "Here you are.") -> None:
    """Ana asks something; the model answers by the script and then in words, which she gets."""
    model.script([*script, says(reply)])
    ana.write("Where is my order?")
    until(lambda: ana.replies() == [reply])
    until(lambda: Turn.objects.get().state == TurnState.DONE)
    assert model.unused == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        Reply(b"\0garbage"), Reply(b"{}"), message(""), message(None), message(" \u200b\n"), says("Ha! " * 20_000),
        Reply(b"[1]", status=500),
    ],
)  # fmt: skip
def test_a_model_that_answers_nonsense_twice_leaves_the_customer_to_a_person(
    live_world: World, ana: Chat, model: ModelServer, browser_of: SignIn, nonsense: Reply
) -> None:
    model.script([nonsense, nonsense])
    ana.write("Where is my order?")
    until(lambda: ana.replies() == [APOLOGY])
    until(lambda: Turn.objects.get().state == TurnState.FAILED)

    assert len(model.requests) == 2
    lines = ana.conversation.items.filter(kind=ItemKind.LINE).values_list("text", flat=True)
    assert [line.startswith("Median AI could not answer: ") for line in lines] == [True]
    queue = browser_of(live_world.kim).get("/inbox/").content.decode()
    assert queue.count("data-unread>") == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("orderStatus", '{"orderNumber":"ORD-1042"'),
        ("orderStatus", "{orderNumber:'ORD-1042'}"),
        ("orderStatus", '{"orderNumber":"ORD-1042",}'),
        ("orderStatus", '```json\n{"orderNumber":"ORD-1042"}\n```'),
        ("orderStatus", '{"orderNumber":"ORD-1042","orderNumber":"ORD-2"}'),
        ("orderStatus", '["q":1]'),
        ("orderStatus", '["ORD-1042"]'),
        ("orderStatus", '{"orderNumber":"ORD-1042"} and more'),
        ("refundOrder", '{"orderNumber":"ORD-1042","reason":"damaged"'),
    ],
)
def test_broken_arguments_call_nothing(
    ana: Chat, endpoint: Endpoint, model: ModelServer, tool: str, arguments: str
) -> None:
    answered(ana, model, calls((tool, arguments)))
    [result] = told(model)
    assert (result["error"], result["tool"]) == ("invalid_arguments", tool)
    assert (endpoint.calls, ToolRun.objects.count(), ToolApproval.objects.count()) == ([], 0, 0)


@pytest.mark.parametrize(
    "reply",
    [
        calls(("cancelSubscription", '{"reason":"too_exp')),
        calls(("cancelSubscription", "{}"), finish="length"),
        calls(("subscription", "{}"), finish="length"),
    ],
)
def test_arguments_that_were_cut_off_are_not_run_as_empty(
    ana: Chat, endpoint: Endpoint, model: ModelServer, reply: Reply
) -> None:
    answered(ana, model, reply)
    assert [result["error"] for result in told(model)] == ["invalid_arguments"]
    assert (endpoint.calls, ToolRun.objects.count(), ToolApproval.objects.count()) == ([], 0, 0)


@pytest.mark.parametrize("arguments", ['""', '"  "', "null", '"null"', '"{}"', None])
def test_a_tool_without_fields_takes_nothing_in_every_spelling(
    ana: Chat, endpoint: Endpoint, model: ModelServer, arguments: str | None
) -> None:
    """`arguments` is as it stands in the answer's JSON; None leaves it out."""
    function = {"name": "subscription"} | ({} if arguments is None else {"arguments": json.loads(arguments)})
    answered(ana, model, message(None, tool_calls=[{"id": "call_1", "type": "function", "function": function}]))
    assert [call.body["input"] for call in endpoint.calls] == [{}]


def test_an_empty_text_for_a_tool_with_a_field_names_the_field(
    ana: Chat, endpoint: Endpoint, model: ModelServer
) -> None:
    answered(ana, model, calls(("orderStatus", "")))
    assert [result["message"] for result in told(model)] == ["orderNumber is needed to run this."]
    assert endpoint.calls == []


def test_tools_that_do_not_exist_are_said_to_and_spoil_nothing(
    live_world: World, ana: Chat, endpoint: Endpoint, model: ModelServer
) -> None:
    Tool.objects.filter(name="resendInvoice").update(switched_on=False)
    order = '{"orderNumber":"ORD-1042"}'
    names = ["refund_order", "", "refundOrder ", "REFUNDORDER", "../admin", "x" * 300, "resendInvoice"]
    answered(ana, model, calls(*((name, order) for name in names), ("orderStatus", order)))
    results = told(model)
    assert results[: len(names)] == [UNKNOWN] * len(names)
    assert results[-1] == json.loads(ToolRun.objects.get().raw)
    assert [call.body["tool"] for call in endpoint.calls] == ["orderStatus"]
    assert ToolApproval.objects.count() == 0


@pytest.mark.parametrize("call_id", ["call_1", ""])
def test_one_id_for_two_calls_is_two_calls(ana: Chat, endpoint: Endpoint, model: ModelServer, call_id: str) -> None:
    wanted = [("orderStatus", '{"orderNumber":"ORD-1042"}'), ("orderStatus", '{"orderNumber":"ORD-1057"}')]
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in [*wanted, ("subscription", "{}")]
    ]
    answered(ana, model, message(None, tool_calls=asked))

    sent = {(call.body["tool"], call.body["input"].get("orderNumber")) for call in endpoint.calls}
    assert sent == {("orderStatus", "ORD-1042"), ("orderStatus", "ORD-1057"), ("subscription", None)}
    ids = [call.body["toolCallId"] for call in endpoint.calls]
    assert len(ids) == len(set(ids)) == 3
    told_of = [said for said in model.requests[-1].messages if said.get("tool_calls")]
    back = [said["tool_call_id"] for said in model.requests[-1].messages if said["role"] == "tool"]
    assert back == [call["id"] for said in told_of for call in said["tool_calls"]]
    assert len(set(back)) == 3
