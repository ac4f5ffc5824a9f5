"""One input from the model to the endpoint: whatever JSON it is, row, card and wire hold the same bytes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent import steps, turns
from agent.models.base import Answer, ToolCall
from approvals.models import ToolApproval
from conversations import threads
from median_site.lib import strict_json
from tests.socket_server import Connection, Request, SocketServer, answer
from tests.tools.http_tools_at_hand import queued, send
from tests.world import World
from tools import values, wire
from tools.models import RunState, Tool

ANYTHING = {
    "type": "object",
    "properties": {"value": {}, "größe": {}, "items": {"type": "array"}},
    "additionalProperties": False,
}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0@"))
# A text between @ stands for a number that is written exactly like this.
NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["20.00", "7.0", "7e0", "-0.0", "1.10", "123456789012345678901234567890"]).map("@{}@".format),
)


JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
INPUTS = st.fixed_dictionaries({}, optional={"value": JSON, "größe": JSON, "items": st.lists(JSON, max_size=4)})


def parked(world: World, tool: Tool, arguments: str) -> ToolApproval:
    """The request that a model's call with these arguments makes."""
    threads.customer_wrote(world.conversation.id, body="Do it", client_id="1")
    [turn] = turns.claim("one", limit=1)
    answer = Answer("", (ToolCall("1", tool.name, arguments),), "tool_calls", "test")
    [step] = steps.write([steps.Asked(turn, number=0, answer=answer)])
    assert step
    return ToolApproval.objects.get()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=INPUTS, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_row_card_and_wire_hold_the_same_input(world: World, value: Any, ascii_only: bool, indent: int | None) -> None:
    arguments = re.sub(r'"@([^"]+)@"', r"\1", json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    with transaction.atomic():
        tool = world.tool("closeAccount")
        tool.input_schema = json.dumps(ANYTHING)
        tool.save(update_fields=["input_schema"])
        approval = parked(world, tool, arguments)
        transaction.set_rollback(True)

    assert approval.input == strict_json.dumps(strict_json.loads(arguments))
    card = values.rows_of(approval.input).exact
    assert strict_json.dumps(strict_json.loads(card)) == approval.input
    body = wire.call_body(
        tool=tool.name, call_id=approval.id, input_text=approval.input, conversation_id=world.conversation.id,
        risk=tool.risk, visitor=wire.Visitor(verified=False), approved_by="Sam Okafor",
    )  # fmt: skip
    assert f',"input":{approval.input},"context":'.encode() in body
    assert strict_json.dumps(strict_json.loads(body)["input"]) == approval.input


@pytest.fixture
def echo() -> Iterator[SocketServer]:
    """An endpoint that answers with what it received."""

    def respond(connection: Connection, request: Request) -> None:
        connection.send(answer(request.body, "Content-Type: application/json"))

    with SocketServer(respond) as server:
        yield server


@pytest.mark.django_db(transaction=True)
@settings(max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=INPUTS)
def test_an_endpoint_receives_it_and_its_answer_is_kept_as_it_came(
    world: World, echo: SocketServer, value: Any
) -> None:
    world.endpoint.url = echo.url
    world.endpoint.save(update_fields=["url"])
    Tool.objects.filter(id=world.tool("closeAccount").id).update(input_schema=json.dumps(ANYTHING), risk="low")
    text = strict_json.dumps(strict_json.loads(re.sub(r'"@([^"]+)@"', r"\1", json.dumps(value))))
    run = send(queued(world, "closeAccount", text))
    received = echo.requests[-1].body
    assert f',"input":{text},"context":'.encode() in received
    assert (run.state, run.raw) == (RunState.COMPLETED, received.decode())
