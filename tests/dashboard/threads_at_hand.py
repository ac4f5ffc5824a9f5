"""Threads for the tests of the dashboard."""

from datetime import datetime, timedelta

from conversations import threads
from conversations.models import Conversation, Customer, Item
from median_site.lib import clock
from tests.world import World


def write(world: World, text: str = "Is my order coming?", *, client_id: str = "1") -> Item:
    return threads.customer_wrote(world.conversation.id, body=text, client_id=client_id)


def many(world: World, count: int, *, last_at: datetime | None = None) -> list[Conversation]:
    """Conversations of other customers, the newest first."""
    now = last_at or clock.now()
    made = []
    for number in range(count):
        customer = Customer.objects.create(workspace=world.fernhill, subject=f"other-{number}", name=f"Other {number}")
        made.append(
            Conversation.objects.create(
                workspace=world.fernhill,
                customer=customer,
                last_at=now - timedelta(minutes=number),
                excerpt="Hello",
            )
        )
    return made
