"""Deciding a request: every answer in every state, in the published words, and nothing happens twice."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from agent.rows import Turn
from approvals import decisions, errors
from approvals.models import ExpiredBecause, State, ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind, Status
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError, NotFound
from team.models import Event
from tests.approvals.requests import INPUT, lines_of, request
from tests.world import World
from tools.models import RunState, ToolRun

Decide = Callable[..., ToolApproval]


def test_a_request_leaves_a_line_a_card_and_an_unread_thread(world: World) -> None:
    approval = request(world)

    assert approval.state == State.PENDING
    assert approval.expires_at - approval.requested_at == timedelta(hours=24)
    assert lines_of(world) == ["Median AI asked the team to sign off on Refund order"]
    card = Item.objects.get(kind=ItemKind.APPROVAL)
    assert card.ref == approval.id
    world.conversation.refresh_from_db()
    assert world.conversation.attention > 0
    assert (world.conversation.waiting, world.conversation.mark) == (1, "waiting")
    assert world.conversation.mark_label == "Refund order"
    assert ToolRun.objects.count() == 0


def test_approving_queues_the_exact_input_under_the_requests_id_with_the_approvers_name(world: World) -> None:
    approval = request(world)

    decisions.approve(approval.id, by=world.sam.actor)

    approval.refresh_from_db()
    assert approval.state == State.EXECUTING
    assert (approval.decided_by_name, approval.decided_by_id) == ("Sam Okafor", world.sam.id)
    run = ToolRun.objects.get()
    assert (run.id, run.input, run.state) == (approval.id, INPUT, RunState.QUEUED)
    assert run.approver_name == "Sam Okafor"
    assert lines_of(world)[1:] == ["Sam approved running Refund order"]
    world.conversation.refresh_from_db()
    assert (world.conversation.waiting, world.conversation.mark) == (0, "")
    assert Turn.objects.count() == 0


def test_denying_sends_nothing_tells_the_agent_and_keeps_the_reason_from_it(world: World) -> None:
    approval = request(world)

    decisions.deny(approval.id, by=world.sam.actor, reason="Already had a refund in May.")

    approval.refresh_from_db()
    assert (approval.state, approval.reason) == (State.DENIED, "Already had a refund in May.")
    assert lines_of(world)[1:] == ["Sam declined Median AI’s request to run Refund order"]
    assert ToolRun.objects.count() == 0
    assert Turn.objects.get().because == "denied"
    assert "May" not in str(list(Event.objects.values_list("data", flat=True)))


def _expire_by_clock(approval: ToolApproval, _: World) -> None:
    ToolApproval.objects.filter(id=approval.id).update(expires_at=clock.now() - timedelta(seconds=1))


def _resolve(_: ToolApproval, world: World) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.RESOLVED)


def _resolve_and_reopen(approval: ToolApproval, world: World) -> None:
    _resolve(approval, world)
    threads.reopen(world.conversation.id, by=world.kim.actor)


def _remove_endpoint(approval: ToolApproval, _: World) -> None:
    decisions.expire_all([approval.id], because=ExpiredBecause.ENDPOINT_REMOVED)


def _approve_by_kim(approval: ToolApproval, world: World) -> None:
    decisions.approve(approval.id, by=world.kim.actor)


def _deny_by_kim(approval: ToolApproval, world: World) -> None:
    decisions.deny(approval.id, by=world.kim.actor)


def _decided_by_kim_and_past_its_time(approval: ToolApproval, world: World) -> None:
    _approve_by_kim(approval, world)
    _expire_by_clock(approval, world)


LATE = [
    (_expire_by_clock, errors.ExpiredUnanswered, "This request expired without a decision."),
    (_resolve, errors.ExpiredEnded, "This request expired because the conversation ended."),
    (_resolve_and_reopen, errors.ExpiredEnded, "This request expired because the conversation ended."),
    (_remove_endpoint, errors.ExpiredRemoved, "This request expired because its endpoint was removed."),
    (_approve_by_kim, errors.AlreadyReviewed, "This request has already been reviewed."),
    (_deny_by_kim, errors.AlreadyReviewed, "This request has already been reviewed."),
    (_decided_by_kim_and_past_its_time, errors.AlreadyReviewed, "This request has already been reviewed."),
]


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
@pytest.mark.parametrize(("before", "error", "sentence"), LATE, ids=lambda value: getattr(value, "__name__", None))
def test_who_comes_too_late_reads_why_and_changes_nothing(
    world: World, before: Callable[[ToolApproval, World], None], error: type[DomainError], sentence: str, decide: Decide
) -> None:
    approval = request(world)
    before(approval, world)
    stood = ToolApproval.objects.values().get()
    counted = (Event.objects.count(), Item.objects.count(), ToolRun.objects.count())

    with pytest.raises(error) as raised:
        decide(approval.id, by=world.sam.actor)

    assert raised.value.message == sentence
    assert ToolApproval.objects.values().get() == stood
    assert (Event.objects.count(), Item.objects.count(), ToolRun.objects.count()) == counted


@pytest.mark.parametrize(
    ("decide", "other"), [(decisions.approve, decisions.deny), (decisions.deny, decisions.approve)]
)
def test_the_same_persons_second_press_shows_the_decision_and_the_other_button_does_not_undo_it(
    world: World, decide: Decide, other: Decide
) -> None:
    approval = request(world)
    first = decide(approval.id, by=world.sam.actor)
    counted = (Event.objects.count(), Item.objects.count(), ToolRun.objects.count())

    again = decide(approval.id, by=world.sam.actor)
    with pytest.raises(errors.AlreadyReviewed):
        other(approval.id, by=world.sam.actor)

    assert again.state == first.state
    assert (Event.objects.count(), Item.objects.count(), ToolRun.objects.count()) == counted


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
def test_another_workspaces_teammate_finds_nothing(world: World, decide: Decide) -> None:
    approval = request(world)
    with pytest.raises(NotFound):
        decide(approval.id, by=world.mallory.actor)
    with pytest.raises(NotFound):
        decide("call_" + "0" * 32, by=world.sam.actor)
    approval.refresh_from_db()
    assert approval.state == State.PENDING
    assert Event.objects.filter(workspace=world.elsewhere).count() == 0


def test_an_ended_conversation_expires_what_waits_in_it_with_a_line(world: World) -> None:
    approval = request(world)
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.CLOSED)

    approval.refresh_from_db()
    assert (approval.state, approval.expired_because) == (State.EXPIRED, "conversation_ended")
    assert lines_of(world)[1:] == [
        "Kim closed the conversation",
        "the request to run Refund order expired because the conversation ended",
    ]
    assert Turn.objects.count() == 0
    world.conversation.refresh_from_db()
    assert (world.conversation.waiting, world.conversation.mark) == (0, "")


def test_an_approved_call_outlives_its_conversation(world: World) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.RESOLVED)
    approval.refresh_from_db()
    assert approval.state == State.EXECUTING


def test_the_caps_of_a_conversation(world: World) -> None:
    request(world, tool="refundOrder")
    with pytest.raises(errors.StillWaiting):
        request(world, tool="refundOrder", input_text='{"orderNumber":"ORD-2","reason":"late"}')
    request(world, tool="cancelSubscription", input_text="{}")
    request(world, tool="extendTrial", input_text="{}")
    with pytest.raises(errors.TooManyOpen):
        request(world, tool="closeAccount", input_text="{}")
    assert ToolApproval.objects.count() == 3


def test_what_was_denied_is_not_parked_again_until_the_customer_writes(world: World) -> None:
    threads.customer_wrote(world.conversation.id, body="A refund, please.", client_id="1")
    decisions.deny(request(world).id, by=world.sam.actor)
    with pytest.raises(errors.DeniedBefore):
        request(world)
    request(world, input_text='{"orderNumber":"ORD-1042","reason":"late"}')
    ToolApproval.objects.filter(state=State.PENDING).update(state=State.EXPIRED)
    threads.customer_wrote(world.conversation.id, body="Ask again, please.", client_id="2")
    assert request(world).state == State.PENDING


def test_who_approved_is_named_as_published(world: World) -> None:
    workspace_id = world.fernhill.id
    assert Actor(ActorKind.TEAMMATE, workspace_id, name="").approver_name == "A teammate"
    assert Actor(ActorKind.API, workspace_id, name="Backoffice").approver_name == "the API"
    assert Actor(ActorKind.REVIEWER, workspace_id).approver_name == "The reviewer"
