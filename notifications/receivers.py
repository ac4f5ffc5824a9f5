"""What this app does when something below it happens."""

from django.dispatch import receiver

from notifications import pushes
from notifications.models import Browser, Preference
from team.models import Event, Notification, Teammate
from team.signals import events_linked, notified, teammate_removed, workspace_closed


@receiver(events_linked, dispatch_uid="notifications.events_linked")
def push_requests(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with its pushes: none is missed and none is made twice."""
    pushes.queue_requests(events, workspace_id=workspace_id)


@receiver(notified, dispatch_uid="notifications.notified")
def push_notifications(rows: list[Notification], **_: object) -> None:
    pushes.queue_notifications(rows)


@receiver(teammate_removed, dispatch_uid="notifications.teammate_removed")
def forget_teammate(teammate: Teammate, **_: object) -> None:
    """Whoever is not in the team is told nothing any more."""
    Browser.objects.filter(teammate=teammate).delete()
    Preference.objects.filter(teammate=teammate).delete()


@receiver(workspace_closed, dispatch_uid="notifications.workspace_closed")
def forget_workspace(workspace_id: str, **_: object) -> None:
    Browser.objects.filter(workspace_id=workspace_id).delete()
    Preference.objects.filter(workspace_id=workspace_id).delete()
