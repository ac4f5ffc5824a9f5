"""The agent process around its turns: take-overs, messages that come meanwhile, failures of models and of the database,
and its own end."""

import asyncio
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection, connections

from agent import errands, turns
from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Errand, ErrandKind, Turn, TurnState
from agent.turn import PERSON_WILL_ANSWER
from approvals import decisions
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Conversation, ItemKind, Status
from median_site.lib import clock
from team.models import ChainHead, Event
from tests import agent_process
from tests.agent.conftest import Talk, told
from tests.model_server import Reply, calls, message, says
from tests.waiting import until
from tools.models import RunState, ToolRun

ORDER = '{"orderNumber":"ORD-1042"}'
REFUND = '{"orderNumber":"ORD-1042","reason":"damaged"}'


def held(reply: Reply) -> tuple[Reply, threading.Event]:
    """The same answer, given only once the event is set."""
    hold = threading.Event()
    return Reply(reply.body, delay_s=10, hold=hold), hold


def said_to(request: object) -> list[tuple[str, str]]:
    return [(m["role"], m["content"]) for m in request.messages[1:]]  # type: ignore[attr-defined]


def take_over_while_it_thinks(ana: Talk, thought: Reply) -> None:
    reply, go_on = held(thought)
    ana.model.script([reply])
    ana.write()
    ana.model.wait_for(1)
    threads.take_over(ana.world.conversation.id, by=ana.world.sam.actor)
    go_on.set()
    # The process is idle again when it has answered the next customer.
    other = threads.start(ana.world.ana)
    ana.model.script([says("Hello.")])
    threads.customer_wrote(other.id, body="Hi", client_id="1")
    until(lambda: other.items.filter(kind=ItemKind.AGENT).exists())


def test_a_reply_thought_of_during_a_take_over_is_not_sent(ana: Talk) -> None:
    take_over_while_it_thinks(ana, says("It arrives tomorrow."))
    assert ana.replies() == []
    assert Turn.objects.get(conversation=ana.world.conversation).state == TurnState.STOPPED


def test_calls_asked_for_during_a_take_over_neither_leave_nor_park(ana: Talk) -> None:
    take_over_while_it_thinks(ana, calls(("orderStatus", ORDER), ("refundOrder", REFUND)))
    assert not ToolRun.objects.exists()
    assert not ToolApproval.objects.exists()
    assert ana.company.calls == []


def test_taken_over_while_a_call_is_out_the_model_is_not_asked_again(ana: Talk) -> None:
    hold = ana.company.hold("orderStatus")
    ana.model.script([calls(("orderStatus", ORDER)), says("It arrives tomorrow.")])
    ana.write()
    ana.company.wait_for("orderStatus")
    threads.take_over(ana.world.conversation.id, by=ana.world.sam.actor)
    hold.set()
    until(lambda: ToolRun.objects.get().state == RunState.COMPLETED)
    threads.hand_back(ana.world.conversation.id, by=ana.world.sam.actor)
    assert ana.settle(turns=2) == ["It arrives tomorrow."]
    assert len(ana.model.requests) == 2
    # What the stopped turn found out is not lost.
    assert [m["role"] for m in ana.model.requests[1].messages[1:]] == ["user", "assistant", "tool"]
    assert len(ana.company.calls) == 1


@pytest.mark.parametrize("ended_by", [Status.CLOSED, Status.ARCHIVED])
def test_opened_again_while_it_thinks_the_customer_gets_one_answer(ana: Talk, ended_by: Status) -> None:
    thought, go_on = held(calls(("refundOrder", REFUND)))
    ana.model.script([thought, says("It arrives tomorrow.")])
    ana.write()
    ana.model.wait_for(1)
    threads.end(ana.world.conversation.id, by=ana.world.sam.actor, to=ended_by)
    threads.reopen(ana.world.conversation.id, by=ana.world.sam.actor)
    go_on.set()
    assert ana.settle(turns=2) == ["It arrives tomorrow."]
    assert not ToolApproval.objects.exists()


def test_handed_back_while_a_call_is_out_the_model_is_told_what_came_of_it(ana: Talk) -> None:
    hold = ana.company.hold("resendInvoice")
    ana.company.answers = {"resendInvoice": (200, b'{"sent":true}')}
    ana.model.script([calls(("resendInvoice", ORDER)), says("It is sent.")])
    ana.write()
    ana.company.wait_for("resendInvoice")
    threads.take_over(ana.world.conversation.id, by=ana.world.sam.actor)
    threads.hand_back(ana.world.conversation.id, by=ana.world.sam.actor)
    until(lambda: Turn.objects.filter(because="handed_back", seen__isnull=False).exists())
    hold.set()
    assert ana.settle(turns=2) == ["It is sent."]
    assert told(ana.model.requests[-1]) == [{"sent": True}]


def test_a_database_that_only_reads_for_a_while_loses_no_result(ana: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """As one does from which another machine takes over."""
    hold = ana.company.hold("orderStatus")
    ana.model.script([calls(("orderStatus", ORDER)), says("It arrives tomorrow.")])
    ana.write()
    ana.company.wait_for("orderStatus")
    reads = f'alter database "{connection.settings_dict["NAME"]}" set default_transaction_read_only to '
    with connection.cursor() as cursor:
        cursor.execute(f"{reads}on")
        hold.set()
        until(lambda: "could not be recorded, trying again" in caplog.text)
        cursor.execute(f"{reads}off")
    assert ana.settle(turns=1) == ["It arrives tomorrow."]
    assert ToolRun.objects.get().state == RunState.COMPLETED


def test_a_call_that_the_database_held_up_is_waited_for(ana: Talk, caplog: pytest.LogCaptureFixture) -> None:
    """What its claim reads is locked for longer than the database has patience."""
    thought, go_on = held(calls(("orderStatus", ORDER)))
    ana.model.script([thought, says("It arrives tomorrow.")])
    ana.write()
    ana.model.wait_for(1)
    patience = f'alter database "{connection.settings_dict["NAME"]}" set statement_timeout to '
    with connection.cursor() as cursor, psycopg.connect(agent_process.database_url()) as other:
        other.execute("lock table team_signingkey")
        cursor.execute(f"{patience}300")
        go_on.set()
        until(lambda: "The database was away during turn" in caplog.text)
        cursor.execute(f"{patience}0")
    Turn.objects.update(beat_at=clock.now() - turns.SILENT)
    assert ana.settle(turns=1) == ["It arrives tomorrow."]
    assert told(ana.model.requests[-1]) == [{}]
    assert len(ana.company.calls) == 1


def test_what_comes_while_a_turn_runs_starts_one_more_which_ends_on_it(ana: Talk) -> None:
    first, go_on = held(says("It arrives tomorrow."))
    ana.model.script([first, says("To Berlin, at noon.")])
    ana.write("Where is ORD-1042?")
    ana.model.wait_for(1)
    ana.write("And where to?")
    ana.write("And when?")
    go_on.set()
    assert ana.settle(turns=2) == ["It arrives tomorrow.", "To Berlin, at noon."]
    assert said_to(ana.model.requests[0]) == [("user", "Where is ORD-1042?")]
    assert said_to(ana.model.requests[1]) == [
        ("user", "Where is ORD-1042?"),
        ("assistant", "It arrives tomorrow."),
        ("user", "And where to?\n\nAnd when?"),
    ]


def test_two_outcomes_during_a_turn_are_told_in_one_more(ana: Talk) -> None:
    ana.ask(calls(("refundOrder", REFUND), ("extendTrial", "{}")), says("The team looks at both."))
    thinking, go_on = held(says("Sure."))
    ana.model.script([thinking, says("The refund was declined, the trial extended.")])
    ana.write("Thanks.")
    ana.model.wait_for(3)
    sam = ana.world.sam.actor
    decisions.deny(ToolApproval.objects.get(tool_name="refundOrder").id, by=sam)
    decisions.approve(ToolApproval.objects.get(tool_name="extendTrial").id, by=sam)
    until(lambda: ToolApproval.objects.get(tool_name="extendTrial").state == State.COMPLETED)
    go_on.set()
    ana.settle(turns=3)
    _, told = said_to(ana.model.requests[3])[-1]
    assert told.count("<median-notice>") == 2
    assert told.find('"status":"denied"') < told.find('"status":"completed"')
    assert set(ToolApproval.objects.values_list("told_in_turn", flat=True)) == {
        Turn.objects.latest("queued_at").id,
    }


def test_each_outcome_starts_one_turn_whichever_is_decided_first(ana: Talk) -> None:
    def waiting(tool: str) -> str:
        return ToolApproval.objects.get(tool_name=tool, state=State.PENDING).id

    sam = ana.world.sam.actor
    ana.ask(calls(("refundOrder", REFUND)), says("One."))
    ana.model.script([calls(("extendTrial", "{}")), says("Two.")])
    decisions.approve(waiting("refundOrder"), by=sam)
    ana.settle(turns=2)
    ana.model.script([calls(("cancelSubscription", "{}"), ("closeAccount", "{}")), says("Three.")])
    decisions.deny(waiting("extendTrial"), by=sam)
    ana.settle(turns=3)
    ana.model.script([says("Four.")])
    decisions.approve(waiting("closeAccount"), by=sam)
    ana.settle(turns=4)
    ana.model.script([says("Five.")])
    decisions.deny(waiting("cancelSubscription"), by=sam)
    assert ana.settle(turns=5) == ["One.", "Two.", "Three.", "Four.", "Five."]
    assert [call.body["tool"] for call in ana.company.calls] == ["refundOrder", "closeAccount"]


def test_a_model_that_fails_once_is_asked_once_more(ana: Talk) -> None:
    assert len(ana.ask(Reply(status=503), says("Hello."))) == 2
    assert ana.replies() == ["Hello."]


def test_a_model_that_asks_for_a_pause_gets_it(ana: Talk) -> None:
    began = time.monotonic()
    assert len(ana.ask(Reply(status=429, headers={"retry-after": "0.4"}), says("Hello."))) == 2
    assert ana.replies() == ["Hello."]
    assert time.monotonic() - began >= 0.4


def test_a_model_that_fails_twice_leaves_an_apology_a_line_and_an_unread_thread(ana: Talk) -> None:
    ana.ask(Reply(status=503), message(""))
    assert ana.replies() == [PERSON_WILL_ANSWER]
    conversation = Conversation.objects.get()
    [line] = conversation.items.filter(kind=ItemKind.LINE)
    assert line.text == "Median AI could not answer: The model answered with nothing."
    assert conversation.attention == line.number
    assert Turn.objects.get().state == TurnState.FAILED


def test_a_model_that_does_not_answer_in_time_is_given_up_on(ana: Talk, settings: object) -> None:
    settings.MEDIAN_MODEL_DEADLINE = 0.2  # type: ignore[attr-defined]
    never = threading.Event()
    ana.ask(Reply(delay_s=10, hold=never), Reply(b"{}", drip_s=10))
    never.set()
    assert ana.replies() == [PERSON_WILL_ANSWER]
    [line] = Conversation.objects.get().items.filter(kind=ItemKind.LINE)
    assert line.text == "Median AI could not answer: The model did not answer within 0.2 seconds."


def test_a_turn_whose_processes_keep_dying_ends_with_an_apology(talk: Talk) -> None:
    talk.write()
    Turn.objects.update(attempts=turns.ATTEMPTS)
    with agent_process.in_thread(OpenAIModel(talk.model.url, key="", name="test")):
        assert talk.settle(turns=1) == [PERSON_WILL_ANSWER]
    assert talk.model.requests == []


def test_a_database_that_drops_every_connection_costs_nothing_but_time(ana: Talk) -> None:
    thinking, go_on = held(says("It arrives tomorrow."))
    ana.model.script([thinking])
    ana.write()
    ana.model.wait_for(1)
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    go_on.set()
    assert ana.settle(turns=1) == ["It arrives tomorrow."]
    ana.ask(says("You are welcome."), text="Thanks.")
    assert ana.replies() == ["It arrives tomorrow.", "You are welcome."]


def test_what_breaks_of_one_kind_holds_up_none_of_another(talk: Talk) -> None:
    with agent_process.in_thread(DemoModel()), connection.cursor() as cursor:
        cursor.execute("alter table agent_turn rename to away")
        try:
            errands.ask(ErrandKind.LESSON, workspace_id=talk.world.fernhill.id, subject_id=talk.world.conversation.id)
            until(lambda: not Errand.objects.exists())
        finally:
            cursor.execute("alter table away rename to agent_turn")


def test_two_processes_answer_each_of_twenty_customers_once(talk: Talk) -> None:
    conversations = [threads.start(talk.world.ana) for _ in range(20)]
    talk.model.script([says("Hello.")] * 20)
    model = [OpenAIModel(talk.model.url, key="", name="test") for _ in range(2)]
    with agent_process.in_thread(model[0]), agent_process.in_thread(model[1]):
        for conversation in conversations:
            threads.customer_wrote(conversation.id, body="Hi", client_id="1")
        until(lambda: Turn.objects.filter(state=TurnState.DONE).count() == 20)
    assert len(talk.model.requests) == 20
    assert all(row.items.filter(kind=ItemKind.AGENT).count() == 1 for row in conversations)
    assert set(Turn.objects.values_list("attempts", flat=True)) == {1}


def test_sixteen_claims_at_once_share_out_the_turns(talk: Talk) -> None:
    for _ in range(40):
        threads.customer_wrote(threads.start(talk.world.ana).id, body="Hi", client_id="1")

    def claim(number: int) -> list[str]:
        try:
            return [turn.id for turn in turns.claim(f"process {number}", limit=5)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as pool:
        claimed = [turn_id for taken in pool.map(claim, range(16)) for turn_id in taken]
    assert len(claimed) == len(set(claimed)) == 40


def test_told_to_end_it_finishes_its_calls_and_another_takes_its_turns_at_once(talk: Talk) -> None:
    settings = {
        "MEDIAN_MODEL_URL": talk.model.url,
        "MEDIAN_MODEL_NAME": "test",
        "MEDIAN_WRITEUP_URL": "http://127.0.0.1:9/v1",
    }
    hold = talk.company.hold("orderStatus")
    talk.company.answers = {"orderStatus": (200, b'{"status":"shipped"}')}
    talk.model.script([calls(("orderStatus", ORDER))])
    with agent_process.as_process(**settings) as first:
        talk.write()
        until(lambda: Turn.objects.get().state == TurnState.RUNNING, within_s=30)
        talk.company.wait_for("orderStatus")
        first.send_signal(signal.SIGTERM)
        threading.Timer(0.5, hold.set).start()
        assert first.wait(15) == 0
    assert ToolRun.objects.get().state == RunState.COMPLETED
    turn = Turn.objects.get()
    assert turn.state == TurnState.RUNNING

    talk.model.script([says("It is on its way.")])
    with agent_process.in_thread(OpenAIModel(talk.model.url, key="", name="test"), writer=DemoModel()):
        assert talk.settle(turns=1) == ["It is on its way."]
    assert len(talk.company.calls) == 1


def test_a_process_that_is_idle_ends_at_once(talk: Talk) -> None:
    async def start_and_stop() -> None:
        process = agent_process.AgentProcess(OpenAIModel(talk.model.url, key="", name="test"))
        running = asyncio.create_task(process.run())
        await asyncio.sleep(0)
        process.stop()
        await asyncio.wait_for(running, 5)

    asyncio.run(start_and_stop())


def test_the_logs_chain_follows_what_was_written(talk: Talk) -> None:
    with agent_process.in_thread(DemoModel()):
        talk.write()
        talk.settle(turns=1)
        until(lambda: not Event.objects.filter(position=None).exists())
    assert ChainHead.objects.get(workspace=talk.world.fernhill).position == Event.objects.latest("position").position
