"""Turns that end with an answer: said together, in one transaction and a few statements for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from agent import turns
from agent.rows import Turn, TurnState
from conversations import bulk, threads
from conversations.bulk import Reply
from conversations.models import Conversation


@dataclass(frozen=True, slots=True)
class Ending:
    """What a turn answers, the demo model's name if it did, and the requests that this tells of, each by its state."""

    turn: Turn
    text: str
    model: str
    outcomes: Mapping[str, str]


def reply(endings: Sequence[Ending]) -> list[None]:
    """Say it to the customers, but not where a teammate has the thread by now; and know which outcomes were told."""
    with transaction.atomic():
        conversations = bulk.locked(ending.turn.conversation_id for ending in endings)
        going = set(turns.go_on([ending.turn for ending in endings], conversations))
        said = [ending for ending in endings if ending.turn in going]
        if said:
            bulk.agents_replied([_reply(ending, conversations) for ending in said])
            _told(said)
            turns.end([ending.turn for ending in said], TurnState.DONE)
    return [None] * len(endings)


def _reply(ending: Ending, conversations: Mapping[str, Conversation]) -> Reply:
    conversation = conversations[ending.turn.conversation_id]
    agent = threads.agent_actor(conversation)
    return Reply(conversation.id, agent, body=ending.text, ref=ending.turn.id, model=ending.model)


def _told(endings: Sequence[Ending]) -> None:
    """One that has moved on since it was told is told again."""
    told = [(id, state, ending.turn.id) for ending in endings for id, state in ending.outcomes.items()]
    if told:
        with connection.cursor() as cursor:
            cursor.execute(
                "update approvals_toolapproval a set told_in_turn = told.turn"
                " from unnest(%s::text[], %s::text[], %s::text[]) as told(id, state, turn)"
                " where a.id = told.id and a.state = told.state",
                [list(column) for column in zip(*told, strict=True)],
            )
