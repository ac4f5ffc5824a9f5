"""Sixty-four people decide the same request at the same moment, on connections of their own."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connections

from approvals import decisions, expiry
from approvals.errors import AlreadyReviewed
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind, Status
from median_site.lib.errors import DomainError
from team.models import Event, Role, Teammate
from tests import world as worlds
from tests.approvals.requests import request
from tests.world import World
from tools import runs
from tools.models import ToolRun

PEOPLE = 64


@pytest.fixture
def shared_world(transactional_db: None) -> World:
    return worlds.build()


def at_once(*tasks: object) -> list[object]:
    """Run every task in a thread and a connection of its own, all let go at once; results or errors in order."""
    gate = threading.Barrier(len(tasks))

    def run(task: object) -> object:
        gate.wait()
        try:
            return task()
        except DomainError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def test_sixty_four_answers_make_one_decision_and_at_most_one_call(shared_world: World) -> None:
    world = shared_world
    people = [worlds.teammate(world.fernhill, f"P {n}", f"p{n}@fernhill.example", Role.MEMBER) for n in range(PEOPLE)]
    approval = request(world)

    def press(person: Teammate, number: int) -> object:
        decide = decisions.approve if number % 2 else decisions.deny
        return lambda: decide(approval.id, by=person.actor)

    results = at_once(*(press(person, number) for number, person in enumerate(people)))

    errors = Counter(type(result) for result in results if isinstance(result, DomainError))
    assert errors == {AlreadyReviewed: PEOPLE - 1}
    decided = ToolApproval.objects.get()
    winner = next(number for number, result in enumerate(results) if isinstance(result, ToolApproval))
    assert decided.decided_by_id == people[winner].id
    assert decided.state == (State.EXECUTING if winner % 2 else State.DENIED)
    assert ToolRun.objects.count() == (1 if winner % 2 else 0)
    assert Item.objects.filter(kind=ItemKind.LINE, ref__in=["approval.approved", "approval.denied"]).count() == 1
    assert Event.objects.filter(kind__in=["approval.approved", "approval.denied"]).count() == 1


def test_sixty_four_processes_begin_one_run_once(shared_world: World) -> None:
    approval = request(shared_world)
    decisions.approve(approval.id, by=shared_world.sam.actor)
    results = at_once(*([lambda: runs.begin(approval.id)] * PEOPLE))
    assert results.count(True) == 1


@pytest.mark.parametrize("round_number", range(5))
def test_a_decision_and_an_ending_conversation_never_both_win(shared_world: World, round_number: int) -> None:
    world = shared_world
    approval = request(world)
    at_once(
        *([lambda: decisions.approve(approval.id, by=world.sam.actor)] * 4),
        *([lambda: threads.end(world.conversation.id, by=world.kim.actor, to=Status.RESOLVED)] * 4),
    )
    decided = ToolApproval.objects.get()
    assert decided.state in {State.EXECUTING, State.EXPIRED}
    assert ToolRun.objects.count() == (1 if decided.state == State.EXECUTING else 0)
    assert Event.objects.filter(kind__in=["approval.approved", "approval.expired"]).count() == 1


def test_two_sweeps_at_once_expire_a_request_once(shared_world: World) -> None:
    request(shared_world)
    ToolApproval.objects.update(expires_at=ToolApproval.objects.get().requested_at)
    results = at_once(*([expiry.expire_due] * 8))
    assert sum(results) == 1
    assert Event.objects.filter(kind="approval.expired").count() == 1


def test_the_fourth_request_of_a_race_is_refused(shared_world: World) -> None:
    world = shared_world
    tools = ["refundOrder", "cancelSubscription", "extendTrial", "closeAccount"]
    at_once(*(partial(request, world, tool=name, input_text="{}") for name in tools * 3))
    assert ToolApproval.objects.count() == 3
    assert ToolApproval.objects.values("tool_name").distinct().count() == 3
