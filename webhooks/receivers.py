"""What this app does when something below it happens."""

from django.dispatch import receiver

from team.models import Event
from team.signals import events_linked
from webhooks import deliveries


@receiver(events_linked, dispatch_uid="webhooks.events_linked")
def send_to_webhooks(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with its deliveries: none is missed and none is made twice."""
    deliveries.queue(events, workspace_id=workspace_id)
