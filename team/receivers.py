"""What this app does when something happens in a package below it."""

from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver

from median_site.lib import live
from team.models import Teammate, User


@receiver(user_logged_out, dispatch_uid="team.signed_out")
def close_sockets(user: User | None, **_: object) -> None:
    """Somebody signed out: their open sockets are checked again at once."""
    for teammate in Teammate.objects.filter(user=user) if user else []:
        live.changed("teammate", workspace_id=teammate.workspace_id, id=teammate.id)
