"""How few statements a decision, a call and a quiet sweep are. Each list is one commit: no BEGIN stands in it."""

import asyncio
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agent.rows import Turn, TurnState
from approvals import decisions, expiry
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Conversation, Item, ItemKind
from team import api_keys
from team.models import Event
from tests.approvals.requests import INPUT, request
from tests.approvals.test_transitions import answer
from tests.endpoint import Endpoint
from tests.world import World
from tools import by_hand, calls, runs
from tools.models import RunState, ToolRun
from tools.writeups import WriteUp

pytestmark = pytest.mark.django_db(transaction=True)

LOCK, WRITE = "select from", "with recursive"


def statements(work: Callable[[], object]) -> list[str]:
    """The first two words of each, once it is sure that nothing else was sent, no BEGIN either."""
    said: list[str] = []

    def note(execute: Callable[..., object], sql: str, *rest: object) -> object:
        said.append(" ".join(sql.split()[:2]))
        return execute(sql, *rest)

    with CaptureQueriesContext(connection) as captured, connection.execute_wrapper(note):
        work()
    assert len(captured) == len(said)
    return said


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
def test_a_decision_is_a_lock_and_one_statement(world: World, decide: Callable[..., ToolApproval]) -> None:
    approval = request(world)
    assert statements(lambda: decide(approval.id, by=world.sam.actor)) == [LOCK, WRITE]


def test_a_claim_is_two_statements_and_a_result_a_lock_and_one(world: World) -> None:
    approval = decisions.approve(request(world).id, by=world.sam.actor)
    assert statements(lambda: calls._claim([approval.id])) == ["select run.workspace_id,", "update tools_toolrun"]
    run = ToolRun.objects.get()
    assert run.state == RunState.RUNNING
    assert statements(lambda: runs.finish(run.id, answer(), run=run)) == [LOCK, WRITE]


def approved(world: World, number: int) -> list[str]:
    """Calls that are to leave, each in a conversation of its own."""
    asked = []
    for _ in range(number):
        with transaction.atomic():
            conversation = threads.lock(threads.start(world.ana).id)
            tool, agent = world.tool("refundOrder"), threads.agent_actor(conversation)
            asked.append(decisions.request(conversation, tool=tool, input_text=INPUT, turn_id="turn", by=agent).id)
    return [decisions.approve(each, by=world.sam.actor).id for each in asked]


def test_many_calls_are_claimed_and_their_results_recorded_in_as_few(world: World) -> None:
    ids = approved(world, 20)
    assert statements(lambda: calls._claim(ids)) == ["select run.workspace_id,", "update tools_toolrun"]
    over = [(run, answer()) for run in ToolRun.objects.filter(state=RunState.RUNNING)]
    assert len(over) == 20
    assert statements(lambda: runs.finish_all(over)) == [LOCK, WRITE]
    assert set(ToolApproval.objects.values_list("state", flat=True)) == {State.COMPLETED}
    assert Event.objects.filter(kind="run.completed").count() == 20
    versions = dict(Conversation.objects.filter(approvals__id__in=ids).values_list("id", "version"))
    asked = Turn.objects.filter(state=TurnState.QUEUED, because="run_ended")
    assert dict(asked.values_list("conversation", "needs")) == versions
    cards = Item.objects.filter(kind=ItemKind.APPROVAL, ref__in=ids)
    assert dict(cards.values_list("conversation", "version")) == versions


def test_results_that_differ_are_recorded_together_each_once(world: World) -> None:
    done, failed, over, kept = approved(world, 4)
    calls._claim([done, failed, over])
    rows = ToolRun.objects.in_bulk()
    assert runs.finish(over, answer())
    results = [(done, answer()), (failed, answer(500)), (over, answer(500)), (kept, answer())]
    assert runs.finish_all([(rows[id], outcome) for id, outcome in results]) == [True, True, False, False]
    states = dict(ToolApproval.objects.values_list("id", "state"))
    assert states == {done: "completed", failed: "failed", over: "completed", kept: "executing"}
    assert list(Event.objects.filter(kind="run.failed").values_list("subject_id", flat=True)) == [failed]
    assert Turn.objects.filter(state=TurnState.QUEUED).count() == 3


def test_many_are_written_up_in_as_few_and_each_once(world: World) -> None:
    ids = approved(world, 3)
    calls._claim(ids)
    runs.finish_all([(run, answer()) for run in ToolRun.objects.filter(state=RunState.RUNNING)])
    over = list(ToolRun.objects.order_by("id"))
    runs.write_up_all([(over[0], WriteUp("Refunded"))])
    assert statements(lambda: runs.write_up_all([(run, None) for run in over])) == [LOCK, WRITE]
    assert [run.headline for run in ToolRun.objects.order_by("id")] == [
        "Refunded",
        "Refund order: refunded",
        "Refund order: refunded",
    ]
    versions = dict(Conversation.objects.filter(approvals__id__in=ids).values_list("id", "version"))
    cards = Item.objects.filter(kind=ItemKind.APPROVAL, ref__in=ids)
    assert dict(cards.values_list("conversation", "version")) == versions


def test_what_a_teammate_ran_is_written_up_on_its_card(world: World) -> None:
    run = by_hand.run(world.conversation.id, "subscription", {}, by=world.sam.actor)
    assert runs.begin(run.id)
    assert runs.finish(run.id, answer())
    over = ToolRun.objects.get()
    runs.write_up_all([(over, None)])
    version = Conversation.objects.get(id=world.conversation.id).version
    assert Item.objects.filter(kind=ItemKind.RUN).values_list("ref", "version").get() == (run.id, version)
    runs.write_up_all([(over, None)])  # it has one
    assert Conversation.objects.get(id=world.conversation.id).version == version


def test_a_claim_that_is_asked_for_twice_is_given_once(world: World) -> None:
    first, second = approved(world, 2)
    claimed = calls._claim([first, second, first])
    assert [claim and claim[0].id for claim in claimed] == [first, second, None]
    assert calls._claim([first, second]) == [None, None]


def test_a_call_that_breaks_holds_up_none_beside_it(live_world: World, endpoint: Endpoint) -> None:
    ids = approved(live_world, 3)

    async def send() -> list[bool | BaseException]:
        try:
            return await asyncio.gather(*map(calls.send, [*ids, "call_gone", *ids]), return_exceptions=True)
        finally:
            await calls.close()

    *sent, gone, again, _, _ = asyncio.run(send())
    assert sent == [True] * 3
    assert isinstance(gone, ToolRun.DoesNotExist)
    assert again is False
    assert len(endpoint.calls_of("refundOrder")) == 3
    assert set(ToolRun.objects.values_list("state", flat=True)) == {RunState.COMPLETED}


def test_a_press_adds_the_session_its_person_and_the_card(world: World, browser_of: Callable[..., Client]) -> None:
    browser = browser_of(world.sam)
    path, headers = f"/approvals/{request(world).id}/approve", {"X-Median-As": world.sam.id, "HX-Request": "true"}
    made = statements(lambda: browser.post(path, headers=headers))
    assert made == ["select session_data", "select person.password,", LOCK, WRITE, "select approval.workspace_id,"]


def test_a_program_decides_in_as_few(world: World) -> None:
    """The key and its count are one statement; the answer reads the run that was queued."""
    _, key = api_keys.create(world.fernhill, name="Backoffice", scopes=["decide"])
    program = Client(headers={"Authorization": f"Bearer {key}"})
    path = f"/v1/tool-approvals/{request(world).id}/approve"
    assert statements(lambda: program.post(path)) == ["with key", LOCK, WRITE, "select run.workspace_id,"]


def test_a_sweep_with_nothing_due_is_one_statement(world: World) -> None:
    request(world)
    assert statements(expiry.expire_due) == ["select (select"]


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
def test_the_server_keeps_its_plan(world: World, decide: Callable[..., ToolApproval]) -> None:
    first, second = request(world), request(world, tool="cancelSubscription", input_text="{}")
    decide(first.id, by=world.sam.actor)
    decide(second.id, by=world.sam.actor)
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_prepared_statements where statement like 'with recursive%'")
        assert cursor.fetchone()[0] >= 1
