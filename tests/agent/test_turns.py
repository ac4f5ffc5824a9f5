"""What starts a turn and what does not; one at a time; who takes it; what stops it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction

from agent import turns
from agent.rows import Turn, TurnState
from approvals import decisions, expiry
from approvals.models import ToolApproval
from conversations import bulk, handling, threads
from conversations.models import Conversation, Item, Status
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from tests.approvals.requests import request
from tests.world import World
from tools import outcomes, runs
from tools.client import Answer
from tools.models import Starter, ToolRun

Setting = Callable[[World], object]


def answered(body: bytes = b'{"refunded":true}', status: int = 200) -> outcomes.Outcome:
    answer = Answer(
        status=status, headers={}, body=body, text=body.decode(), replaced=False, truncated=False, elapsed_s=0.1
    )
    return outcomes.from_answer(answer, kind="manifest")


def wrote(world: World) -> None:
    threads.customer_wrote(world.conversation.id, body="Hello", client_id=f"m{Item.objects.count()}")


def parked(world: World) -> ToolApproval:
    return request(world)


def approved(world: World) -> ToolApproval:
    approval = decisions.approve(request(world).id, by=world.sam.actor)
    runs.begin(approval.id)
    return approval


def taken(world: World) -> None:
    threads.take_over(world.conversation.id, by=world.sam.actor)


def approved_and_taken(world: World) -> None:
    approved(world)
    taken(world)


def ended_while_taken(world: World) -> None:
    approved_and_taken(world)
    run_ends(world)


def denied_while_taken(world: World) -> None:
    parked(world)
    taken(world)
    deny(world)


def expired_while_taken(world: World) -> None:
    parked(world)
    taken(world)
    expire(world)


def out(world: World, *, started_by: Starter) -> None:
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        run = runs.queue(
            conversation, world.tool("orderStatus"), input_text='{"orderNumber":"ORD-1042"}', started_by=started_by,
            by=world.sam.actor,
        )  # fmt: skip
    runs.begin(run.id)


def out_by_hand(world: World) -> None:
    out(world, started_by=Starter.TEAMMATE)


def out_by_the_agent(world: World) -> None:
    out(world, started_by=Starter.AGENT)


def deny(world: World) -> None:
    decisions.deny(ToolApproval.objects.get().id, by=world.kim.actor, reason="Third refund this month.")


def approve(world: World) -> None:
    decisions.approve(ToolApproval.objects.get().id, by=world.kim.actor)


def expire(world: World) -> None:
    ToolApproval.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert expiry.expire_due() == 1


def remove_endpoint(world: World) -> None:
    assert expiry.expire_with_endpoint(world.endpoint.id) == 1


def run_ends(world: World) -> None:
    assert runs.finish(ToolRun.objects.get().id, answered())


def run_fails(world: World) -> None:
    assert runs.finish(ToolRun.objects.get().id, answered(b"", 500))


def run_is_stuck(world: World) -> None:
    ToolRun.objects.update(started_at=clock.now() - timedelta(minutes=10))
    assert runs.fail_stuck() == 1


def hand_back(world: World) -> None:
    threads.hand_back(world.conversation.id, by=world.sam.actor)


def reply(world: World) -> None:
    threads.reply(world.conversation.id, by=world.sam.actor, body="I will look.")


def note(world: World) -> None:
    threads.note(world.conversation.id, by=world.sam.actor, body="Careful.")


def resolve(world: World) -> None:
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)


def resolved(world: World) -> None:
    resolve(world)


def resolved_unanswered(world: World) -> None:
    wrote(world)
    [turn] = turns.claim("one", limit=1)
    resolve(world)
    with transaction.atomic():
        assert not turns.may_go_on(turn, threads.lock(world.conversation.id))
    Turn.objects.all().delete()


def resolved_with_a_call_out(world: World) -> None:
    approved(world)
    resolve(world)
    run_ends(world)


def reopen(world: World) -> None:
    threads.reopen(world.conversation.id, by=world.sam.actor)


def nothing(world: World) -> None:
    pass


STARTS: list[tuple[Setting, Setting, str]] = [
    (nothing, wrote, "message"),
    (resolved, wrote, "message"),
    (parked, deny, "denied"),
    (approved, run_ends, "run_ended"),
    (approved, run_fails, "run_ended"),
    (approved, run_is_stuck, "run_ended"),
    (out_by_hand, run_is_stuck, "stuck"),
    (ended_while_taken, hand_back, "handed_back"),
    (denied_while_taken, hand_back, "handed_back"),
    (resolved_unanswered, reopen, "handed_back"),
    (resolved_with_a_call_out, reopen, "handed_back"),
]
NON_STARTS: list[tuple[Setting, Setting]] = [
    (taken, wrote),
    (denied_while_taken, nothing),
    (approved_and_taken, run_ends),
    (approved_and_taken, run_is_stuck),
    (taken, hand_back),
    (approved_and_taken, hand_back),
    (expired_while_taken, hand_back),
    (nothing, note),
    (nothing, reply),
    (nothing, taken),
    (nothing, resolve),
    (resolved, reopen),
    (parked, approve),
    (parked, expire),
    (parked, resolve),
    (parked, remove_endpoint),
    (out_by_hand, run_ends),
    (out_by_hand, run_fails),
    (out_by_the_agent, run_ends),
]


def name_of(value: object) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("setting", "event", "because"), STARTS, ids=name_of)
def test_it_starts_a_turn(world: World, setting: Setting, event: Setting, because: str) -> None:
    setting(world)
    assert not Turn.objects.exists()
    event(world)
    turn = Turn.objects.get()
    version = Conversation.objects.get(id=world.conversation.id).version
    assert (turn.state, turn.because) == (TurnState.QUEUED, because)
    assert turn.needs <= version
    assert turn.seen is None


@pytest.mark.parametrize(("setting", "event"), NON_STARTS, ids=name_of)
def test_it_starts_none(world: World, setting: Setting, event: Setting) -> None:
    setting(world)
    event(world)
    assert not Turn.objects.exists()


def test_one_waits_and_one_runs_at_most(world: World) -> None:
    wrote(world)
    wrote(world)
    assert Turn.objects.count() == 1

    [running] = turns.claim("one", limit=10)
    wrote(world)
    wrote(world)
    assert list(Turn.objects.order_by("queued_at").values_list("state", flat=True)) == ["running", "queued"]
    assert turns.claim("two", limit=10) == []

    turns.end([running], TurnState.DONE)
    [after] = turns.claim("two", limit=10)
    assert (after.claimed_by, after.attempts) == ("two", 1)


def test_the_oldest_is_taken_first_and_no_more_than_asked(world: World) -> None:
    others = [threads.start(world.ana) for _ in range(3)]
    for conversation in others:
        threads.customer_wrote(conversation.id, body="Hello", client_id="1")
    assert turns.claim("one", limit=0) == []
    assert [turn.conversation_id for turn in turns.claim("one", limit=2)] == [others[0].id, others[1].id]
    assert [turn.conversation_id for turn in turns.claim("two", limit=2)] == [others[2].id]


def test_a_turn_whose_messages_were_read_by_an_ended_one_ends_without_a_word(world: World) -> None:
    wrote(world)
    [first] = turns.claim("one", limit=1)
    wrote(world)
    version = Conversation.objects.get(id=world.conversation.id).version
    Turn.objects.filter(id=first.id).update(seen=version)
    turns.end([first], TurnState.DONE)

    [second] = turns.claim("one", limit=1)
    with transaction.atomic():
        assert turns.begin([second], bulk.locked([world.conversation.id])) == []
    second.refresh_from_db()
    assert second.state == TurnState.DONE


def test_an_outcome_that_was_read_but_not_told_is_told(world: World) -> None:
    wrote(world)
    [first] = turns.claim("one", limit=1)
    approved(world)
    run_ends(world)
    Turn.objects.filter(id=first.id).update(seen=Conversation.objects.get(id=world.conversation.id).version)
    turns.end([first], TurnState.FAILED)

    [second] = turns.claim("one", limit=1)
    with transaction.atomic():
        assert turns.begin([second], bulk.locked([world.conversation.id])) == [second]


def assigned(world: World) -> None:
    handling.assign(world.conversation.id, by=world.sam.actor, to=world.kim.id)


def handed_over(world: World) -> None:
    """As the API does it, which names nobody."""
    key = Actor(ActorKind.API, world.fernhill.id, id="key", name="Backoffice")
    threads.hand_over(world.conversation.id, by=key)


@pytest.mark.parametrize("take", [taken, reply, assigned, handed_over], ids=name_of)
def test_taking_over_stops_what_runs_and_what_waits(world: World, take: Setting) -> None:
    wrote(world)
    [running] = turns.claim("one", limit=1)
    wrote(world)
    take(world)
    assert list(Turn.objects.values_list("state", flat=True)) == [TurnState.STOPPED] * 2
    with transaction.atomic():
        assert not turns.may_go_on(running, threads.lock(world.conversation.id))


@pytest.mark.parametrize(("meanwhile", "turns_after"), [(nothing, 1), (note, 1), (reply, 0)], ids=name_of)
def test_handed_back_the_agent_answers_what_it_was_stopped_from_unless_someone_did(
    world: World, meanwhile: Setting, turns_after: int
) -> None:
    wrote(world)
    taken(world)
    meanwhile(world)
    hand_back(world)
    assert Turn.objects.filter(state=TurnState.QUEUED).count() == turns_after


def test_a_silent_process_loses_its_turn_and_what_it_does_later_counts_for_nothing(world: World) -> None:
    wrote(world)
    [lost] = turns.claim("one", limit=1)
    turns.beat("one", [lost.id])
    assert turns.claim("two", limit=1) == []

    Turn.objects.update(beat_at=clock.now() - turns.SILENT - timedelta(seconds=1))
    [taken_up] = turns.claim("two", limit=1)
    assert (taken_up.id, taken_up.attempts) == (lost.id, 2)
    with transaction.atomic():
        assert turns.go_on([lost, taken_up], bulk.locked([world.conversation.id])) == [taken_up]
    turns.fail(lost, reason="too late.", apology="Sorry")
    assert world.conversation.items.count() == 1


def test_a_process_that_ends_in_good_order_gives_its_turns_back_at_once(world: World) -> None:
    wrote(world)
    turns.claim("one", limit=1)
    turns.give_back("one")
    [again] = turns.claim("two", limit=1)
    assert again.attempts == 1
