"""The calls of a step: what leaves, what parks, and what exactly the model reads back, on the wire of a real model."""

import json
from typing import Any

import pytest
from django.db import connections

from agent.turn import COULD_NOT_DO_IT
from approvals import decisions
from approvals.models import State, ToolApproval
from conversations.models import Conversation, ItemKind
from tests.agent.conftest import Talk, told
from tests.model_server import Reply, Request, calls, message, says
from tools.models import Tool, ToolRun

ORDER = '{"orderNumber":"ORD-1042"}'
REFUND = '{"orderNumber":"ORD-1042","reason":"damaged"}'
UNKNOWN = {"status": "error", "kind": "unknown-tool"}
WAITING = {
    "status": "waiting_for_approval",
    "tool": "refundOrder",
    "message": "A teammate must approve this before it runs. It has not run.",
}
STILL = {
    "status": "still_waiting",
    "tool": "refundOrder",
    "message": "A request to run this tool is still waiting for an answer.",
}


def asked_of(ana: Talk, *wanted: tuple[str, str], finish: str = "tool_calls") -> list[Any]:
    """What the model reads back when it makes these calls in one step."""
    return told(ana.ask(calls(*wanted, finish=finish), says("Done."))[-1])


def inputs_sent(ana: Talk) -> list[Any]:
    return [call.body["input"] for call in ana.company.calls]


def test_each_call_of_a_step_has_its_own_result_in_its_place(ana: Talk) -> None:
    ana.company.answers = {"orderStatus": (200, b'{"status":"shipped"}'), "resendInvoice": (500, b"")}
    results = asked_of(
        ana,
        ("orderStatus", ORDER),
        ("resendInvoice", ORDER),
        ("refundOrder", REFUND),
        ("refundOrder", '{"orderNumber":"ORD-2000","reason":"late"}'),
        ("refund_order", REFUND),
    )
    assert results == [{"status": "shipped"}, {"error": "The endpoint answered 500."}, WAITING, STILL, UNKNOWN]
    assert [call.body["tool"] for call in ana.company.calls] in (
        ["orderStatus", "resendInvoice"],
        ["resendInvoice", "orderStatus"],
    )

    ana.model.script([says("The team declined it.")])
    decisions.deny(ToolApproval.objects.get().id, by=ana.world.sam.actor, reason="Not again.")
    assert ana.settle(turns=2) == ["Done.", "The team declined it."]
    assert len(ana.company.calls) == 2
    assert "Not again" not in json.dumps(ana.model.requests[-1].body)


def test_results_are_paired_by_position_whatever_answers_first(ana: Talk) -> None:
    ana.company.answers = {"orderStatus": (200, b'"first"'), "subscription": (200, b'"third"')}
    hold = ana.company.hold("orderStatus")
    ana.model.script([calls(("orderStatus", ORDER), ("nothing", "{}"), ("subscription", "{}")), says("Done.")])
    ana.write()
    ana.company.wait_for("subscription")
    hold.set()
    ana.settle(turns=1)
    assert told(ana.model.requests[-1]) == ["first", UNKNOWN, "third"]


@pytest.mark.parametrize("while_it_thinks", [{"risk": "high"}, {"switched_on": False}], ids=["raised", "off"])
def test_a_call_is_made_by_the_tools_as_they_are_when_it_is_asked_for(
    ana: Talk, while_it_thinks: dict[str, object]
) -> None:
    def thought(_: Request) -> Reply:
        Tool.objects.filter(name__in=["orderStatus", "refundOrder"]).update(**while_it_thinks)
        connections.close_all()  # this thread's own
        return calls(("orderStatus", ORDER), ("refundOrder", REFUND), text="Let me\0 see")

    results = told(ana.ask(thought, says("Done."))[-1])
    assert ana.company.calls == []
    asked = set(ToolApproval.objects.values_list("tool_name", flat=True))
    if "risk" in while_it_thinks:
        assert results == [WAITING | {"tool": "orderStatus"}, WAITING]
        assert asked == {"orderStatus", "refundOrder"}
    else:
        assert (results, asked) == ([UNKNOWN] * 2, set())


def test_ids_of_the_model_are_of_no_account(ana: Talk) -> None:
    def same(name: str, arguments: str, id: str = "call_1") -> dict[str, Any]:
        return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}

    repeated = [
        same("orderStatus", '{"orderNumber":"ORD-1"}'),
        same("orderStatus", '{"orderNumber":"ORD-2"}'),
        same("subscription", "{}"),
        same("resendInvoice", ORDER, id=""),
    ]
    ana.company.answers = {"subscription": (200, b'"plan"'), "resendInvoice": (200, b'"sent"')}
    requests = ana.ask(message(None, finish="tool_calls", tool_calls=repeated), says("Done."))
    assert told(requests[-1]) == [{}, {}, "plan", "sent"]
    sent = {call.body["toolCallId"]: call.body["input"] for call in ana.company.calls}
    assert len(sent) == 4
    assert all(id.startswith("call_") and len(id) == 37 for id in sent)
    assert {"orderNumber": "ORD-1"} in sent.values()
    assert {"orderNumber": "ORD-2"} in sent.values()


def test_the_same_call_in_a_turn_gets_the_first_result_and_leaves_once(ana: Talk) -> None:
    ana.company.answers = {"orderStatus": (200, b'{"status":"shipped"}')}
    requests = ana.ask(
        calls(("orderStatus", ORDER), ("orderStatus", '{ "orderNumber" : "ORD-1042" }')),
        calls(("orderStatus", ORDER), ("orderStatus", '{"orderNumber":"ORD-9"}')),
        says("Done."),
    )
    assert told(requests[1]) == [{"status": "shipped"}] * 2
    assert told(requests[2]) == [{"status": "shipped"}] * 2
    assert inputs_sent(ana) == [{"orderNumber": "ORD-1042"}, {"orderNumber": "ORD-9"}]

    ana.ask(calls(("orderStatus", ORDER)), says("Done."))
    assert len(ana.company.calls) == 3


def test_the_same_parked_call_in_another_order_of_keys_is_the_same(ana: Talk) -> None:
    other = '{"reason":"damaged","orderNumber":"ORD-1042"}'
    assert asked_of(ana, ("refundOrder", REFUND), ("refundOrder", other)) == [WAITING, WAITING]
    assert ToolApproval.objects.count() == 1


def test_at_most_eight_calls_in_a_step_and_twenty_in_a_turn(ana: Talk) -> None:
    def step(number: int, count: int) -> Any:
        return calls(*(("orderStatus", json.dumps({"orderNumber": f"{number}-{place}"})) for place in range(count)))

    over = {"error": "At most 8 calls in one step and 20 in one reply; this one was not made."}
    requests = ana.ask(step(1, 9), step(2, 8), step(3, 500), says("Done."))
    assert told(requests[1]) == [{}] * 8 + [over]
    assert told(requests[2]) == [{}] * 8
    assert told(requests[3]) == [{}] * 3 + [over] * 97
    assert len(ana.company.calls) == 19


def test_after_ten_steps_the_customer_gets_an_apology_and_the_team_a_line(ana: Talk) -> None:
    steps = [calls(("orderStatus", json.dumps({"orderNumber": str(number)}))) for number in range(10)]
    assert len(ana.ask(*steps)) == 10
    assert ana.replies() == [COULD_NOT_DO_IT]
    assert len(ana.company.calls) == 10
    conversation = Conversation.objects.get()
    [line] = conversation.items.filter(kind=ItemKind.LINE)
    assert line.text.startswith("Median AI could not answer: ")
    assert conversation.attention == line.number


def test_a_call_that_the_tool_refused_and_one_that_broke_are_told_as_published(ana: Talk) -> None:
    ana.company.answers = {
        "orderStatus": (200, b'{"ok":false,"reason":"not_found","detail":"No such order."}'),
        "subscription": (422, b'{"error":{"code":"no_plan","message":"There is none."}}'),
    }
    assert asked_of(ana, ("orderStatus", ORDER), ("subscription", "{}")) == [
        {
            "refused": True,
            "reason": "not_found",
            "detail": "No such order.",
            "note": "The tool said no. Tell the customer what it means, and do not call it again for the same thing.",
        },
        {"error": "The endpoint answered 422. no_plan: There is none."},
    ]


def test_a_fourth_open_request_is_not_made(ana: Talk) -> None:
    high = [("refundOrder", REFUND), ("cancelSubscription", "{}"), ("extendTrial", "{}"), ("closeAccount", "{}")]
    results = asked_of(ana, *high)
    assert [result["status"] for result in results] == ["waiting_for_approval"] * 3 + ["too_many_open"]
    assert ToolApproval.objects.count() == 3


def test_what_was_denied_is_told_so_until_the_customer_writes_again(ana: Talk) -> None:
    asked_of(ana, ("refundOrder", REFUND))
    again = '{"reason":"damaged","orderNumber":"ORD-1042"}'
    ana.model.script([*[calls(("refundOrder", again))] * 9, says("I cannot.")])
    decisions.deny(ToolApproval.objects.get().id, by=ana.world.sam.actor)
    ana.settle(turns=2)
    assert told(ana.model.requests[-1]) == [
        {
            "status": "denied_before",
            "tool": "refundOrder",
            "message": "The team denied exactly this. Ask again only after the customer has written again.",
        }
    ]
    assert ToolApproval.objects.count() == 1

    assert asked_of(ana, ("refundOrder", again)) == [WAITING]
    assert sorted(ToolApproval.objects.values_list("state", flat=True)) == [State.DENIED, State.PENDING]


NAMES = ["refund_order", "", "refundOrder ", "REFUNDORDER", "../admin", "x" * 300, "extendTrial", "deleteEverything"]


def test_only_a_tools_exact_name_is_its_name(ana: Talk) -> None:
    ana.world.fernhill.tools.filter(name="extendTrial").update(switched_on=False)
    results = asked_of(ana, *((name, REFUND) for name in NAMES[:4]))
    results += asked_of(ana, *((name, REFUND) for name in NAMES[4:]), ("subscription", "{}"))
    assert results == [*[UNKNOWN] * 8, {}]
    assert not ToolApproval.objects.exists()
    assert [call.body["tool"] for call in ana.company.calls] == ["subscription"]


def test_nothing_is_an_empty_input_where_nothing_is_needed(ana: Talk) -> None:
    for written in ["", "  ", "null", "{}"]:
        assert asked_of(ana, ("subscription", written), ("orderStatus", written)) == [
            {},
            {"error": "invalid_arguments", "tool": "orderStatus", "message": "orderNumber is needed to run this."},
        ]
    assert inputs_sent(ana) == [{}] * 4


def test_an_object_encoded_once_more_is_unwrapped(ana: Talk) -> None:
    assert asked_of(ana, ("orderStatus", json.dumps(ORDER))) == [{}]
    assert inputs_sent(ana) == [{"orderNumber": "ORD-1042"}]


BROKEN = [
    '{"orderNumber":"ORD-1"',
    "{orderNumber:'ORD-1'}",
    '{"orderNumber":"ORD-1",}',
    '```json\n{"orderNumber":"ORD-1"}\n```',
    '["q":1]',
    '["ORD-1"]',
    "42",
    '"ORD-1042"',
    '{"orderNumber":NaN}',
    '{"orderNumber":00042}',
    '{"orderNumber":1042}',
    '{"orderNumber":true}',
    '{"orderNumber":"ORD-1","note":"x"}',
    '{"orderNumber":"ORD-\ud800"}',
    "{\ud800",
    '{"\ud800":"ORD-1042"}',
]


def test_what_is_not_the_input_is_neither_sent_nor_parked_nor_repaired(ana: Talk) -> None:
    for written in BROKEN:
        wide = written.replace("}", ',"reason":"late"}') if written.count('"') > 2 else written
        results = asked_of(ana, ("orderStatus", written), ("refundOrder", wide))
        assert [(result["error"], result["tool"]) for result in results] == [
            ("invalid_arguments", "orderStatus"),
            ("invalid_arguments", "refundOrder"),
        ], written
    assert not ToolRun.objects.exists()
    assert not ToolApproval.objects.exists()


def test_the_model_is_told_which_field_what_is_wanted_and_what_came(ana: Talk) -> None:
    results = asked_of(
        ana, ("orderStatus", '{"orderNumber":7}'), ("orderStatus", '{"orderNumber":"7","priority":"high"}')
    )
    assert results[0]["message"] == "orderNumber must be a string, not the number 7."
    assert "priority" in results[1]["message"]


def test_a_call_cut_off_by_length_is_not_made(ana: Talk) -> None:
    [result] = asked_of(ana, ("cancelSubscription", "{}"), finish="length")
    assert result["error"] == "invalid_arguments"
    assert not ToolApproval.objects.exists()


def test_huge_broken_arguments_come_back_as_an_excerpt_and_three_times_end_the_turn(ana: Talk) -> None:
    huge = '{"orderNumber":"' + "x" * 200_000
    requests = ana.ask(*[calls(("orderStatus", huge))] * 3)
    assert len(requests) == 3
    assert len(json.dumps(requests[2].messages)) < 5_000
    assert ana.replies() == [COULD_NOT_DO_IT]
    conversation = Conversation.objects.get()
    [line] = conversation.items.filter(kind=ItemKind.LINE)
    assert conversation.attention == line.number
    assert not ana.company.calls


@pytest.mark.parametrize("at_once", [[1, 2], [3, 1], [8, 1]])
def test_errors_count_by_call_and_the_model_may_try_again_once_at_least(ana: Talk, at_once: list[int]) -> None:
    steps = [calls(*[("orderStatus", f'{{"orderNumber":{n}}}') for n in range(number)]) for number in at_once]
    requests = ana.ask(*steps)
    assert [result["error"] for result in told(requests[1])] == ["invalid_arguments"] * at_once[0]
    assert ana.replies() == [COULD_NOT_DO_IT]


def test_risk_adds_its_line_to_the_description_and_low_adds_nothing(ana: Talk) -> None:
    [request] = ana.ask(says("Hello."))
    described = {tool["function"]["name"]: tool["function"]["description"] for tool in request.body["tools"]}
    assert described["orderStatus"] == "Look up an order."
    assert described["resendInvoice"] == (
        "Email an invoice.\n\nAsk the customer before you call this, and call it only after a clear yes."
    )
    assert described["refundSmallOrder"] == (
        "Refund $50 or less.\n\nAsk the customer to confirm this exact action first: end a message with one question"
        " that begins with “Shall I”, then says what this does in the words of its description and names every value,"
        " as in “Shall I refund ORD-1 in full?”. A reviewer then checks the call before it runs: tell the customer that"
        " it is being checked, and promise nothing."
    )
    assert described["refundOrder"] == (
        "Refund an order in full.\n\nA teammate must approve this call before it runs: tell the customer that it needs"
        " sign-off, and promise nothing."
    )
