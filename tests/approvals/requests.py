"""Making a request as the agent does, and reading what it left behind."""

from django.db import transaction

from approvals import decisions
from approvals.models import ToolApproval
from conversations import threads
from conversations.models import Item, ItemKind
from tests.world import World

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


def lines_of(world: World) -> list[str]:
    lines = Item.objects.filter(conversation=world.conversation, kind=ItemKind.LINE)
    return list(lines.order_by("number").values_list("text", flat=True))
