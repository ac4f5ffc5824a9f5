"""Who of the team has a thread, and when it comes back into the queue: assign, unassign, snooze, wake."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from conversations import signals, threads
from conversations.models import Conversation, Handler
from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import Json
from team import events, notifications
from team.events import Kind
from team.models import NotificationKind, Teammate

LONGEST_SNOOZE: Final = timedelta(days=366)


class BadTime(DomainError):
    code = "bad_time"
    message = "Choose a time within the next year."
    status = 422


def assign(conversation_id: str, *, by: Actor, to: str) -> Conversation:
    """Give an open thread to a teammate, by id; the agent's running turn stops. Again changes nothing.

    Raises NotFound for whoever is no teammate of this workspace, NotOpen.
    """
    if to == by.id:
        return threads.take_over(conversation_id, by=by)
    with transaction.atomic():
        conversation = _open(conversation_id, by=by)
        teammate = existing(Teammate.objects.filter(workspace_id=by.workspace_id, id=to, removed_at=None).first())
        if conversation.assignee_id != teammate.id:
            _hand(conversation, teammate)
            data: dict[str, Json] = {"to": teammate.actor.short_name, "to_id": teammate.id}
            events.record(Kind.ASSIGNED, by=by, conversation_id=conversation.id, data=data)
            notifications.notify(
                [teammate.id], kind=NotificationKind.ASSIGNED, conversation_id=conversation.id, by=by,
                number=conversation.version + 1,  # the line's
            )  # fmt: skip
            signals.taken_over.send(sender=Conversation, conversation=conversation)
    return conversation


def unassign(conversation_id: str, *, by: Actor) -> Conversation:
    """Nobody has the thread any more, and the agent stays out of it. Again changes nothing. Raises NotOpen."""
    with transaction.atomic():
        conversation = _open(conversation_id, by=by)
        if conversation.assignee:
            data: dict[str, Json] = {"from": conversation.assignee.actor.short_name}
            _hand(conversation, None)
            events.record(Kind.UNASSIGNED, by=by, conversation_id=conversation.id, data=data)
    return conversation


def snooze(conversation_id: str, *, by: Actor, until: datetime) -> Conversation:
    """Keep an open thread out of the queue until then, or until the customer writes. Raises NotOpen, BadTime."""
    if not timedelta() < until - clock.now() < LONGEST_SNOOZE:
        raise BadTime(field="until")
    with transaction.atomic():
        conversation = _open(conversation_id, by=by)
        if conversation.snoozed_until != until:
            _snooze(conversation, until)
            data: dict[str, Json] = {"until": until.isoformat()}
            events.record(Kind.SNOOZED, by=by, conversation_id=conversation.id, data=data)
    return conversation


def wake(conversation_id: str, *, by: Actor) -> Conversation:
    """Bring a snoozed thread back now. Again changes nothing."""
    with transaction.atomic():
        conversation = threads.lock(conversation_id, by=by)
        if conversation.is_snoozed:
            _snooze(conversation, None)
            events.record(Kind.WOKEN, by=by, conversation_id=conversation.id)
    return conversation


def _open(conversation_id: str, *, by: Actor) -> Conversation:
    conversation = threads.lock(conversation_id, by=by)
    if not conversation.is_open:
        raise threads.NotOpen
    return conversation


def _hand(conversation: Conversation, teammate: Teammate | None) -> None:
    conversation.handler, conversation.assignee = (Handler.TEAMMATE if teammate else Handler.NOBODY), teammate
    conversation.save(update_fields=["handler", "assignee"])


def _snooze(conversation: Conversation, until: datetime | None) -> None:
    conversation.snoozed_until = until
    conversation.save(update_fields=["snoozed_until"])
