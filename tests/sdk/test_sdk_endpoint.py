"""The manifest, what a call is answered, and what an endpoint refuses to define."""

import asyncio
import functools
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from median_tools import Answer, Call, Json, ToolContext, ToolError, Tools, define, p, refuse
from median_tools.admission import Request
from median_tools.testing import Reply

from tests.sdk.world import ANA, SECRET, call_body, data, get, post, signed

Given = dict[str, Json]


@pytest.fixture
def tools() -> Tools:
    return define(secret=SECRET)


def refund_order(tools: Tools) -> None:
    @tools.tool(
        description="Refund an order in full, back to the original payment method.",
        risk="high",
        label="Refund order",
        input={
            "orderNumber": p.string("The order number to refund."),
            "reason": p.enum(["damaged", "late"]).optional(),
            "days": p.integer(minimum=1, maximum=14).optional(),
            "lines": p.array(p.object({"sku": p.string(max_length=3)}), max_items=2).optional(),
        },
    )
    def refundOrder(input: Given, context: ToolContext) -> Given:
        return {"refunded": True, "input": input}


def test_the_manifest_word_for_word(tools: Tools) -> None:
    @tools.tool(
        description="Refund an order in full, back to the original payment method.",
        risk="high",
        label="Refund order",
        input={"orderNumber": p.string("The order number to refund.")},
    )
    def refundOrder(input: Given, context: ToolContext) -> None: ...

    @tools.tool(description="The plan.", session_start=True, requires="pro")
    def subscription(context: ToolContext) -> None: ...

    assert tools.test_client().manifest() == {
        "version": 1,
        "sdk": "median-tools/1.0 (python)",
        "tools": [
            {
                "name": "refundOrder",
                "label": "Refund order",
                "description": "Refund an order in full, back to the original payment method.",
                "risk": "high",
                "input": {
                    "type": "object",
                    "properties": {"orderNumber": {"type": "string", "description": "The order number to refund."}},
                    "required": ["orderNumber"],
                    "additionalProperties": False,
                },
                "sessionStart": False,
                "requires": None,
            },
            {
                "name": "subscription",
                "description": "The plan.",
                "risk": "low",
                "input": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
                "sessionStart": True,
                "requires": "pro",
            },
        ],
    }


def test_an_unchanged_manifest_is_a_304_until_a_tool_changes(tools: Tools) -> None:
    refund_order(tools)
    first = tools.answer(get(signed(b"")))
    tag = dict(first.headers)["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = tools.answer(get(signed(b"") | {"if-none-match": known}))
        assert (again.status, again.body, dict(again.headers)["etag"]) == (304, b"", tag)
    assert tools.answer(get(signed(b"") | {"if-none-match": '"other"'})).status == 200
    assert tools.answer(get({"if-none-match": tag})).status == 401

    @tools.tool(description="Another.")
    def another() -> None: ...

    assert tools.answer(get(signed(b"") | {"if-none-match": tag})).status == 200


@pytest.mark.parametrize(
    ("given", "field", "sentence"),
    [
        ({}, "orderNumber", "orderNumber is needed to run this."),
        ({"orderNumber": 1042}, "orderNumber", "orderNumber must be of type string, not integer."),
        ({"orderNumber": None}, "orderNumber", "orderNumber must be of type string, not null."),
        (
            {"orderNumber": "ORD-1", "customerId": "user_204"},
            "customerId",
            "customerId is not an input of this tool.",
        ),
        ({"orderNumber": "ORD-1", "reason": "mood"}, "reason", "reason must be one of damaged, late."),
        ({"orderNumber": "ORD-1", "days": True}, "days", "days must be of type integer, not boolean."),
        ({"orderNumber": "ORD-1", "days": "7"}, "days", "days must be of type integer, not string."),
        ({"orderNumber": "ORD-1", "days": 7.5}, "days", "days must be of type integer, not number."),
        ({"orderNumber": "ORD-1", "days": 15}, "days", "days must be at most 14."),
        ({"orderNumber": "ORD-1", "lines": [{}]}, "lines[0].sku", "lines[0].sku is needed to run this."),
        (
            {"orderNumber": "ORD-1", "lines": [{"sku": "long"}]},
            "lines[0].sku",
            "lines[0].sku must have at most 3 characters.",
        ),
        ({"orderNumber": "ORD-1", "lines": [{"sku": "a"}] * 3}, "lines", "lines must have at most 2 items."),
    ],
)  # fmt: skip
def test_an_input_that_does_not_fit_names_the_field(tools: Tools, given: Given, field: str, sentence: str) -> None:
    refund_order(tools)
    reply = tools.test_client().call("refundOrder", given)
    assert (reply.status, reply.data) == (
        422,
        {"error": {"code": "invalid_input", "message": sentence, "field": field}},
    )


def test_a_whole_number_may_be_written_as_a_decimal(tools: Tools) -> None:
    refund_order(tools)
    assert tools.test_client().call("refundOrder", {"orderNumber": "ORD-1", "days": 7.0}).status == 200


def test_a_tool_that_is_not_here_is_a_404(tools: Tools) -> None:
    refund_order(tools)
    for name in ("refundorder", "refundOrder ", "deleteAccount"):
        reply = tools.test_client().call(name)
        assert (reply.status, reply.data) == (
            404,
            {"error": {"code": "unknown_tool", "message": f"There is no tool {name} here."}},
        )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is not JSON"),
        (b"{", "The body is not JSON"),
        (b'{"tool": NaN}', "The body is not JSON: NaN is not JSON."),
        (b'{"tool": 1e999}', "The body is not JSON: 1e999 is out of range."),
        (b'{"tool": "a", "tool": "b"}', "The body is not JSON: a key is given twice."),
        (b"[" * 60_000, "The body is not JSON"),
        (b"[]", "The body must be a JSON object."),
        (b"{}", "The body has no tool."),
        (b'{"tool": 1}', "tool must be text."),
        (b'{"tool": "echo"}', "The body has no toolCallId."),
        (b'{"tool": "echo", "toolCallId": "c", "input": []}', "input must be an object."),
        (b'{"tool": "echo", "toolCallId": "c", "context": {"visitor": 1}}', "visitor must be an object."),
    ],
)
def test_a_body_that_is_no_call_is_a_400(tools: Tools, body: bytes, message: str) -> None:
    answer = tools.answer(post(body, signed(body)))
    assert (answer.status, data(answer)["error"]["code"]) == (400, "invalid_call")
    assert data(answer)["error"]["message"].startswith(message)


def test_a_body_of_more_than_64_kb_is_refused(tools: Tools) -> None:
    body = b" " * (64 * 1024 - 2) + b"{}"
    assert tools.answer(post(body, signed(body))).status == 400
    answer = tools.answer(post(body + b" ", signed(body + b" ")))
    assert (answer.status, data(answer)["error"]) == (
        413,
        {"code": "too_large", "message": "The body may have 65536 bytes."},
    )


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_told_which_there_are(tools: Tools, method: str) -> None:
    answer = tools.answer(Request(method, (), b""))
    assert (answer.status, answer.headers) == (405, (("allow", "GET, POST"),))


def test_an_exception_stays_in_the_log(tools: Tools, caplog: pytest.LogCaptureFixture) -> None:
    @tools.tool(description="Breaks.")
    def breaks() -> None:
        raise RuntimeError("postgres://shop:hunter2@db")

    @tools.tool(description="Breaks too.")
    async def breaks_later() -> None:
        raise KeyError("hunter2")

    @tools.tool(description="Leaves.")
    def leaves() -> None:
        sys.exit("hunter2")

    @tools.tool(description="Leaves too.")
    async def leaves_later() -> None:
        sys.exit("hunter2")

    for name in ("breaks", "breaks_later", "leaves", "leaves_later"):
        reply = tools.test_client().call(name)
        assert (reply.status, reply.data) == (
            500,
            {"error": {"code": "tool_failed", "message": f"{name} failed. The server's log says why."}},
        )
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 4
    assert all("hunter2" in str(record.exc_info) for record in caplog.records)


def test_a_tool_may_choose_its_error(tools: Tools) -> None:
    @tools.tool(description="Pays.")
    def pay() -> None:
        raise ToolError("payment_provider_down", "Card network is not reachable, try again later.", status=502)

    reply = tools.test_client().call("pay")
    assert (reply.status, reply.data) == (
        502,
        {"error": {"code": "payment_provider_down", "message": "Card network is not reachable, try again later."}},
    )
    with pytest.raises(ValueError, match="^200 is not the HTTP status of an error$"):
        ToolError("fine", "Fine.", status=200)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), b"bytes"])
def test_a_result_must_be_json(tools: Tools, value: object) -> None:
    @tools.tool(description="Returns it.")
    def give() -> object:
        return value

    reply = tools.test_client().call("give")
    assert (reply.status, reply.data) == (
        500,
        {"error": {"code": "tool_failed", "message": "give returned something that is not JSON."}},
    )


@pytest.mark.parametrize("value", [None, 0, "", "東京 \ud800", [1, {"a": None}], 10**40])
def test_any_json_is_a_result(tools: Tools, value: Json) -> None:
    @tools.tool(description="Returns it.")
    def give() -> Json:
        return value

    reply = tools.test_client().call("give")
    assert (reply.status, reply.data) == (200, value)


def test_the_context_of_a_verified_customer(tools: Tools) -> None:
    seen: list[ToolContext] = []

    @tools.tool(description="Looks.", risk="medium")
    def look(context: ToolContext) -> None:
        seen.append(context)

    body = call_body("look", risk="medium", approvedBy="Sam Okafor", later="kept")
    assert tools.answer(post(body, signed(body))).status == 200
    (context,) = seen
    assert (context.visitor.verified, context.visitor.external_id) == (True, "user_123")
    assert (context.visitor.email, context.visitor.name) == ("ana@example.com", "Ana")
    assert (context.conversation_id, context.tool_call_id) == ("k57c", "call_1")
    assert (context.risk, context.approved_by, context.raw["later"]) == ("medium", "Sam Okafor", "kept")


@pytest.mark.parametrize("verified", [False, None, "true", 1])
def test_an_id_counts_only_when_verified_is_true(tools: Tools, verified: Json) -> None:
    seen: list[ToolContext] = []

    @tools.tool(description="Looks.")
    def look(context: ToolContext) -> None:
        seen.append(context)

    body = call_body("look", visitor={**ANA, "verified": verified})
    assert tools.answer(post(body, signed(body))).status == 200
    assert [(context.visitor.verified, context.visitor.external_id) for context in seen] == [(False, None)]


def test_after_call_hears_of_each_verified_call_and_cannot_spoil_it(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[tuple[str, int]] = []

    def hear(call: Call, answer: Answer) -> None:
        heard.append((call.tool, answer.status))
        raise RuntimeError("observer")

    tools = define(secret=SECRET, after_call=hear)
    refund_order(tools)
    client = tools.test_client()
    statuses = [client.call("refundOrder", {"orderNumber": "ORD-1"}).status, client.call("refundOrder").status]
    body = call_body("refundOrder")
    statuses += [tools.answer(post(body, {})).status, client.call("gone").status]
    assert statuses == [200, 422, 401, 404]
    assert heard == [("refundOrder", 200), ("refundOrder", 422), ("gone", 404)]
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert [message.partition(" for ")[0] for message in errors] == ["after_call failed"] * 3


def test_sync_tools_do_not_hold_up_the_event_loop(tools: Tools) -> None:
    """A sync tool that waits for an async one can only end when the two run side by side."""
    done = asyncio.Event()
    loop: list[asyncio.AbstractEventLoop] = []

    @tools.tool(description="Waits.")
    def wait() -> bool:
        return bool(asyncio.run_coroutine_threadsafe(done.wait(), loop[0]).result(timeout=5))

    @tools.tool(description="Ends the wait.")
    async def end() -> None:
        done.set()

    async def both() -> list[Answer]:
        loop.append(asyncio.get_running_loop())
        bodies = [call_body(name, call_id=name) for name in ("wait", "end")]
        requests = [post(body, signed(body, call_id=name)) for body, name in zip(bodies, ("wait", "end"), strict=True)]
        return await asyncio.gather(*(tools.answer_async(request) for request in requests))

    assert [(answer.status, json.loads(answer.body)) for answer in asyncio.run(both())] == [(200, True), (200, None)]


def test_an_async_tool_may_stand_inside_a_plain_decorator(tools: Tools) -> None:
    def plain(function: Callable[..., object]) -> Callable[..., object]:
        return functools.wraps(function)(lambda *given: function(*given))

    @tools.tool(description="Returns 7.")
    @plain
    async def seven() -> int:
        return 7

    assert tools.test_client().call("seven").data == 7


def test_async_tools_keep_one_loop_without_asgi(tools: Tools) -> None:
    loops: list[int] = []

    @tools.tool(description="Where am I?")
    async def where() -> None:
        loops.append(id(asyncio.get_running_loop()))

    client = tools.test_client()
    assert [client.call("where").status for _ in range(3)] == [200] * 3
    assert len(set(loops)) == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": "9lives"}, "9lives: a name has up to 64 letters, digits, _ and -, a letter first"),
        ({"name": "a" * 65}, "a name has up to 64"),
        ({"description": ""}, "give: description must have 1 to 2,000 characters"),
        ({"description": " "}, "give: description must have 1 to 2,000 characters"),
        ({"requires": ""}, "give: requires must have 1 to 100 characters"),
        ({"risk": "severe"}, "give: risk must be one of low, medium, reviewed, high"),
        ({"label": "x" * 81}, "give: label must have 1 to 80 characters"),
        ({"input": {"type": "string"}}, 'give: the top of an input schema must have "type": "object"'),
        ({"input": {"type": "object", "properties": {"a": {"type": "objekt"}}}}, "give: "),
        ({"input": {"type": "object", "properties": {"a": {"$ref": "http://169.254.169.254/x"}}}}, "give: Resource"),
        ({"input": {"a": p.string(pattern="(?=x)")}}, "give: "),
        ({"input": {"a": p.string()}, "session_start": True}, "give: a session_start tool may not have required input"),
        ({"input": {"type": "object", "description": "x" * 33_000}}, "give: an input schema may have 32768 bytes"),
    ],
)
def test_what_median_would_refuse_is_refused_at_once(tools: Tools, options: dict[str, Json], error: str) -> None:
    define_with: Callable[..., Callable[..., object]] = tools.tool
    with pytest.raises(ValueError, match=error.replace("(", r"\(")):
        define_with(**{"description": "Gives.", **options})(give)
    assert tools.manifest()["tools"] == []


def give(input: Given, context: ToolContext) -> None: ...


def test_two_tools_cannot_share_a_name_and_100_are_enough(tools: Tools) -> None:
    for n in range(100):
        tools.tool(description="Gives.", name=f"give{n}", input={})(give)
    with pytest.raises(ValueError, match="^give7: there is a tool of that name already$"):
        tools.tool(description="Gives.", name="give7", input={})(give)
    with pytest.raises(ValueError, match="^more: an endpoint has at most 100 tools$"):
        tools.tool(description="Gives.", name="more", input={})(give)


def test_refusals_have_one_shape() -> None:
    assert refuse() == {"ok": False, "reason": "tool_refused"}
    assert refuse("not_found", "No such order.") == {"ok": False, "reason": "not_found", "detail": "No such order."}


def test_a_catastrophic_pattern_is_answered_at_once(tools: Tools) -> None:
    tools.tool(description="Gives.", input={"a": p.string(pattern="^(a+)+$")})(give)
    began = time.perf_counter()
    assert tools.test_client().call("give", {"a": "a" * 40 + "!"}).status == 422
    assert time.perf_counter() - began < 1


def test_a_store_that_fails_lets_no_call_through(caplog: pytest.LogCaptureFixture) -> None:
    class Down:
        def add(self, call_id: str, *, until: float) -> bool:
            raise ConnectionError("the database is down")

    class Unawaited:
        async def add(self, call_id: str, *, until: float) -> bool:
            return True

    tools = define(secret=SECRET, replays=Down())
    refund_order(tools)
    reply = tools.test_client().call("refundOrder", {"orderNumber": "ORD-1042"})
    assert reply == Reply(503, {"error": {"code": "busy", "message": "Nobody can tell whether this call is new."}})
    assert "replays.add failed" in caplog.text
    with pytest.raises(TypeError, match="^replays.add must be a plain function"):
        define(secret=SECRET, replays=Unawaited())  # type: ignore[arg-type]  # what is refused


def test_a_generator_is_no_tool(tools: Tools) -> None:
    with pytest.raises(ValueError, match="^numbers: a generator cannot be a tool; return the result$"):

        @tools.tool(description="Numbers.")
        def numbers() -> Iterator[int]:
            yield 1
