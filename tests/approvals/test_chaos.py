"""Customers write, teammates and the reviewer decide while processes and connections are killed at random; then the
rows are read.

Twenty seconds, or CHAOS_S; what is killed when is drawn from CHAOS_SEED, which a failure shows.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count

import pytest
from django.db import InterfaceError, OperationalError, connection, connections, transaction
from django.db.models import Count, Max

from agent.rows import Turn, TurnState
from approvals import decisions, jobs
from approvals.errors import AlreadyReviewed
from approvals.models import DECIDABLE, OPEN, Review, ReviewOutcome, ReviewState, State, ToolApproval
from approvals.reviewer.verdict import QUESTIONS
from conversations import threads
from conversations.models import Conversation, Customer, Item, ItemKind, Status
from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, NotFound
from team.models import Event
from tests import agent_process
from tests.approvals.reviewing import LOOKED_UP_IN, reviewed
from tests.endpoint import Endpoint
from tests.model_server import Reply, Request, model_server, says
from tests.waiting import until
from tests.world import World
from tools.models import RunState, ToolRun

SECONDS = float(os.environ.get("CHAOS_S", "20"))
SEED = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
CONVERSATIONS = 12
AGENTS = 2
WISHES = [
    "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund.",
    "Please cancel my subscription, it is too expensive.",
    "Could you extend my trial by seven days?",
    "Where is my order ORD-1042?",
    "Yes please",
    "Thanks!",
]
ENDS = ["approval.approved", "approval.denied", "approval.expired"]


def dice_of(seed: float) -> random.Random:
    return random.Random(seed)  # noqa: S311  # decides what breaks, keeps no secret


@dataclass
class Chaos:
    """What goes on beside the killing, until `over`. `faults` are things that must never be seen."""

    world: World
    threads: list[str]
    over: threading.Event = field(default_factory=threading.Event)
    faults: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def write(self, dice: random.Random) -> None:
        """A customer: sends again under the same id until it is known to have arrived."""
        ids = list(Conversation.objects.values_list("id", flat=True))
        while True:
            message = {"body": dice.choice(WISHES), "client_id": str(dice.random())}
            arrives = partial(threads.customer_wrote, dice.choice(ids), **message)
            while self.tries(arrives):
                pass
            self.done["written"] += 1
            if self.over.wait(dice.uniform(0.1, 0.6)):
                return

    def park(self, dice: random.Random) -> None:
        """Customers of their own, each of whom says yes to a call that the reviewer has to check."""
        for number in count(1_000):
            self.tries(partial(self.park_one, number))
            if self.over.wait(dice.uniform(0.2, 0.6)):
                return

    def park_one(self, number: int) -> None:
        with transaction.atomic():
            ana = Customer.objects.create(workspace=self.world.fernhill, subject=f"user_{number}", verified=True)
            reviewed(replace(self.world, ana=ana, conversation=threads.start(ana)))
        self.done["parked"] += 1

    def decide(self, dice: random.Random) -> None:
        """A teammate, who decides what waits and now and then resolves a conversation."""
        by = dice.choice([self.world.sam, self.world.kim]).actor
        while not self.over.wait(dice.uniform(0.05, 0.3)):
            self.tries(lambda: self.decide_one(dice, by))

    def decide_one(self, dice: random.Random, by: Actor) -> None:
        states = DECIDABLE if dice.random() < 0.2 else [State.PENDING]
        waiting = list(ToolApproval.objects.filter(state__in=states))
        if not waiting:
            return
        approval = dice.choice(waiting)
        press = dice.choice([decisions.approve, decisions.approve, decisions.deny])
        try:
            if dice.random() < 0.2:
                self.handle(dice.choice([approval.conversation_id, *self.threads]), dice, by)
            press(approval.id, by=by)
            self.done["decided"] += 1
        except DomainError as error:
            self.done[error.code] += 1

    def handle(self, conversation_id: str, dice: random.Random, by: Actor) -> None:
        """Resolve a conversation, perhaps to open it again at once, or take it from the agent and give it back."""
        if dice.random() < 0.5:
            threads.end(conversation_id, by=by, to=Status.RESOLVED)
            if dice.random() < 0.5:
                threads.reopen(conversation_id, by=by)
        else:
            threads.take_over(conversation_id, by=by)
            threads.hand_back(conversation_id, by=by)
        self.done["handled"] += 1

    def pry(self, dice: random.Random) -> None:
        """Mallory of another workspace, and somebody who counts what is open."""
        while not self.over.wait(0.1):
            self.tries(self.look)

    def look(self) -> None:
        per = ToolApproval.objects.filter(state__in=OPEN).values("conversation")
        most = per.annotate(count=Count("id"), tools=Count("tool_name", distinct=True))
        self.faults += [f"open: {row}" for row in most if row["count"] > 3 or row["count"] != row["tools"]]
        one = ToolApproval.objects.filter(state__in=DECIDABLE).first()
        if one:
            try:
                decisions.approve(one.id, by=self.world.mallory.actor)
                self.faults.append(f"Mallory approved {one.id}")
            except NotFound:
                self.done["not Mallory's"] += 1

    def tries(self, work: Callable[[], object]) -> bool:
        """Whether the database went away before the end was known."""
        try:
            work()
        except (OperationalError, InterfaceError):
            connection.close()
            self.done["connections lost"] += 1
            return True
        return False


@contextmanager
def going_on(chaos: Chaos, dice: random.Random) -> Iterator[None]:
    def work(role: Callable[[random.Random], None], own: random.Random) -> None:
        try:
            role(own)
        except Exception as error:  # noqa: BLE001  # whatever it was, the test shows it
            chaos.faults.append(repr(error))
        finally:
            connections.close_all()

    roles = [chaos.write, chaos.write, chaos.write, chaos.park, chaos.decide, chaos.decide, chaos.pry]
    people = [threading.Thread(target=work, args=(role, dice_of(dice.random()))) for role in roles]
    for person in people:
        person.start()
    try:
        yield
    finally:
        chaos.over.set()
        for person in people:
            person.join(30)
            assert not person.is_alive()


@dataclass
class Judge:
    """The reviewer's model: mostly believes, now and then refuses, dawdles, breaks or talks nonsense."""

    dice: random.Random

    def __call__(self, request: Request) -> Reply:
        decision = self.dice.choice(["approve", "approve", "approve", "deny", "escalate", "nonsense", "broken"])
        if decision == "broken":
            return Reply(status=500)
        answer = "I approve." if decision == "nonsense" else self.verdict(decision, request.messages[1]["content"])
        return replace(says(answer), delay_s=self.dice.choice([0, 0, 0.3, 2]))

    def verdict(self, decision: str, material: str) -> str:
        """The verdict, with the quotes that it takes."""
        parts = re.findall(r"\[(\w+) ([^\n]+)\]\n(.*?)\n\[/\1\]", material, re.DOTALL)
        asked = [text for _, title, text in parts if title.endswith("by the agent")]
        said = [text for _, title, text in parts if "by the customer" in title]
        calls = [text.split("\n")[1] for _, title, text in parts if title.startswith("another call")]
        quotes = {"said_yes": said[-1], "as_discussed": asked[-1], "own_account": calls[-1]}
        findings = {name: {"holds": True, "quote": quotes.get(name, "")} for name in QUESTIONS}
        return json.dumps({"verdict": decision, "reason": "As it seems to me.", "findings": findings})


class Agents:
    """Agent processes that are killed and started again."""

    def __init__(self, stack: ExitStack, *, judge: str) -> None:
        self._stack = stack
        self._judge = {"MEDIAN_REVIEWER_URL": judge, "MEDIAN_REVIEWER_NAME": "judge"}
        self.processes = [self._start() for _ in range(AGENTS)]

    def _start(self) -> subprocess.Popen[bytes]:
        return self._stack.enter_context(agent_process.as_process(MEDIAN_DATABASE_POOL="true", **self._judge))

    def kill_one(self, dice: random.Random) -> None:
        place = dice.randrange(AGENTS)
        self.processes[place].send_signal(signal.SIGKILL)
        self.processes[place].wait(10)
        self.processes[place] = self._start()


def cut_connections(share: float) -> int:
    """End that share of all connections but this one, on the server's side. Gives how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and random() < %s",
            [share],
        )
        return int(cursor.fetchone()[0])


def is_quiet() -> bool:
    """Nothing is under way any more, but for calls whose process died."""
    turns = Turn.objects.filter(state__in=[TurnState.QUEUED, TurnState.RUNNING])
    reviews = Review.objects.exclude(state=ReviewState.DONE)
    return not turns.exists() and not reviews.exists() and not ToolRun.objects.filter(state=RunState.QUEUED).exists()


def settle(world: World) -> None:
    """Decide what still waits, and let the hourly check find the calls that were lost."""
    for approval in ToolApproval.objects.filter(state__in=DECIDABLE):
        with suppress(AlreadyReviewed):  # the reviewer is still at work
            decisions.approve(approval.id, by=world.sam.actor)
    until(is_quiet, within_s=90, every_s=0.2)
    for approval in ToolApproval.objects.filter(state__in=DECIDABLE):
        decisions.deny(approval.id, by=world.kim.actor)
    until(is_quiet, within_s=90, every_s=0.2)
    ToolRun.objects.filter(state=RunState.RUNNING).update(started_at=clock.now() - timedelta(minutes=10))
    jobs.check()
    until(is_quiet, within_s=90, every_s=0.2)


def check(world: World, endpoint: Endpoint) -> None:
    """The invariants, from the rows and from what the endpoint got."""
    approvals, runs = ToolApproval.objects.in_bulk(), ToolRun.objects.exclude(turn_id=LOOKED_UP_IN).in_bulk()
    got = Counter(call.body["toolCallId"] for call in endpoint.calls)
    assert set(got.values()) <= {1}
    assert set(got) <= set(runs)
    assert {run.state for run in runs.values()} <= {RunState.COMPLETED, RunState.FAILED}
    assert {id for id, run in runs.items() if run.state == RunState.COMPLETED} <= set(got)
    assert {approval.state for approval in approvals.values()} <= {
        State.COMPLETED, State.FAILED, State.DENIED, State.EXPIRED, *DECIDABLE
    }  # fmt: skip

    ends = Counter(Event.objects.filter(kind__in=ENDS).values_list("subject_id", flat=True))
    assert ends == {id: 1 for id, approval in approvals.items() if not approval.is_decidable}
    lines = Item.objects.filter(kind=ItemKind.LINE, ref__in=ENDS).count()
    assert lines == ends.total()
    ran = {id for id, approval in approvals.items() if approval.state in {State.COMPLETED, State.FAILED}}
    assert ran == {id for id, run in runs.items() if run.approval}
    for call in endpoint.calls:
        asked = runs[call.body["toolCallId"]].input
        assert b'"input":' + asked.encode() + b"," in call.raw
    assert all(runs[id].input == approvals[id].input for id in ran)
    assert [id for id in ran if runs[id].state != approvals[id].state] == []

    approvers = {call.body["toolCallId"]: call.body["context"].get("approvedBy") for call in endpoint.calls}
    assert [id for id in ran & set(got) if approvers[id] != runs[id].approver_name] == []
    check_reviews(approvals, approvers)
    for conversation in Conversation.objects.all():
        check_thread(conversation)


def check_reviews(approvals: dict[str, ToolApproval], approvers: dict[str, str | None]) -> None:
    """Each review ended once, and its request tells the same: what the reviewer decided, or that somebody else did."""
    reviews = Review.objects.in_bulk()
    assert set(reviews) == {id for id, approval in approvals.items() if approval.risk == "reviewed"}
    assert {row.state for row in reviews.values()} == {ReviewState.DONE}
    by_reviewer = {id for id, approval in approvals.items() if approval.decided_by_kind == "reviewer"}
    own = {ReviewOutcome.APPROVED, ReviewOutcome.DENIED}
    assert {id for id, row in reviews.items() if row.outcome in own} == by_reviewer
    for id in by_reviewer:
        assert (approvals[id].state == State.DENIED) == (reviews[id].outcome == ReviewOutcome.DENIED)
    assert {id for id, name in approvers.items() if name == "The reviewer"} <= by_reviewer
    left = {id for id, row in reviews.items() if row.outcome in {ReviewOutcome.PASSED, ReviewOutcome.UNCHECKED}}
    assert left == {id for id, approval in approvals.items() if approval.review}


def check_thread(conversation: Conversation) -> None:
    """Everything has a place of its own; the customer's last word was answered, or the team sees or has it."""
    numbers = list(conversation.items.order_by("number").values_list("number", flat=True))
    assert len(set(numbers)) == len(numbers)
    assert not numbers or numbers[-1] <= conversation.version
    latest = conversation.items.filter(kind=ItemKind.CUSTOMER).aggregate(number=Max("number"))["number"]
    answered = conversation.items.filter(kind=ItemKind.AGENT, number__gt=latest or 0).exists()
    ended = conversation.status != Status.OPEN
    of_team = conversation.attention >= (latest or 0) or not conversation.agent_has_it
    assert latest is None or answered or of_team or ended
    waiting = ToolApproval.objects.filter(conversation=conversation, state=State.PENDING).count()
    assert conversation.waiting == waiting
    assert not (ended and waiting)


@pytest.fixture
def dice() -> Iterator[random.Random]:
    try:
        yield dice_of(SEED)
    finally:
        sys.stdout.write(f"CHAOS_SEED={SEED}\n")


def test_whatever_is_killed_each_call_leaves_at_most_once_and_nobody_is_forgotten(
    live_world: World, endpoint: Endpoint, dice: random.Random
) -> None:
    started = [threads.start(live_world.ana).id for _ in range(CONVERSATIONS)]
    chaos = Chaos(live_world, started)
    with ExitStack() as stack:
        server = stack.enter_context(model_server())
        server.script([Judge(dice_of(dice.random()))] * 10_000)
        agents = Agents(stack, judge=server.url)
        threads.customer_wrote(started[0], body=WISHES[0], client_id="first")
        until(lambda: Item.objects.filter(kind=ItemKind.AGENT).exists(), within_s=60)
        with going_on(chaos, dice):
            ends_at = time.monotonic() + SECONDS
            while time.monotonic() < ends_at:
                time.sleep(dice.uniform(0.3, 2.5))
                if dice.random() < 0.5:
                    agents.kill_one(dice)
                else:
                    cut_connections(dice.choice([0.2, 0.5, 1.0]))
        settle(live_world)
    assert chaos.faults == []
    assert chaos.done["written"] > 0 < chaos.done["decided"]
    outcomes = Counter(Review.objects.values_list("outcome", flat=True))
    assert outcomes["approved"] > 0 < outcomes["dropped"]
    check(live_world, endpoint)
