"""Keeps what a model reads inside a number of characters, which stands for its context. Pure.

Old tool results are shortened first, with a note in their place, then the oldest messages are left out. The raw output
of a run is stored elsewhere and stays whole.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent.models.base import Message

# What is left of a shortened result: enough to know it again.
KEPT: Final = 300


def fit(messages: Sequence[Message], *, limit: int) -> list[Message]:
    """The messages in about `limit` characters, as far as that can be done.

    The system messages at the beginning stay as they are. The customer's last message, or the last outcome, and what
    follows it stay too; only results among them are shortened, the newest last.
    """
    fitted = list(messages)
    excess = sum(map(size, fitted)) - limit
    head = next((place for place, message in enumerate(fitted) if message.role != "system"), len(fitted))
    for place in range(head, len(fitted)):
        message = fitted[place]
        if excess > 0 and message.role in {"tool", "system"}:
            fitted[place] = _shortened(message)
            excess -= size(message) - size(fitted[place])
    return _without_oldest(fitted, excess, head=head) if excess > 0 else fitted


def size(message: Message) -> int:
    """The characters of a message, its calls included."""
    return len(message.text) + sum(len(call.name) + len(call.arguments or "") for call in message.tool_calls)


def _shortened(message: Message) -> Message:
    note = f"[shortened: {len(message.text):,} characters, ask again if needed]"
    shorter = f"{message.text[:KEPT]}… {note}"
    return replace(message, text=shorter) if len(shorter) < len(message.text) else message


def _without_oldest(messages: list[Message], excess: int, *, head: int) -> list[Message]:
    """Leave out what follows the head, oldest first. A call and its results go together."""
    last = max((place for place, message in enumerate(messages) if message.role in {"user", "system"}), default=0)
    start = head
    while start < last and (excess > 0 or messages[start].role == "tool"):
        excess -= size(messages[start])
        start += 1
    if start == head:
        return messages
    note = Message("system", f"[The oldest {start - head} messages of this conversation are left out here.]")
    return [*messages[:head], note, *messages[start:]]
