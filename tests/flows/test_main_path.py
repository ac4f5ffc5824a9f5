"""The main job, end to end over HTTP: the agent asks, a teammate decides, the call leaves once, the customer knows."""

from collections.abc import Callable

import jwt
import pytest
from django.test import Client
from standardwebhooks import Webhook

from agent.models.demo import DemoModel
from approvals.models import State, ToolApproval
from conversations.models import Conversation, Item, ItemKind
from team.models import Teammate
from tests import agent_process
from tests import world as worlds
from tests.endpoint import Endpoint
from tests.flows.conftest import Chat
from tests.waiting import until
from tests.world import World
from tools import keys
from tools.models import RunState, ToolRun

WISH = "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund."
SignIn = Callable[[Teammate], Client]


@pytest.fixture
def agent(live_world: World) -> object:
    with agent_process.in_thread(DemoModel()) as process:
        yield process


def asked(ana: Chat) -> ToolApproval:
    """Ana asks for her refund, and the agent has said that it needs sign-off."""
    ana.write(WISH)
    until(lambda: len(ana.replies()) == 1)
    return ToolApproval.objects.get()


def lines_of(conversation: Conversation) -> list[str]:
    return list(conversation.items.filter(kind=ItemKind.LINE).order_by("number").values_list("text", flat=True))


def test_an_approved_refund_runs_once_with_the_approvers_name_and_the_customer_is_told(
    live_world: World, endpoint: Endpoint, ana: Chat, agent: object, browser_of: SignIn
) -> None:
    approval = asked(ana)

    assert "sign-off" in ana.replies()[0]
    assert approval.state == State.PENDING
    assert approval.input == '{"orderNumber":"ORD-1042","reason":"damaged"}'
    assert [call.body["tool"] for call in endpoint.calls] == ["orderStatus"]
    assert endpoint.syncs == 1

    answer = browser_of(live_world.sam).post(f"/approvals/{approval.id}/approve", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    until(lambda: len(ana.replies()) == 2)

    assert "$48.00" in ana.replies()[1]
    refund = endpoint.wait_for("refundOrder")
    assert len(endpoint.calls) == 2
    assert refund.body == {
        "tool": "refundOrder",
        "toolCallId": approval.id,
        "input": {"orderNumber": "ORD-1042", "reason": "damaged"},
        "context": {
            "conversationId": ana.conversation.id,
            "risk": "high",
            "approvedBy": "Sam Okafor",
            "visitor": {"verified": True, "externalId": "user_123", "email": "ana@example.com", "name": "Ana Souza"},
        },
    }
    assert b'"input":{"orderNumber":"ORD-1042","reason":"damaged"},' in refund.raw
    approval.refresh_from_db()
    assert approval.state == State.COMPLETED
    run = ToolRun.objects.get(id=approval.id)
    assert (run.state, run.error) == (RunState.COMPLETED, "")
    until(lambda: ToolRun.objects.get(id=approval.id).headline)
    assert lines_of(ana.conversation) == [
        "Median AI asked the team to sign off on Refund order",
        "Sam approved running Refund order",
    ]


def test_both_signatures_of_a_call_verify_independently(
    live_world: World, endpoint: Endpoint, ana: Chat, agent: object, browser_of: SignIn
) -> None:
    approval = asked(ana)
    browser_of(live_world.sam).post(f"/approvals/{approval.id}/approve")
    refund = endpoint.wait_for("refundOrder")

    Webhook(worlds.SECRET).verify(refund.raw, refund.headers)
    token = refund.headers["authorization"].removeprefix("Bearer ")
    public = jwt.PyJWK(keys.published(live_world.fernhill.id)[0])
    claims = jwt.decode(token, public, algorithms=["ES256"], audience="refundOrder", issuer=live_world.fernhill.issuer)
    assert (claims["sub"], claims["anon"], claims["jti"]) == ("user_123", False, approval.id)
    assert claims["turn"] == approval.turn_id
    assert claims["approval"]["by"] == {"kind": "teammate", "name": "Sam Okafor"}
    lookup = jwt.decode(
        endpoint.calls[0].headers["authorization"].removeprefix("Bearer "),
        public, algorithms=["ES256"], audience="orderStatus", issuer=live_world.fernhill.issuer,
    )  # fmt: skip
    assert lookup["turn"] == approval.turn_id
    assert "approval" not in lookup


def test_a_denied_refund_never_leaves_and_the_customer_is_told_without_the_reason(
    live_world: World, endpoint: Endpoint, ana: Chat, agent: object, browser_of: SignIn
) -> None:
    approval = asked(ana)

    browser_of(live_world.kim).post(f"/approvals/{approval.id}/deny", {"reason": "Third refund this month."})
    until(lambda: len(ana.replies()) == 2)

    assert "did not approve" in ana.replies()[1]
    assert "month" not in ana.replies()[1]
    assert endpoint.calls_of("refundOrder") == []
    assert lines_of(ana.conversation)[1:] == ["Kim declined Median AI’s request to run Refund order"]


def test_while_a_teammate_has_the_thread_the_outcome_waits_until_it_is_handed_back(
    live_world: World, endpoint: Endpoint, ana: Chat, agent: object, browser_of: SignIn
) -> None:
    approval = asked(ana)
    sam = browser_of(live_world.sam)
    sam.post(f"/inbox/{ana.conversation.id}/take-over")
    sam.post(f"/approvals/{approval.id}/approve")
    until(lambda: ToolApproval.objects.get().state == State.COMPLETED)
    assert len(ana.replies()) == 1

    sam.post(f"/inbox/{ana.conversation.id}/hand-back")
    until(lambda: len(ana.replies()) == 2)
    assert "$48.00" in ana.replies()[1]


def test_a_message_sent_twice_stands_once(live_world: World, ana: Chat, agent: object) -> None:
    ana.write("Where is ORD-1042?")
    ana.sent = 0
    ana.write("Where is ORD-1042?")
    until(lambda: len(ana.replies()) == 1)
    assert Item.objects.filter(kind=ItemKind.CUSTOMER).count() == 1
