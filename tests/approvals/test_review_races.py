"""A teammate decides at the very moment of the verdict, on another connection: one of them, never both."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

from django.db import connections

from approvals import decisions
from approvals.errors import AlreadyReviewed
from approvals.models import Review, ReviewOutcome, ReviewState, State, ToolApproval
from approvals.reviewer import review
from approvals.reviewer.verdict import Verdict, parse
from conversations import threads
from median_site.lib.errors import DomainError
from team.models import Event
from tests import world as worlds
from tests.approvals.reviewing import claimed, reviewed, verdict
from tests.world import World
from tools.models import ToolRun

ROUNDS = 50
ANSWERS = ("approve", "deny", "escalate", "none")


def at_once(*tasks: Callable[[], object]) -> list[object]:
    """Run every task in a thread and a connection of its own, all let go at once; results or errors in order."""
    gate = threading.Barrier(len(tasks))

    def run(task: Callable[[], object]) -> object:
        gate.wait()
        try:
            return task()
        except DomainError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(run, tasks))


def answer_to(decision: str, material: object) -> Verdict | str:
    return "No verdict." if decision == "none" else parse(verdict(decision, "Fine.")(material))


def one_round(world: World, *, decision: str, person: object) -> ToolApproval:
    """Let `person` and the reviewer go at once, and check that one decided."""
    world.conversation = threads.start(world.ana)
    approval = reviewed(world)
    row = claimed()
    material, _ = review.start(approval.id)
    answer = answer_to(decision, material)
    results = at_once(
        lambda: person(approval.id, by=world.sam.actor),
        lambda: review.conclude(row, answer, material, model="m"),
    )
    approval.refresh_from_db()
    kinds = Counter(Event.objects.filter(subject_id=approval.id).values_list("kind", flat=True))
    assert kinds["approval.approved"] + kinds["approval.denied"] == 1
    assert kinds["approval.passed_on"] + kinds["approval.unchecked"] <= 1
    assert ToolRun.objects.filter(id=approval.id).count() == kinds["approval.approved"]
    assert approval.state == (State.EXECUTING if kinds["approval.approved"] else State.DENIED)
    assert isinstance(results[0], AlreadyReviewed) == (approval.decided_by_kind == "reviewer")
    assert results[1] is None
    return approval


def test_fifty_rounds_of_a_teammate_against_the_verdict(transactional_db: None) -> None:
    world = worlds.build()
    people = cycle([decisions.approve, decisions.deny])
    deciders: Counter[str] = Counter()
    for number, person in zip(range(ROUNDS), people, strict=False):
        approval = one_round(world, decision=ANSWERS[number // 2 % 4], person=person)
        deciders[approval.decided_by_kind] += 1
        approval.delete()  # or the next one would be asked for again
    assert sum(deciders.values()) == ROUNDS
    assert Review.objects.count() == 0


def stop_round(world: World) -> None:
    """Ana takes her yes back while an approval is on its way."""
    world.conversation = threads.start(world.ana)
    approval = reviewed(world)
    row = claimed()
    material, _ = review.start(approval.id)
    answer = answer_to("approve", material)
    at_once(
        lambda: threads.customer_wrote(world.conversation.id, body="Stop, I want to keep it!", client_id="3"),
        lambda: review.conclude(row, answer, material, model="m"),
    )
    approval.refresh_from_db()
    row.refresh_from_db()
    if approval.state == State.EXECUTING:
        line = world.conversation.items.get(ref="approval.approved")
        assert line.number < world.conversation.items.get(ref="3").number
        assert row.outcome == ReviewOutcome.APPROVED
    else:
        assert (approval.state, row.state) == (State.REVIEWING, ReviewState.QUEUED)
    approval.delete()


def test_fifty_rounds_of_a_customer_who_says_stop_against_an_approval(transactional_db: None) -> None:
    world = worlds.build()
    for _ in range(ROUNDS):
        stop_round(world)
