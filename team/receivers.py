"""What this app does when something happens in a package below it."""

from collections.abc import Mapping

from allauth.account.signals import password_changed, password_reset
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models.signals import post_delete
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from median_site.lib import live
from team import sessions
from team.events import Kind
from team.models import Teammate, User


@receiver(post_delete, sender=Session, dispatch_uid="team.session_ended")
def close_sockets(instance: Session, **_: object) -> None:
    """A session ended: its person's open sockets are checked again at once.

    Not at `user_logged_out`, which is sent while the session is still there.
    """
    user_id = instance.get_decoded().get(SESSION_KEY)
    for teammate in Teammate.objects.filter(user_id=user_id) if user_id else []:
        live.changed("teammate", workspace_id=teammate.workspace_id, id=teammate.id)


RECORDED: Mapping[Signal, Kind] = {
    password_changed: Kind.PASSWORD_CHANGED,
    password_reset: Kind.PASSWORD_CHANGED,
    authenticator_added: Kind.SECOND_STEP_ADDED,
    authenticator_removed: Kind.SECOND_STEP_REMOVED,
    authenticator_reset: Kind.RECOVERY_CODES_MADE,
}


@receiver(list(RECORDED), dispatch_uid="team.account_changed")
def record_account(user: User, signal: Signal, **_: object) -> None:
    """The log of each workspace that a person works in says how they sign in there changed."""
    sessions.record(RECORDED[signal], user=user)


@receiver([password_changed, password_reset], dispatch_uid="team.password_changed")
def end_other_sessions(user: User, request: HttpRequest, **_: object) -> None:
    """Whoever knew the old password is out."""
    sessions.end_others(user, current=request.session.session_key or "")
