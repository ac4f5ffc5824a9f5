"""What the demo model tells a customer about each result of a call and each end of a request."""

import json

import pytest

from agent.models.base import Message
from median_site.lib.strict_json import Json
from tests.agent.models.chat import Chat


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"status": "still_waiting"},
            "I've already asked for the refund, and it is still waiting. You'll get the answer here.",
        ),
        (
            {"status": "too_many_open"},
            "Several requests are already waiting for the team. Once one is answered, I can ask for the refund.",
        ),
        (
            {"status": "denied_before"},
            "I asked for the refund before, and it was not approved. A teammate can talk it over with you.",
        ),
        (
            {"refused": True, "reason": "already_refunded"},
            "That order has already been refunded, Ana, so there is nothing more to pay back.",
        ),
        (
            {"refused": True, "reason": "not_now", "detail": "the till is closed."},
            "I'm afraid that isn't possible. The till is closed.",
        ),
        ({"refused": True, "reason": "tool_refused"}, "I'm afraid that isn't possible. Tool refused."),
        (
            {"status": "error", "kind": "timed-out"},
            "I'm sorry, Ana, the refund did not go through. A teammate will look into it.",
        ),
        (
            {"error": "The endpoint did not answer in time."},
            "I'm sorry, Ana, the refund did not go through. A teammate will look into it.",
        ),
    ],
)
async def test_every_standing_of_a_call_is_told(result: Json, said: str) -> None:
    chat = Chat()
    chat.results["refundOrder"] = result
    assert await chat.write("ORD-1 arrived broken, refund please") == said
    assert [name for name, _ in chat.made] == ["orderStatus", "refundOrder"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"refused": True, "reason": "not_signed_in"}, "Please sign in first, Ana. Then I can help you with that."),
        (
            {"refused": True, "reason": "not_found"},
            "I can't find that number on your account, Ana. Could you check it?",
        ),
        (
            {"error": "The endpoint answered 500."},
            "I'm sorry, Ana, I can't look that up just now. A teammate can step in and check.",
        ),
    ],
)
async def test_an_order_that_cannot_be_seen_is_not_refunded(result: Json, said: str) -> None:
    chat = Chat()
    chat.results["orderStatus"] = result
    for _ in range(2):
        assert await chat.write("ORD-9 arrived broken, refund please") == said
        assert chat.made == [("orderStatus", {"orderNumber": "ORD-9"})]


@pytest.mark.parametrize(
    ("tool_name", "status", "more", "said"),
    [
        (
            "refundOrder",
            "denied",
            {},
            "The team did not approve the refund. If you'd like to talk it over, a teammate can step in here.",
        ),
        (
            "refundOrder",
            "failed",
            {"error": "The endpoint answered 500."},
            "I'm sorry, Ana, the refund did not go through. A teammate will look into it.",
        ),
        (
            "refundOrder",
            "expired",
            {"input": {"orderNumber": "ORD-1"}},
            "Nobody on the team answered the request for the refund in time, so nothing was done."
            " Shall I ask the team to refund ORD-1?",
        ),
        (
            "refundOrder",
            "pending",
            {},
            "The refund needs a teammate's approval after all, so I've asked the team. You'll get the answer here.",
        ),
        (
            "extendTrial",
            "completed",
            {"refusal": {"reason": "out_of_range", "detail": "Trials can be extended by 1 to 14 days."}},
            "I'm afraid that isn't possible. Trials can be extended by 1 to 14 days.",
        ),
        (
            "refundOrder",
            "completed",
            {"result": "gone"},
            "Good news, Ana: the refund is on its way back to the card you paid with."
            " Banks usually show it within 3 to 5 days.",
        ),
        (
            "sendVoucher",
            "completed",
            {"result": {"code": "X1", "validUntil": "2025-09-01", "sent": True, "lines": []}},
            "Good news, Ana: Send voucher is done. code: X1; valid until: 2025-09-01; sent: yes.",
        ),
        ("sendVoucher", "completed", {}, "Good news, Ana: Send voucher is done."),
        (
            "sendVoucher",
            "denied",
            {},
            "The team did not approve the request. If you'd like to talk it over, a teammate can step in here.",
        ),
    ],
)
async def test_every_outcome_is_told(tool_name: str, status: str, more: dict[str, Json], said: str) -> None:
    chat = Chat()
    assert await chat.ends(tool_name, status, **more) == said
    assert chat.made == []


async def test_outcomes_are_told_before_the_answer_to_a_new_message() -> None:
    chat = Chat()
    for status in ("denied", "failed"):
        outcome = {"tool": "refundOrder", "label": "Refund order", "input": {}, "status": status}
        chat.messages.append(Message("notice", "OUTCOME " + json.dumps(outcome)))
    assert (await chat.write("And what is my plan?")).split("\n\n") == [
        "The team did not approve the refund. If you'd like to talk it over, a teammate can step in here.",
        "I'm sorry, Ana, the refund did not go through. A teammate will look into it.",
        "You are on the Team plan. You use 4 of 5 seats. It renews on 2025-07-01.",
    ]
    assert chat.made == [("subscription", {})]
