"""What a teammate is told personally. Rows alone are written here; a push to open pages rings, and whatever else tells
people (mail, the browser's own push) reads the same rows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from django.db.models import QuerySet

from median_site.lib import clock, live, text
from median_site.lib.actors import Actor, ActorKind
from team.models import Notification, NotificationKind, Teammate
from team.signals import notified

KEPT: Final = timedelta(days=365)
BATCH: Final = 5_000
SAYS: Final[Mapping[str, str]] = {
    NotificationKind.MENTION: "{who} mentioned you",
    NotificationKind.ASSIGNED: "{who} assigned the thread to you",
    NotificationKind.WAITING: "The snooze is over",
}


def notify(
    teammate_ids: Iterable[str], *, kind: NotificationKind, conversation_id: str, by: Actor, number: int = 0
) -> None:
    """Tell teammates, inside the caller's transaction; whoever did it is not told, nor who is not in the team.

    `number`: the item of the thread that it is about. Reading so far reads the notification too.
    """
    is_teammate = by.kind == ActorKind.TEAMMATE
    add(
        Notification(
            workspace_id=by.workspace_id, teammate_id=teammate_id, kind=kind, conversation_id=conversation_id,
            number=number, by_id=by.id if is_teammate else "", by_name=by.name if is_teammate else by.short_name,
        )
        for teammate_id in dict.fromkeys(teammate_ids) if teammate_id != by.id
    )  # fmt: skip


def add(rows: Iterable[Notification]) -> None:
    """The same for many at once, in two statements and one ring."""
    asked = list(rows)
    if not asked:
        return
    team = Teammate.objects.filter(id__in={row.teammate_id for row in asked}, removed_at=None)
    there = set(team.values_list("workspace_id", "id"))
    told = Notification.objects.bulk_create(row for row in asked if (row.workspace_id, row.teammate_id) in there)
    notified.send(sender=Notification, rows=told)
    _ring(told)


def read_thread(conversation_id: str, *, by: Actor, number: int) -> None:
    """The teammate has read a thread so far, and with it what they were told about it. In the caller's transaction."""
    _read(mine(by).filter(conversation_id=conversation_id, number__lte=number), by=by)


def read(notification_id: int, *, by: Actor) -> None:
    """Mark one as read; again, or of nobody's, changes nothing."""
    _read(mine(by).filter(id=notification_id), by=by)


def read_all(*, by: Actor, up_to: int) -> None:
    """Mark everything as read that the page showed: newer ones stay."""
    _read(mine(by).filter(id__lte=up_to), by=by)


def forget(conversation_ids: Iterable[str], *, workspace_id: str) -> None:
    """These threads are gone, and what was told of them with it."""
    Notification.objects.filter(workspace_id=workspace_id, conversation_id__in=list(conversation_ids)).delete()


def forget_old() -> int:
    """The oldest that are older than KEPT, at most BATCH, by id, which is the order they came in. Gives how many."""
    oldest = Notification.objects.order_by("id").values_list("id", "created_at")[:BATCH]
    before = clock.now() - KEPT
    old = [id for id, created_at in oldest if created_at < before]
    Notification.objects.filter(id__in=old).delete()
    return len(old)


def says(row: Notification) -> str:
    """What the teammate is told, in a few words: "Kim mentioned you"."""
    teammate = Actor(ActorKind.TEAMMATE, row.workspace_id, name=row.by_name)
    return text.sentence(SAYS[row.kind].format(who=teammate.short_name if row.by_id else row.by_name))


def mine(by: Actor) -> QuerySet[Notification]:
    """A teammate's own, and nobody else's."""
    return Notification.objects.filter(workspace_id=by.workspace_id, teammate_id=by.id)


def _read(rows: QuerySet[Notification], *, by: Actor) -> None:
    if rows.filter(read_at=None).update(read_at=clock.now()):
        live.changed("notice", workspace_id=by.workspace_id, id=by.id)


def _ring(rows: Iterable[Notification]) -> None:
    told = Counter((row.workspace_id, row.teammate_id) for row in rows)
    if told:
        live.changed_all("notice", [(workspace_id, teammate_id, 0) for workspace_id, teammate_id in told])
