"""Every transition in every state: what the row, the thread, the log, the queue and the agent get, and nothing else."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import transaction

from agent.rows import Turn, TurnState
from approvals import decisions, expiry, jobs
from approvals.models import ExpiredBecause, State, ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind, Status
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind, reviewer
from median_site.lib.errors import DomainError
from team.models import Event
from tests import world as worlds
from tests.approvals.requests import request
from tests.endpoint import shop_endpoint
from tests.world import World
from tools import calls, endpoints, outcomes, runs
from tools.client import Answer, Failure
from tools.models import Endpoint, RunState, Starter, Tool, ToolRun

OnCommit = Callable[..., AbstractContextManager[object]]
Act = Callable[[World, ToolApproval], object]


@dataclass(frozen=True, kw_only=True)
class Then:
    """What a transition leaves behind; by default nothing. `{tool}` in a line is the tool's label."""

    state: str = ""
    lines: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    unread: bool = False
    turn: str = ""
    mark: tuple[int, str] | None = None
    error: tuple[str, str] | None = None


def answer(status: int = 200) -> outcomes.Outcome:
    text = '{"refunded":true}'
    came = Answer(
        status=status, headers={}, body=text.encode(), text=text, replaced=False, truncated=False, elapsed_s=0.1
    )
    return outcomes.from_answer(came, kind="manifest")


# How a request comes into each state. Those "ended" and "removed" are expired; their conversation is open again.


def reviewing(world: World) -> ToolApproval:
    return request(world, tool="refundSmallOrder")


def pending(world: World) -> ToolApproval:
    return request(world)


def passed_on(world: World) -> ToolApproval:
    approval = reviewing(world)
    decisions.pass_on(approval.id, workspace_id=world.fernhill.id, reason="Unusual.")
    return approval


def queued(world: World) -> ToolApproval:
    return decisions.approve(pending(world).id, by=world.sam.actor)


def running(world: World) -> ToolApproval:
    approval = queued(world)
    assert runs.begin(approval.id)
    return approval


def completed(world: World) -> ToolApproval:
    approval = running(world)
    assert runs.finish(approval.id, answer())
    return approval


def failed(world: World) -> ToolApproval:
    approval = running(world)
    assert runs.finish(approval.id, answer(500))
    return approval


def denied(world: World) -> ToolApproval:
    return decisions.deny(pending(world).id, by=world.sam.actor)


def expired(world: World) -> ToolApproval:
    approval = pending(world)
    _its_time_is_up(approval)
    assert expiry.expire_due() == 1
    return approval


def ended(world: World) -> ToolApproval:
    approval = pending(world)
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    threads.reopen(world.conversation.id, by=world.sam.actor)
    return approval


def removed(world: World) -> ToolApproval:
    approval = pending(world)
    assert decisions.expire_all([approval.id], because=ExpiredBecause.ENDPOINT_REMOVED) == 1
    return approval


STATES = [reviewing, pending, passed_on, queued, running, completed, failed, denied, expired, ended, removed]


def _its_time_is_up(approval: ToolApproval) -> None:
    ToolApproval.objects.filter(id=approval.id).update(expires_at=clock.now() - timedelta(seconds=1))


# The transitions.


def approve(world: World, approval: ToolApproval) -> None:
    decisions.approve(approval.id, by=world.kim.actor)


def approve_by_api(world: World, approval: ToolApproval) -> None:
    decisions.approve(approval.id, by=Actor(ActorKind.API, world.fernhill.id, id="key", name="Backoffice"))


def deny(world: World, approval: ToolApproval) -> None:
    decisions.deny(approval.id, by=world.kim.actor, reason="No.")


def reviewer_approves(world: World, approval: ToolApproval) -> None:
    decisions.approve(approval.id, by=reviewer(world.fernhill.id), reason="Fine.")


def reviewer_denies(world: World, approval: ToolApproval) -> None:
    decisions.deny(approval.id, by=reviewer(world.fernhill.id), reason="Not fine.")


def reviewer_passes_on(world: World, approval: ToolApproval) -> None:
    decisions.pass_on(approval.id, workspace_id=world.fernhill.id, reason="Unusual.")


def reviewer_fails(world: World, approval: ToolApproval) -> None:
    decisions.unchecked(approval.id, workspace_id=world.fernhill.id, reason="No answer.")


def twenty_four_hours(world: World, approval: ToolApproval) -> None:
    _its_time_is_up(approval)
    jobs.expire_due()


def resolve(world: World, approval: ToolApproval) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.RESOLVED)


def close(world: World, approval: ToolApproval) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.CLOSED)


def archive(world: World, approval: ToolApproval) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.ARCHIVED)


def remove_endpoint(world: World, approval: ToolApproval) -> None:
    endpoints.remove(world.endpoint.id, by=world.kim.actor)


def switch_off(world: World, approval: ToolApproval) -> None:
    endpoints.switch(approval.tool_name, by=world.kim.actor, on=False)


def run_completes(world: World, approval: ToolApproval) -> None:
    if ToolRun.objects.exists():
        runs.finish(approval.id, answer())


def run_fails(world: World, approval: ToolApproval) -> None:
    if ToolRun.objects.exists():
        runs.finish(
            approval.id,
            outcomes.from_answer(
                Failure(kind="timed_out", status=None, detail="", sent=True, elapsed_s=10.0), kind="manifest"
            ),
        )


def run_may_not_leave(world: World, approval: ToolApproval) -> None:
    if ToolRun.objects.exists():
        runs.refuse(approval.id, outcomes.no_longer_available())


def ten_minutes(world: World, approval: ToolApproval) -> None:
    ToolRun.objects.update(started_at=clock.now() - timedelta(minutes=10))
    jobs.check()


NOTHING = Then()
ALREADY = Then(error=("already_reviewed", "This request has already been reviewed."))
LATE: Mapping[Callable[..., object], Then] = {
    **dict.fromkeys([queued, running, completed, failed, denied], ALREADY),
    expired: Then(error=("expired", "This request expired without a decision.")),
    ended: Then(error=("conversation_ended", "This request expired because the conversation ended.")),
    removed: Then(error=("endpoint_removed", "This request expired because its endpoint was removed.")),
}
DECIDABLE = [reviewing, pending, passed_on]


def decided(then: Then) -> Mapping[Callable[..., object], Then]:
    return {**LATE, **dict.fromkeys(DECIDABLE, then)}


def reviewed(then: Then) -> Mapping[Callable[..., object], Then]:
    return {**LATE, reviewing: then, pending: ALREADY, passed_on: ALREADY}


def passed(line: str, event: str) -> Mapping[Callable[..., object], Then]:
    then = Then(
        state=State.PENDING, lines=(line,), events=(event,), unread=True, turn="left_to_team", mark=(1, "waiting")
    )
    return {reviewing: then}


def ending(word: str) -> Mapping[Callable[..., object], Then]:
    own = Then(lines=(f"Kim {word} the conversation",), events=(f"conversation.{word}",), mark=(0, ""))
    then = Then(
        state=State.EXPIRED,
        lines=(*own.lines, "the request to run {tool} expired because the conversation ended"),
        events=(*own.events, "approval.expired"),
        mark=(0, ""),
    )
    return {**dict.fromkeys(STATES, own), **dict.fromkeys(DECIDABLE, then)}


def expiring(why: str, *events: str) -> Mapping[Callable[..., object], Then]:
    line = f"the request to run {{tool}} expired {why}"
    then = Then(state=State.EXPIRED, lines=(line,), events=(*events, "approval.expired"), mark=(0, ""))
    return {**dict.fromkeys(STATES, Then(events=events)), **dict.fromkeys(DECIDABLE, then)}


def line_of(who: str) -> Then:
    line = f"{who} approved running {{tool}}"
    return Then(state=State.EXECUTING, lines=(line,), events=("approval.approved",), mark=(0, ""))


def refusal_of(who: str) -> Then:
    line = f"{who} declined Median AI’s request to run {{tool}}"
    return Then(state=State.DENIED, lines=(line,), events=("approval.denied",), turn="denied", mark=(0, ""))


DID_NOT_RUN = Then(state=State.FAILED, events=("run.failed",), turn="run_ended", mark=(0, "failed"))
RAN = Then(state=State.COMPLETED, events=("run.completed",), turn="run_ended", mark=(0, ""))
STUCK = Then(
    state=State.FAILED, lines=("{tool} did not run: the call never reported back",), events=("run.stuck",),
    unread=True, turn="run_ended", mark=(0, "failed"),
)  # fmt: skip

# For each transition what it does in which state, and nothing in all others.
TABLE: Mapping[Act, Mapping[Callable[..., object], Then]] = {
    approve: decided(line_of("Kim")),
    approve_by_api: decided(line_of("the API")),
    deny: decided(refusal_of("Kim")),
    reviewer_approves: reviewed(line_of("The reviewer")),
    reviewer_denies: reviewed(refusal_of("The reviewer")),
    reviewer_passes_on: passed("The reviewer passed the request to run {tool} to the team", "approval.passed_on"),
    reviewer_fails: passed("The reviewer could not check the request to run {tool}", "approval.unchecked"),
    twenty_four_hours: expiring("unanswered"),
    resolve: ending("resolved"),
    close: ending("closed"),
    archive: ending("archived"),
    remove_endpoint: expiring("because its endpoint was removed", "endpoint.removed"),
    switch_off: dict.fromkeys(STATES, Then(events=("tool.switched",))),
    run_completes: {running: RAN},
    run_fails: {running: DID_NOT_RUN},
    run_may_not_leave: {queued: DID_NOT_RUN},
    ten_minutes: {running: STUCK},
}


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("act", TABLE, ids=lambda act: act.__name__)
def test_a_transition_does_what_the_table_says_and_nothing_else(
    world: World, act: Act, state: Callable[[World], ToolApproval], django_capture_on_commit_callbacks: OnCommit
) -> None:
    approval = state(world)
    Turn.objects.all().delete()
    before = _seen(world)
    then = TABLE[act].get(state, NOTHING)

    error = None
    with django_capture_on_commit_callbacks(execute=True):
        try:
            act(world, approval)
        except DomainError as raised:
            error = (raised.code, raised.message)

    after = _seen(world)
    assert error == then.error
    assert after.state == (then.state or before.state)
    assert after.lines[len(before.lines) :] == [line.format(tool=approval.tool_label) for line in then.lines]
    assert after.events[len(before.events) :] == list(then.events)
    assert (after.attention != before.attention) == then.unread
    assert after.turns == ([then.turn] if then.turn else [])
    assert after.mark == (then.mark if then.mark is not None else before.mark)
    approves = then.state == State.EXECUTING
    assert after.runs == before.runs + approves
    assert after.cards == before.cards == 1
    if then == NOTHING or then.error:
        assert after == before


@dataclass(frozen=True)
class Seen:
    state: str
    lines: list[str]
    events: list[str]
    attention: int
    version: int
    turns: list[str]
    mark: tuple[int, str]
    runs: int
    cards: int


def _seen(world: World) -> Seen:
    world.conversation.refresh_from_db()
    at = world.conversation
    lines = Item.objects.filter(conversation=at, kind=ItemKind.LINE).order_by("number")
    queued_turns = Turn.objects.filter(conversation=at, state=TurnState.QUEUED)
    return Seen(
        state=ToolApproval.objects.get().state,
        lines=list(lines.values_list("text", flat=True)),
        events=list(Event.objects.order_by("id").values_list("kind", flat=True)),
        attention=at.attention,
        version=at.version,
        turns=list(queued_turns.values_list("because", flat=True)),
        mark=(at.waiting, at.mark),
        runs=ToolRun.objects.count(),
        cards=Item.objects.filter(kind=ItemKind.APPROVAL, ref=ToolApproval.objects.get().id).count(),
    )


async def send(call_id: str) -> bool:
    try:
        return await calls.send(call_id)
    finally:
        await calls.close()


NO_LONGER = "The tool is no longer available."
NO_FIT = "The tool changed after this was requested, and the input no longer fits it."


def _move(world: World, approval: ToolApproval) -> None:
    other, _ = endpoints.add("http://127.0.0.1:9/other", by=world.kim.actor)
    Tool.objects.filter(name="refundOrder").update(endpoint=other)


def _gone_from_the_manifest(world: World, approval: ToolApproval) -> None:
    Tool.objects.filter(name="refundOrder").update(present=False)


def _needs_more(world: World, approval: ToolApproval) -> None:
    schema = '{"type":"object","properties":{"amount":{"type":"number"}},"required":["amount"]}'
    Tool.objects.filter(name="refundOrder").update(input_schema=schema)


@pytest.mark.parametrize("when", ["before it was approved", "after it was approved"])
@pytest.mark.parametrize(
    ("change", "code", "sentence"),
    [
        (switch_off, "no_longer_available", NO_LONGER),
        (_gone_from_the_manifest, "no_longer_available", NO_LONGER),
        (_move, "no_longer_available", NO_LONGER),
        (_needs_more, "no_longer_fits", NO_FIT),
    ],
)
def test_a_tool_that_changed_meanwhile_is_not_called(
    transactional_db: None, change: Act, code: str, sentence: str, when: str
) -> None:
    with shop_endpoint(worlds.SECRET) as endpoint:
        world = worlds.build(endpoint_url=endpoint.url)
        approval = pending(world)
        steps = [change, approve] if when.startswith("before") else [approve, change]
        for step in steps:
            step(world, approval)
        assert asyncio.run(send(approval.id)) is False

    run = ToolRun.objects.get()
    assert (run.state, run.code, run.error, run.started_at) == (RunState.FAILED, code, sentence, None)
    approval.refresh_from_db()
    assert approval.state == State.FAILED
    assert endpoint.calls == []
    world.conversation.refresh_from_db()
    assert (world.conversation.mark, world.conversation.mark_label) == ("failed", "Refund order")
    assert Event.objects.filter(kind="run.failed").count() == 1
    assert Turn.objects.get().because == "run_ended"


def test_a_call_of_the_agent_that_needs_a_sign_off_by_now_does_not_leave(transactional_db: None) -> None:
    with shop_endpoint(worlds.SECRET) as endpoint:
        world = worlds.build(endpoint_url=endpoint.url)
        tool = world.tool("orderStatus")
        with transaction.atomic():
            run = runs.queue(
                threads.lock(world.conversation.id), tool, input_text='{"orderNumber":"ORD-1042"}',
                started_by=Starter.AGENT, turn_id="turn",
            )  # fmt: skip
        Tool.objects.filter(id=tool.id).update(risk="reviewed")
        assert asyncio.run(send(run.id)) is False
        assert endpoint.calls == []
    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.FAILED, NO_LONGER)


def test_an_approved_call_that_cannot_be_signed_fails_at_once(transactional_db: None) -> None:
    with shop_endpoint(worlds.SECRET) as endpoint:
        world = worlds.build(endpoint_url=endpoint.url)
        approval = pending(world)
        approve(world, approval)
        Endpoint.objects.update(sealed_secret="sealed with another installation's secret")
        assert asyncio.run(send(approval.id)) is False
    run = ToolRun.objects.get()
    assert (run.state, run.started_at, endpoint.calls) == (RunState.FAILED, None, [])
    assert run.error == "The tool request failed. Check the result before retrying."
    approval.refresh_from_db()
    assert approval.state == State.FAILED
    assert list(runs.waiting_to_leave()) == []


@pytest.mark.parametrize("change", ["risk", "description"])
def test_a_tool_that_changed_so_that_the_input_still_fits_is_called(transactional_db: None, change: str) -> None:
    with shop_endpoint(worlds.SECRET) as endpoint:
        world = worlds.build(endpoint_url=endpoint.url)
        approval = pending(world)
        Tool.objects.filter(name="refundOrder").update(**{change: "low"})
        approve(world, approval)
        assert asyncio.run(send(approval.id)) is True
    approval.refresh_from_db()
    assert (approval.state, approval.risk) == (State.COMPLETED, "high")
    assert [call.body["toolCallId"] for call in endpoint.calls] == [approval.id]


def test_who_has_the_thread_is_told_by_the_card_alone(world: World) -> None:
    """While a teammate has it, outcomes start no turn; they wait for the thread to be handed back."""
    approval = running(world)
    threads.take_over(world.conversation.id, by=world.kim.actor)
    runs.finish(approval.id, answer())
    assert Turn.objects.filter(state=TurnState.QUEUED).count() == 0
    threads.hand_back(world.conversation.id, by=world.kim.actor)
    assert Turn.objects.get(state=TurnState.QUEUED).because == "handed_back"
