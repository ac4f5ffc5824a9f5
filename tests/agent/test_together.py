"""Many turns at once: in as many statements as one, and what stops or breaks one of them touches no other."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from agent import beginnings, endings, steps, turns
from agent.context import Context
from agent.endings import Ending
from agent.models.base import Answer, ToolCall
from agent.rows import Turn, TurnState
from agent.steps import Asked
from conversations import threads
from conversations.models import Conversation, Item, ItemKind
from team.models import Event
from tests.world import World
from tools.models import ToolRun

Statements = Callable[[int], AbstractContextManager[object]]

# With the savepoint's two, which are BEGIN and COMMIT where there is no test around them.
CLAIM, BEGIN, REPLY = 4 + 2, 11 + 2, 8 + 2
# The calls that leave at once are written together, too.
STEP, SO_FAR = 9 + 2, 3 + 2


def waiting(world: World, number: int) -> list[Conversation]:
    conversations = [threads.start(world.ana) for _ in range(number)]
    for conversation in conversations:
        threads.customer_wrote(conversation.id, body="Where is my order?", client_id="1")
    return conversations


def answer(held: list[Turn], begun: list[Context | None]) -> None:
    said = [Ending(turn, f"To {turn.id}", "", start.outcomes) for turn, start in zip(held, begun, strict=True) if start]
    endings.reply(said)


def replies(conversations: list[Conversation]) -> list[list[str]]:
    kept = Item.objects.filter(kind=ItemKind.AGENT)
    return [list(kept.filter(conversation=row).values_list("text", flat=True)) for row in conversations]


@pytest.mark.parametrize("number", [1, 20])
def test_a_turn_of_one_step_takes_so_many_statements_whatever_their_number(
    world: World, django_assert_num_queries: Statements, number: int
) -> None:
    conversations = waiting(world, number)
    with django_assert_num_queries(CLAIM):
        held = turns.claim("one", limit=number)
    with django_assert_num_queries(BEGIN):
        begun = beginnings.begin(held)
    with django_assert_num_queries(REPLY):
        answer(held, begun)
    assert replies(conversations) == [[f"To {turn.id}"] for turn in held]
    assert set(Turn.objects.values_list("state", flat=True)) == {TurnState.DONE}
    assert Event.objects.filter(kind="message.agent").count() == number
    rows = Conversation.objects.filter(id__in=[row.id for row in conversations])
    assert set(rows.values_list("version", "excerpt")) == {(2, f"To {turn.id}") for turn in held}


def calls_order(turn: Turn, start: Context) -> Asked:
    call = ToolCall("1", "orderStatus", '{"orderNumber":"ORD-1042"}')
    return Asked(turn, 0, Answer("", (call,), "tool_calls", "test"))


@pytest.mark.parametrize("number", [1, 20])
def test_a_step_with_a_call_takes_so_many_more_whatever_their_number(
    world: World, django_assert_num_queries: Statements, number: int
) -> None:
    waiting(world, number)
    held = turns.claim("one", limit=number)
    asked = [calls_order(turn, start) for turn, start in zip(held, beginnings.begin(held), strict=True) if start]
    with django_assert_num_queries(STEP):
        made = steps.write(asked)
    with django_assert_num_queries(SO_FAR):
        told = steps.so_far([(turn, [step]) for turn, step in zip(held, made, strict=True) if step])
    assert [[message.role for message in each or []] for each in told] == [["assistant", "tool"]] * number
    assert list(ToolRun.objects.order_by("queued_at").values_list("turn_id", flat=True)) == [turn.id for turn in held]


def test_a_step_of_a_thread_taken_over_is_not_written_and_the_others_are(world: World) -> None:
    conversations = waiting(world, 2)
    held = turns.claim("one", limit=2)
    asked = [calls_order(turn, start) for turn, start in zip(held, beginnings.begin(held), strict=True) if start]
    threads.take_over(conversations[0].id, by=world.sam.actor)
    assert [step and step.turn_id for step in steps.write(asked)] == [None, held[1].id]
    assert [run.turn_id for run in ToolRun.objects.all()] == [held[1].id]


def test_a_thread_taken_over_gets_no_answer_and_the_others_theirs(world: World) -> None:
    conversations = waiting(world, 3)
    held = turns.claim("one", limit=3)
    threads.take_over(conversations[0].id, by=world.sam.actor)
    begun = beginnings.begin(held)
    assert [start is not None for start in begun] == [False, True, True]
    threads.take_over(conversations[1].id, by=world.sam.actor)
    answer(held, begun)
    assert replies(conversations) == [[], [], [f"To {held[2].id}"]]
    states = Turn.objects.order_by("queued_at").values_list("state", flat=True)
    assert list(states) == [TurnState.STOPPED, TurnState.STOPPED, TurnState.DONE]


def test_a_turn_that_another_process_took_up_is_not_answered_by_the_first(world: World) -> None:
    conversations = waiting(world, 2)
    held = turns.claim("one", limit=2)
    begun = beginnings.begin(held)
    Turn.objects.filter(id=held[0].id).update(claimed_by="two", attempts=2)
    answer(held, begun)
    assert replies(conversations) == [[], [f"To {held[1].id}"]]
    assert Turn.objects.get(id=held[0].id).state == TurnState.RUNNING


def test_each_reads_its_own_conversation(world: World) -> None:
    conversations = waiting(world, 2)
    threads.customer_wrote(conversations[1].id, body="And where to?", client_id="2")
    begun = beginnings.begin(turns.claim("one", limit=2))
    said = [[message.text for message in start.messages if message.role == "user"] for start in begun if start]
    assert said == [["Where is my order?"], ["Where is my order?", "And where to?"]]
