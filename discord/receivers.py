"""What this app does when something below it happens."""

from django.dispatch import receiver

from discord import outbox
from discord.models import DiscordChannel
from team.models import Event
from team.signals import events_linked, workspace_closed


@receiver(workspace_closed, dispatch_uid="discord.workspace_closed")
def close_channel(workspace_id: str, **_: object) -> None:
    """Nothing comes in or leaves any more; the token goes too."""
    DiscordChannel.objects.filter(workspace_id=workspace_id).delete()


@receiver(events_linked, dispatch_uid="discord.events_linked")
def post_replies(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with what it asks for: none is missed and none made twice."""
    outbox.queue(events, workspace_id=workspace_id)
