"""Making a request as the agent does, and reading what it left behind."""

from django.db import transaction

from approvals import decisions
from approvals.models import ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind
from tests.world import World
from tools import outcomes, runs
from tools.client import Answer

INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'


def request(world: World, *, tool: str = "refundOrder", input_text: str = INPUT) -> ToolApproval:
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        return decisions.request(
            conversation,
            tool=world.tool(tool),
            input_text=input_text,
            turn_id="turn",
            by=threads.agent_actor(conversation),
        )


def answer(approval: ToolApproval, text: str) -> None:
    """The approved call leaves, and this comes back."""
    runs.begin(approval.id)
    answered = Answer(
        status=200, headers={}, body=text.encode(), text=text, replaced=False, truncated=False, elapsed_s=0.1
    )  # fmt: skip
    runs.finish(approval.id, outcomes.from_answer(answered, kind="manifest"))


def lines_of(world: World) -> list[str]:
    lines = Item.objects.filter(conversation=world.conversation, kind=ItemKind.LINE)
    return list(lines.order_by("number").values_list("text", flat=True))
