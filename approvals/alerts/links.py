"""Who of Slack and Discord is which teammate. Whoever pressed gets a secret link, and confirms it signed in."""

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from approvals.models import AlertLink, AlertPress, Service
from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, NotFound, existing
from team import events
from team.events import Kind
from team.models import Teammate

LIFETIME: Final = timedelta(minutes=15)


class LinkedAlready(DomainError):
    code = "linked_already"
    message = "Another teammate is linked to this user. They can unlink it in Settings, Your account."


def teammate_of(press: AlertPress) -> Teammate | None:
    """The teammate in whose name this user decides, as the team is now; None for anybody else."""
    found = _of_user(press).filter(teammate__removed_at=None, teammate__user__is_active=True)
    link = found.select_related("teammate").first()
    return link.teammate if link else None


def pending(code: str, *, by: Actor) -> AlertPress:
    """The press whose user is to be linked, in the actor's workspace and for 15 minutes. Else NotFound."""
    rows = AlertPress.objects.filter(workspace_id=by.workspace_id, channel__removed_at=None, linked_at=None)
    return existing(rows.filter(id=code, pressed_at__gt=clock.now() - LIFETIME).select_related("channel").first())


def confirm(code: str, *, by: Actor) -> AlertLink:
    """Let this user decide in the teammate's name from now on. A code is good once. Raises NotFound, LinkedAlready."""
    press = pending(code, by=by)
    with transaction.atomic():
        if not AlertPress.objects.filter(id=code, linked_at=None).update(linked_at=clock.now()):
            raise NotFound
        _of_user(press).exclude(teammate__removed_at=None).delete()
        link, _ = AlertLink.objects.get_or_create(
            workspace_id=by.workspace_id, service=press.channel.service, account=press.account, user_id=press.user_id,
            defaults={"teammate_id": by.id, "user_name": press.user_name},
        )  # fmt: skip
        if link.teammate_id != by.id:
            raise LinkedAlready
        _record(Kind.ALERTS_LINKED, link, by=by)
    return link


def listed(by: Actor) -> QuerySet[AlertLink]:
    """The teammate's own links, the oldest first."""
    return AlertLink.objects.filter(workspace_id=by.workspace_id, teammate_id=by.id).order_by("created_at")


def remove(link_id: str, *, by: Actor) -> None:
    """Unlink one of the teammate's own. Raises NotFound."""
    with transaction.atomic():
        found = existing(listed(by).select_for_update().filter(id=link_id).first())
        _record(Kind.ALERTS_UNLINKED, found, by=by)
        found.delete()


def _of_user(press: AlertPress) -> QuerySet[AlertLink]:
    return AlertLink.objects.filter(
        workspace_id=press.workspace_id, service=press.channel.service, account=press.account, user_id=press.user_id
    )


def _record(kind: Kind, link: AlertLink, *, by: Actor) -> None:
    service = Service(link.service).label
    events.record(kind, by=by, subject_id=link.id, data={"service": service, "user": link.user_name or link.user_id})
