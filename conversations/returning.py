"""Threads that come back to the team by themselves: a snooze is over, or whoever had them has left the team.

Both work in batches of locked rows, so that any number of processes may do it at once and each thread returns once.
"""

from collections.abc import Sequence
from typing import Final

from django.db import transaction

from conversations.models import Conversation, Handler, Status
from median_site.lib import actors, clock
from median_site.lib.actors import Actor
from team import events, notifications
from team.events import Entry, Kind
from team.models import Notification, NotificationKind, Teammate

# Some 30 ms of work under the threads' locks.
BATCH: Final = 200


def end_snoozes() -> int:
    """Bring back threads whose snooze is over, at the top of the queue, unread for everybody. Gives how many.

    At most BATCH, the longest due first; one that somebody works on right now is left for the next time. A message of
    the customer or a teammate's press that came first has ended the snooze, and the locked row says so.
    """
    with transaction.atomic():
        rows = Conversation.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        due = list(rows.filter(status=Status.OPEN, snoozed_until__lte=clock.now()).order_by("snoozed_until")[:BATCH])
        Conversation.objects.filter(id__in=[row.id for row in due]).update(snoozed_until=None, last_at=clock.now())
        events.record_all(
            Entry(kind=Kind.SNOOZE_OVER, by=actors.system(row.workspace_id), conversation_id=row.id) for row in due
        )
        notifications.add(
            Notification(
                workspace_id=row.workspace_id, teammate_id=row.assignee_id, kind=NotificationKind.WAITING,
                conversation_id=row.id, number=row.version + 1,  # the line's
            )
            for row in due if row.assignee_id
        )  # fmt: skip
    return len(due)


def give_up(teammate: Teammate, *, by: Actor) -> int:
    """Nobody has the open threads of somebody who left any more; they turn unread. Gives how many, at most BATCH.

    Those of theirs that are over keep the name, until they open again (threads).
    """
    with transaction.atomic():
        mine = Conversation.objects.filter(workspace_id=teammate.workspace_id, assignee=teammate, status=Status.OPEN)
        some = mine.filter(id__in=mine.values("id")[:BATCH])
        # In the order in which many threads are locked everywhere.
        due = list(some.select_for_update(of=("self",), no_key=True).order_by("id"))
        _free(due, of=teammate, by=by)
    return len(due)


def give_up_again(conversation: Conversation, *, by: Actor) -> None:
    """A locked thread opens again: whoever had it may have left meanwhile."""
    if conversation.assignee and conversation.assignee.removed_at:
        _free([conversation], of=conversation.assignee, by=by)
        conversation.handler, conversation.assignee = Handler.NOBODY, None


def left_behind() -> list[Teammate]:
    """Who left and has open threads all the same: a process died between batches, or gave them one meanwhile."""
    theirs = Conversation.objects.filter(status=Status.OPEN, assignee__removed_at__isnull=False)
    return list(Teammate.objects.filter(id__in=theirs.values("assignee_id")))


def _free(rows: Sequence[Conversation], *, of: Teammate, by: Actor) -> None:
    ids = [row.id for row in rows]
    Conversation.objects.filter(id__in=ids).update(handler=Handler.NOBODY, assignee=None)
    events.record_all(
        Entry(kind=Kind.ASSIGNEE_LEFT, by=by, conversation_id=id, data={"from": of.actor.short_name}) for id in ids
    )
