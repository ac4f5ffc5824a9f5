"""What this app does when something below it happens."""

from django.dispatch import receiver

from team.models import Event
from team.signals import events_linked, workspace_closed
from webhooks import deliveries, subscriptions


@receiver(events_linked, dispatch_uid="webhooks.events_linked")
def send_to_webhooks(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with its deliveries: none is missed and none is made twice."""
    deliveries.queue(events, workspace_id=workspace_id)


@receiver(workspace_closed, dispatch_uid="webhooks.workspace_closed")
def close_webhooks(workspace_id: str, **_: object) -> None:
    subscriptions.remove_all(workspace_id)
