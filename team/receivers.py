"""What this app does when something happens in a package below it."""

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete
from django.dispatch import receiver

from median_site.lib import live
from team.models import Teammate


@receiver(post_delete, sender=Session, dispatch_uid="team.session_ended")
def close_sockets(instance: Session, **_: object) -> None:
    """A session ended: its person's open sockets are checked again at once.

    Not at `user_logged_out`, which is sent while the session is still there.
    """
    user_id = instance.get_decoded().get(SESSION_KEY)
    for teammate in Teammate.objects.filter(user_id=user_id) if user_id else []:
        live.changed("teammate", workspace_id=teammate.workspace_id, id=teammate.id)
