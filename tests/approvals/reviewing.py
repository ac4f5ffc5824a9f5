"""A reviewed request in the named world, and a reviewer that answers by script."""

import json
from collections.abc import Callable

from django.db import transaction

from approvals import reviews
from approvals.models import Review, ToolApproval
from approvals.reviewer.demo import answer
from approvals.reviewer.material import Material
from approvals.reviewer.model import NoAnswer
from conversations import threads
from tests.approvals.requests import request
from tests.world import World
from tools import outcomes, runs
from tools.client import Answer
from tools.models import Starter

ASKS = "I’m sorry, Ana. Shall I refund ORD-1042 in full ($48.00), back to the card you paid with?"
# The turn of the look-up, which no endpoint has seen.
LOOKED_UP_IN = "turn-1"
Answers = str | Exception | Callable[[Material], str]


def reviewed(world: World, *, yes: str = "Yes please!") -> ToolApproval:
    """Ana’s order was looked up, the agent asked, she answered, and the agent asked for the call."""
    with transaction.atomic():
        return _reviewed(world, yes=yes)


def _reviewed(world: World, *, yes: str) -> ToolApproval:
    conversation = world.conversation
    threads.customer_wrote(conversation.id, body="My order ORD-1042 arrived damaged.", client_id="1")
    look_up(world)
    threads.agent_replied(threads.lock(conversation.id), body=ASKS, ref=LOOKED_UP_IN)
    threads.customer_wrote(conversation.id, body=yes, client_id="2")
    return request(world, tool="refundSmallOrder")


def look_up(world: World) -> None:
    run = runs.queue(
        threads.lock(world.conversation.id), world.tool("orderStatus"), input_text='{"orderNumber":"ORD-1042"}',
        started_by=Starter.AGENT, turn_id=LOOKED_UP_IN,
    )  # fmt: skip
    runs.begin(run.id)
    text = '{"status":"delivered","total":48}'
    answered = Answer(
        status=200, headers={"content-type": "application/json"}, body=text.encode(), text=text, replaced=False,
        truncated=False, elapsed_s=0.1,
    )  # fmt: skip
    runs.finish(run.id, outcomes.from_answer(answered, kind="manifest"))


def claimed() -> Review:
    """The one review that waits, taken by a process."""
    (review,) = reviews.claim("process", limit=10)
    return review


def verdict(decision: str, reason: str) -> Callable[[Material], str]:
    """A sound verdict, with the quotes that the demo reviewer would give."""

    def write(material: Material) -> str:
        return json.dumps({**json.loads(answer(material)), "verdict": decision, "reason": reason})

    return write


class Scripted:
    """Answers by script, and keeps what it was asked."""

    name = "scripted-1"

    def __init__(self, *answers: Answers) -> None:
        self.answers: list[Answers] = list(answers)
        self.asked: list[tuple[Material, str]] = []

    async def read(self, material: Material, *, wrong: str, deadline_s: float) -> str:
        self.asked.append((material, wrong))
        given = self.answers.pop(0)
        if isinstance(given, NoAnswer | RuntimeError):
            raise given
        assert not isinstance(given, Exception)
        return given if isinstance(given, str) else given(material)
