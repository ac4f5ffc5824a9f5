"""Turns that begin: claimed together, they are begun together, in one transaction and a few statements for all."""

from collections.abc import Sequence

from django.db import transaction

from agent import context, turns
from agent.context import Context
from agent.rows import Turn
from conversations import bulk


def begin(held: Sequence[Turn]) -> list[Context | None]:
    """What each of these claimed turns starts from; None for one that has nothing to do, which ends here."""
    with transaction.atomic():
        conversations = bulk.locked(turn.conversation_id for turn in held)
        going = turns.begin(held, conversations)
        made = context.build(going, {turn.conversation_id: conversations[turn.conversation_id] for turn in going})
    contexts = {turn.id: each for turn, each in zip(going, made, strict=True)}
    return [contexts.get(turn.id) for turn in held]
