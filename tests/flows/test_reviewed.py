"""A reviewed call end to end: the agent asks, the customer says yes, the reviewer lets it leave or the team decides."""

import json
import subprocess
import threading
from signal import SIGKILL

from agent.models.demo import DemoModel
from approvals import decisions
from approvals.models import Review, ReviewState, State, ToolApproval
from approvals.reviewer import review
from approvals.reviewer.demo import answer
from conversations.models import Item, ItemKind
from tests import agent_process
from tests.endpoint import Endpoint
from tests.flows.conftest import Chat
from tests.model_server import Reply, model_server, says
from tests.waiting import until
from tests.world import World

PATIENCE_S = 40
WISH = "ORD-1029 came late, $12 of filter papers. I'd like a refund."


def lines(ana: Chat) -> list[str]:
    found = Item.objects.filter(conversation=ana.conversation, kind=ItemKind.LINE).order_by("number")
    return list(found.values_list("text", flat=True))


def asked(ana: Chat, *, yes: str) -> ToolApproval:
    """Ana says what she wants, and yes to the agent's question."""
    ana.write(WISH)
    until(lambda: len(ana.replies()) == 1, within_s=PATIENCE_S)
    assert ana.replies()[0].endswith("Shall I refund ORD-1029 in full ($12.00), back to the card you paid with?")
    ana.write(yes)
    return until(ToolApproval.objects.first)


def test_a_plain_yes_is_approved_and_runs_once_in_the_reviewers_name(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    with agent_process.in_thread(DemoModel()):
        approval = asked(ana, yes="Yes please")
        until(lambda: "$12.00" in ana.replies()[-1] and len(ana.replies()) > 2, within_s=PATIENCE_S)
        refund = endpoint.wait_for("refundSmallOrder")
    assert refund.body["context"]["approvedBy"] == "The reviewer"
    assert refund.body["input"] == {"orderNumber": "ORD-1029", "reason": "late"}
    assert len(endpoint.calls_of("refundSmallOrder")) == 1
    approval.refresh_from_db()
    assert approval.state == State.COMPLETED
    assert lines(ana) == [
        "Median AI asked to run Refund small order, and the reviewer is checking it",
        "The reviewer approved running Refund small order",
    ]
    assert ana.conversation.attention == 0


def test_what_is_passed_on_is_told_to_the_customer_and_then_decided_by_the_team(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    with agent_process.in_thread(DemoModel()):
        approval = asked(ana, yes="Yes, and the quicker the better, my shop is closed without it")
        until(lambda: "needs a teammate's approval" in ana.replies()[-1], within_s=PATIENCE_S)
        approval.refresh_from_db()
        assert (approval.state, approval.review) == (State.PENDING, "passed")
        assert ana.conversation.attention > 0
        assert not any(approval.review_reason in reply for reply in ana.replies())
        decisions.approve(approval.id, by=live_world.sam.actor)
        until(lambda: "$12.00" in ana.replies()[-1], within_s=PATIENCE_S)
    assert endpoint.wait_for("refundSmallOrder").body["context"]["approvedBy"] == "Sam Okafor"
    assert len(endpoint.calls_of("refundSmallOrder")) == 1


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(SIGKILL)
    process.wait(10)


def test_killed_while_it_reads_another_process_reads_again_and_the_call_leaves_once(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    never = threading.Event()
    with model_server() as server:
        judge = {"MEDIAN_REVIEWER_URL": server.url, "MEDIAN_REVIEWER_NAME": "judge"}
        server.script([Reply(delay_s=30, hold=never)])
        with agent_process.as_process(**judge) as first:
            approval = asked(ana, yes="Yes please")
            server.wait_for(1)
            until(lambda: len(ana.replies()) == 2)  # its turn has said that the refund is being checked
            kill(first)
        material, _ = review.start(approval.id)
        assert material
        server.script([says(json.dumps(json.loads(answer(material))))])
        with agent_process.as_process(**judge):
            until(lambda: len(ana.replies()) == 3, within_s=PATIENCE_S)
        never.set()
        sent = server.requests[-1].messages
    assert len(server.requests) == 2
    assert len(endpoint.calls_of("refundSmallOrder")) == 1
    row = Review.objects.get()
    assert (row.state, row.attempts, row.outcome, row.model) == (ReviewState.DONE, 2, "approved", "judge")
    assert "tools" not in server.requests[-1].body
    assert [message["role"] for message in sent] == ["system", "user"]
    assert WISH in sent[1]["content"]
