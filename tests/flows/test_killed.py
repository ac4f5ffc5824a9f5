"""The agent process is killed with -9 on either side of a call and within a turn: nothing leaves twice or is lost."""

import signal
import subprocess
import threading
from collections.abc import Callable
from datetime import timedelta

from django.db import connection
from django.test import Client

from agent.rows import Turn, TurnState
from approvals import decisions, jobs
from approvals.models import State, ToolApproval
from conversations.models import ItemKind
from median_site.lib import clock
from team.models import Teammate
from tests import agent_process
from tests.endpoint import Endpoint
from tests.flows.conftest import Chat
from tests.model_server import Reply, calls, model_server, says
from tests.waiting import until
from tests.world import World
from tools.models import RunState, ToolRun

SignIn = Callable[[Teammate], Client]
STUCK = "The tool returned no result. Check whether the action completed before retrying."


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def request_of(ana: Chat) -> ToolApproval:
    ana.write("Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund.")
    until(lambda: len(ana.replies()) == 1)
    return ToolApproval.objects.get()


def test_killed_before_sending_another_process_sends_it_once(live_world: World, endpoint: Endpoint, ana: Chat) -> None:
    with agent_process.as_process() as first:
        approval = request_of(ana)
        kill(first)
    decisions.approve(approval.id, by=live_world.sam.actor)
    assert ToolRun.objects.get(id=approval.id).state == RunState.QUEUED

    with agent_process.as_process():
        until(lambda: len(ana.replies()) == 2)

    assert len(endpoint.calls_of("refundOrder")) == 1
    assert ToolApproval.objects.get().state == State.COMPLETED


def test_killed_after_sending_it_is_never_sent_again_and_the_check_fails_it(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    answer = endpoint.hold("refundOrder")
    with agent_process.as_process() as first:
        approval = request_of(ana)
        decisions.approve(approval.id, by=live_world.sam.actor)
        endpoint.wait_for("refundOrder")
        kill(first)
    answer.set()

    with agent_process.as_process():
        ana.write("Is there any news?")
        until(lambda: len(ana.replies()) == 2)
        assert ToolRun.objects.get(id=approval.id).state == RunState.RUNNING
        assert jobs.check() == {"stuck": 0, "expired": 0, "presses": 0}

        ToolRun.objects.filter(id=approval.id).update(started_at=clock.now() - timedelta(minutes=10))
        assert jobs.check() == {"stuck": 1, "expired": 0, "presses": 0}
        until(lambda: len(ana.replies()) == 3)

    run = ToolRun.objects.get(id=approval.id)
    assert (run.state, run.error) == (RunState.FAILED, STUCK)
    assert ToolApproval.objects.get().state == State.FAILED
    lines = ana.conversation.items.filter(kind=ItemKind.LINE).values_list("text", flat=True)
    assert "Refund order did not run: the call never reported back" in lines
    assert len(endpoint.calls_of("refundOrder")) == 1


def test_killed_while_the_model_thinks_another_process_answers_once(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    never = threading.Event()
    with model_server() as server:
        model = {"MEDIAN_MODEL_URL": server.url, "MEDIAN_MODEL_NAME": "test"}
        server.script([Reply(delay_s=10, hold=never), says("It arrives tomorrow.")])
        with agent_process.as_process(**model) as first:
            ana.write("Where is my order?")
            server.wait_for(1)
            kill(first)
        with agent_process.as_process(**model):
            until(lambda: ana.replies(), within_s=40)
            until(lambda: Turn.objects.get().state == TurnState.DONE)
        never.set()
    assert ana.replies() == ["It arrives tomorrow."]
    assert Turn.objects.get().attempts == 2


def test_killed_between_a_low_call_and_its_result_the_turn_goes_on_without_calling_again(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    answer = endpoint.hold("orderStatus")
    with model_server() as server:
        model = {"MEDIAN_MODEL_URL": server.url, "MEDIAN_MODEL_NAME": "test"}
        server.script([calls(("orderStatus", '{"orderNumber":"ORD-1042"}')), says("I could not look it up.")])
        with agent_process.as_process(**model) as first:
            ana.write("Where is my order?")
            endpoint.wait_for("orderStatus")
            kill(first)
        answer.set()
        ToolRun.objects.update(started_at=clock.now() - timedelta(seconds=30))
        with agent_process.as_process(**model):
            until(lambda: ana.replies(), within_s=40)
        told = [message for message in server.requests[-1].messages if message["role"] == "tool"]
    assert ana.replies() == ["I could not look it up."]
    assert len(endpoint.calls) == 1
    assert [STUCK in message["content"] for message in told] == [True]


def test_connections_that_end_while_a_call_is_out_lose_neither_its_result_nor_the_customers_answer(
    live_world: World, endpoint: Endpoint, ana: Chat
) -> None:
    answer = endpoint.hold("refundOrder")
    with agent_process.as_process(MEDIAN_DATABASE_POOL="true"):
        approval = request_of(ana)
        decisions.approve(approval.id, by=live_world.sam.actor)
        endpoint.wait_for("refundOrder")
        with connection.cursor() as cursor:
            cursor.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        answer.set()
        until(lambda: len(ana.replies()) == 2, within_s=40)
    assert ToolApproval.objects.get().state == State.COMPLETED
    assert len(endpoint.calls_of("refundOrder")) == 1
