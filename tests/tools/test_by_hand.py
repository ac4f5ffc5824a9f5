"""Runs by hand: refused in the published words, sent at once under the name of who pressed, kept from the agent."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections, transaction

from agent import context
from agent.models.demo import DemoModel
from agent.rows import Turn
from approvals import jobs
from conversations import bulk, threads
from conversations.models import Item, ItemKind, Status
from median_site.dashboard.sentences import sentence
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError, NotFound
from team.models import Event
from tests import agent_process
from tests import world as worlds
from tests.endpoint import shop_endpoint
from tests.waiting import until
from tests.world import World
from tools import by_hand, endpoints, runs
from tools.models import RunState, Starter, Tool, ToolRun

REFUND = {"orderNumber": "ORD-1042", "reason": "damaged"}
LOST = "The tool returned no result. Check whether the action completed before retrying."


def the_api(world: World) -> Actor:
    return Actor(ActorKind.API, world.fernhill.id, id="key", name="Backoffice")


def run_by_sam(world: World, tool: str = "refundOrder", value: object = REFUND) -> ToolRun:
    return by_hand.run(world.conversation.id, tool, value, by=world.sam.actor)


def told(world: World) -> str:
    """Everything that the agent would be given now."""
    turn = Turn(workspace=world.fernhill, conversation=world.conversation, because="test", queued_at=clock.now())
    with transaction.atomic():
        [read] = context.build([turn], bulk.locked([world.conversation.id]))
    return str(read.messages)


@pytest.mark.parametrize("status", [Status.OPEN, Status.RESOLVED, Status.CLOSED])
@pytest.mark.parametrize("tool", ["orderStatus", "resendInvoice", "refundSmallOrder", "refundOrder"])
def test_any_risk_runs_without_sign_off_in_any_conversation_that_is_not_archived(
    world: World, tool: str, status: Status
) -> None:
    if status != Status.OPEN:
        threads.end(world.conversation.id, by=world.kim.actor, to=status)
    events, items = Event.objects.count(), Item.objects.count()

    run = run_by_sam(world, tool, REFUND if "refund" in tool else {"orderNumber": "ORD-1042"})

    assert ToolRun.objects.get() == run
    assert (run.state, run.started_by, run.by_id) == (RunState.QUEUED, Starter.TEAMMATE, world.sam.id)
    assert (run.approver_name, run.approval, run.turn_id) == ("Sam Okafor", None, "")
    assert list(runs.waiting_to_leave()) == [run]
    card = Item.objects.get(kind=ItemKind.RUN)
    assert (card.ref, card.conversation) == (run.id, world.conversation)
    assert (Event.objects.count(), Item.objects.count()) == (events, items + 1)
    world.conversation.refresh_from_db()
    assert (world.conversation.attention, world.conversation.status) == (0, status)
    assert Turn.objects.count() == 0


def _archive(world: World) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.ARCHIVED)


def _switch_off(world: World) -> None:
    endpoints.switch("refundOrder", by=world.kim.actor, on=False)


def _remove_endpoint(world: World) -> None:
    endpoints.remove(world.endpoint.id, by=world.kim.actor)


def _three_out(world: World) -> None:
    for _ in range(3):
        run_by_sam(world, "subscription", {})


ARCHIVED = "Move this conversation out of the archive before running a tool."
OFF = "Refund order is unavailable or disabled. Check its settings in Agent > Tools."
THREE = "Three tools are already running in this conversation. Wait for one to finish."
REFUSED = [
    ("refundOrder", REFUND, [_archive], "archived", 409, None, ARCHIVED),
    ("refundOrder", REFUND, [_switch_off], "tool_unavailable", 409, None, OFF),
    ("refundOrder", REFUND, [_remove_endpoint], "tool_unavailable", 409, None, OFF),
    ("noSuchTool", {}, [], "tool_unavailable", 409, None, OFF.replace("Refund order", "noSuchTool")),
    ("orderStatus", {}, [], "invalid_input", 422, "orderNumber", "orderNumber is needed to run this."),
    (
        "orderStatus", {"orderNumber": 1042}, [], "invalid_input", 422, "orderNumber",
        "orderNumber must be a string, not the number 1042.",
    ),
    (
        "orderStatus", {"orderNumber": "ORD-1", "speed": "fast"}, [], "invalid_input", 422, "speed",
        "speed is not a field of this tool.",
    ),
    ("refundOrder", REFUND, [_three_out], "too_many_running", 409, None, THREE),
    # Several reasons at once: the first of the published order is given.
    ("refundOrder", {}, [_three_out, _switch_off, _archive], "archived", 409, None, ARCHIVED),
    ("refundOrder", {}, [_three_out, _switch_off], "tool_unavailable", 409, None, OFF),
    ("orderStatus", {}, [_three_out], "invalid_input", 422, "orderNumber", "orderNumber is needed to run this."),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "value", "before", "code", "status", "field", "sentence"), REFUSED)
def test_what_cannot_run_is_refused_in_the_published_words_and_leaves_nothing(
    world: World, tool: str, value: object, before: list[Callable[[World], None]],
    code: str, status: int, field: str | None, sentence: str,
) -> None:  # fmt: skip
    for step in before:
        step(world)
    counted = (ToolRun.objects.count(), Event.objects.count(), Item.objects.count())

    with pytest.raises(DomainError) as raised:
        run_by_sam(world, tool, value)

    error = raised.value
    assert (error.code, error.status, error.field, error.message) == (code, status, field, sentence)
    assert (ToolRun.objects.count(), Event.objects.count(), Item.objects.count()) == counted


def test_the_conversation_and_tools_of_another_workspace_are_not_there(world: World) -> None:
    with pytest.raises(NotFound):
        by_hand.run(world.conversation.id, "refundOrder", REFUND, by=world.mallory.actor)
    world.conversation.workspace = world.elsewhere
    world.conversation.save()
    with pytest.raises(by_hand.Unavailable) as raised:
        by_hand.run(world.conversation.id, "refundOrder", REFUND, by=world.mallory.actor)
    assert raised.value.message == OFF.replace("Refund order", "refundOrder")
    assert ToolRun.objects.count() == 0


def test_one_that_is_over_makes_room_and_the_agents_own_calls_take_none(world: World) -> None:
    _three_out(world)
    runs.refuse(ToolRun.objects.earliest("queued_at").id, runs.outcomes.no_longer_available())
    ToolRun.objects.create(
        workspace=world.fernhill, conversation=world.conversation, tool_name="orderStatus", state=RunState.RUNNING,
        started_by=Starter.AGENT, queued_at=clock.now(),
    )  # fmt: skip
    run_by_sam(world)
    with pytest.raises(by_hand.TooManyRunning):
        by_hand.run(world.conversation.id, "refundOrder", REFUND, by=the_api(world))


def test_of_sixteen_at_once_three_run(transactional_db: None) -> None:
    world = worlds.build()
    gate = threading.Barrier(16)

    def press(number: int) -> str:
        gate.wait()
        try:
            return by_hand.run(
                world.conversation.id, "subscription", {}, by=the_api(world) if number % 2 else world.sam.actor
            ).state
        except by_hand.TooManyRunning as error:
            return error.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as pool:
        results = Counter(pool.map(press, range(16)))

    assert results == {"queued": 3, "too_many_running": 13}
    assert ToolRun.objects.count() == Item.objects.filter(kind=ItemKind.RUN).count() == 3


def test_the_endpoint_gets_the_exact_input_the_subject_and_the_name_of_who_ran_it(transactional_db: None) -> None:
    with shop_endpoint(worlds.SECRET) as endpoint:
        world = worlds.build(endpoint_url=endpoint.url)
        with agent_process.in_thread(DemoModel()):
            by_sam = run_by_sam(world)
            endpoint.wait_for("refundOrder")
            by_api = by_hand.run(world.conversation.id, "orderStatus", {"orderNumber": "ORD-1042"}, by=the_api(world))
            endpoint.wait_for("orderStatus")
            until(lambda: not ToolRun.objects.filter(headline="").exists())

    assert [call.body for call in endpoint.calls] == [
        _wire(world, "refundOrder", by_sam, REFUND, risk="high", by="Sam Okafor"),
        _wire(world, "orderStatus", by_api, {"orderNumber": "ORD-1042"}, risk="low", by="the API"),
    ]
    ended = Event.objects.filter(kind__startswith="run.").order_by("id")
    assert list(ended.values_list("kind", "subject_id", "actor_kind", "actor_id", "actor_name")) == [
        ("run.completed", by_sam.id, "teammate", world.sam.id, "Sam Okafor"),
        ("run.completed", by_api.id, "api", "key", "Backoffice"),
    ]
    assert [sentence(event, agent="Median AI") for event in ended] == [
        "Sam ran Refund order", "The API ran Order status",
    ]  # fmt: skip
    assert Turn.objects.count() == 0
    world.conversation.refresh_from_db()
    assert (world.conversation.attention, world.conversation.mark) == (0, "")
    assert by_sam.id not in told(world)
    assert "ORD-1042" not in told(world)


def _wire(world: World, tool: str, run: ToolRun, value: object, *, risk: str, by: str) -> object:
    visitor = {"verified": True, "externalId": "user_123", "email": "ana@example.com", "name": "Ana Souza"}
    about = {"conversationId": world.conversation.id, "risk": risk, "approvedBy": by, "visitor": visitor}
    return {"tool": tool, "toolCallId": run.id, "input": value, "context": about}


def test_an_integral_number_leaves_as_an_integer(world: World) -> None:
    schema = '{"type":"object","properties":{"days":{"type":"integer"}}}'
    Tool.objects.filter(name="extendTrial").update(input_schema=schema)
    assert run_by_sam(world, "extendTrial", {"days": 7.0}).input == '{"days":7}'


def test_a_run_that_never_reports_back_is_the_one_that_the_agent_hears_of(world: World) -> None:
    run = run_by_sam(world)
    assert runs.begin(run.id)
    assert jobs.check()["stuck"] == 0
    ToolRun.objects.update(started_at=clock.now() - timedelta(minutes=10))

    assert jobs.check()["stuck"] == 1
    assert jobs.check()["stuck"] == 0

    lines = Item.objects.filter(kind=ItemKind.LINE)
    assert [line.text for line in lines] == ["Refund order did not run: the call never reported back"]
    world.conversation.refresh_from_db()
    assert world.conversation.attention == lines.get().number
    assert Turn.objects.get().because == "stuck"
    assert told(world).count(LOST) == 1
    assert run_by_sam(world).state == RunState.QUEUED


@pytest.mark.parametrize("status", [Status.RESOLVED, Status.ARCHIVED])
def test_a_stuck_run_of_an_ended_conversation_is_told_the_team_but_starts_no_turn(world: World, status: Status) -> None:
    run = run_by_sam(world)
    runs.begin(run.id)
    threads.end(world.conversation.id, by=world.kim.actor, to=status)
    ToolRun.objects.update(started_at=clock.now() - timedelta(minutes=10))
    assert jobs.check()["stuck"] == 1
    world.conversation.refresh_from_db()
    assert world.conversation.attention == Item.objects.get(ref="run.stuck").number
    assert Turn.objects.count() == 0


def test_a_run_whose_transaction_is_undone_never_leaves(world: World) -> None:
    with transaction.atomic():
        run_by_sam(world)
        transaction.set_rollback(True)
    assert ToolRun.objects.count() == 0
    assert list(runs.waiting_to_leave()) == []


@pytest.mark.django_db(transaction=True)
def test_sent_twice_at_once_is_one_run(world: World) -> None:
    together = threading.Barrier(6)

    def press(number: int) -> str:
        together.wait()
        by = world.sam.actor if number < 4 else world.kim.actor
        try:
            return by_hand.run(world.conversation.id, "refundOrder", REFUND, by=by, client_id="form-1").id
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        ids = list(pool.map(press, range(6)))
    assert (len(set(ids[:4])), len(set(ids[4:])), len(set(ids))) == (1, 1, 2)
    assert ToolRun.objects.count() == Item.objects.filter(kind=ItemKind.RUN).count() == 2


def test_sent_again_it_is_the_run_already_there_and_another_input_is_refused(world: World) -> None:
    def send(value: dict[str, str]) -> ToolRun:
        return by_hand.run(world.conversation.id, "refundOrder", value, by=world.sam.actor, client_id="form-1")

    first = send(REFUND)
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.ARCHIVED)
    assert send(REFUND) == first
    with pytest.raises(by_hand.AlreadySent, match="This form was sent with another input"):
        send({**REFUND, "orderNumber": "ORD-1043"})
    assert ToolRun.objects.count() == 1
