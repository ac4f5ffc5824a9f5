"""Keeps what a model reads inside a number of characters, which stands for its context. Pure.

Old tool results and pictures go first, with a note in their place, then the oldest messages are left out. The raw
output of a run is stored elsewhere and stays whole.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from agent.models.base import Message

# What a picture takes, at most 1,024 pixels a side: about 1,400 tokens for those providers that count the most.
PICTURE: Final = 5_000
# What is left of a shortened result: enough to know it again.
KEPT: Final = 300


def fit(messages: Sequence[Message], *, limit: int) -> list[Message]:
    """The messages in about `limit` characters, as far as that can be done.

    The system messages at the beginning stay; what tools said when the conversation started is shortened last of all.
    The customer's last message, or the last outcome, and what follows it stay too, with shorter results if need be.
    """
    fitted = list(messages)
    head = next((place for place, message in enumerate(fitted) if message.role != "system"), len(fitted))
    excess = _shorten(fitted, range(head, len(fitted)), sum(map(size, fitted)) - limit)
    if excess > 0:
        fitted = _without_oldest(fitted, excess, head=head)
        _shorten(fitted, range(1, head), sum(map(size, fitted)) - limit)
    return fitted


def size(message: Message) -> int:
    """The characters of a message, its calls included, and what its pictures stand for."""
    calls = sum(len(call.name) + len(call.arguments or "") for call in message.tool_calls)
    return len(message.text) + calls + PICTURE * len(message.pictures)


def _shorten(messages: list[Message], places: range, excess: int) -> int:
    """Shorten results at these places, in this order, while there is an excess of characters; gives what is left."""
    for place in places:
        message = messages[place]
        if excess > 0 and (message.pictures or message.role in {"tool", "system", "notice"}):
            messages[place] = _shortened(message)
            excess -= size(message) - size(messages[place])
    return excess


def _shortened(message: Message) -> Message:
    if message.pictures:
        return replace(message, text=f"{message.text}\n[Its pictures are left out here.]".strip(), pictures=())
    note = f"[shortened: {len(message.text):,} characters, ask again if needed]"
    shorter = f"{message.text[:KEPT]}… {note}"
    return replace(message, text=shorter) if len(shorter) < len(message.text) else message


def _without_oldest(messages: list[Message], excess: int, *, head: int) -> list[Message]:
    """Leave out what follows the head, oldest first. A call and its results go together."""
    last = max((place for place, message in enumerate(messages) if message.role in {"user", "notice"}), default=0)
    start = head
    while start < last and (excess > 0 or messages[start].role == "tool"):
        excess -= size(messages[start])
        start += 1
    if start == head:
        return messages
    note = Message("system", f"[The oldest {start - head} messages of this conversation are left out here.]")
    return [*messages[:head], note, *messages[start:]]
