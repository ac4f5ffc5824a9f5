"""Mail that nobody answers: written down once, and told in the thread it is about. It reopens nothing and starts no
turn."""

from datetime import timedelta
from typing import Final

from django.db import transaction

from conversations import threads
from conversations.models import Conversation
from mail import delivery, routing
from mail.models import Direction, EmailChannel, EmailMessage, Kind
from mail.parsing import Incoming
from median_site.lib import clock, text
from team import events
from team.events import Kind as EventKind

# From one sender within an hour at most so many: two programs that thank each other stop here.
MOST: Final = 20
WITHIN: Final = timedelta(hours=1)
KEPT: Final = timedelta(days=90)


def written_down(mail: Incoming, *, channel: EmailChannel, kind: Kind, reason: str = "") -> EmailMessage | None:
    """The row of a mail that came, in the caller's transaction; None if another one wrote it down first."""
    row = EmailMessage(
        workspace_id=channel.workspace_id,
        direction=Direction.IN,
        kind=kind,
        message_id=text.clean(mail.message_id)[0],
        digest=mail.digest,
        address=text.clean(mail.sender)[0],
        subject=text.clean(mail.subject)[0],
        excerpt="" if kind == Kind.MESSAGE else text.excerpt(text.clean(mail.said)[0], 500),
        reason=text.clean(reason)[0][:200],
    )
    EmailMessage.objects.bulk_create([row], ignore_conflicts=True)
    return row if EmailMessage.objects.filter(id=row.id).exists() else None


def set_aside(mail: Incoming, *, channel: EmailChannel, kind: Kind, reason: str) -> EmailMessage | None:
    """Keep a mail out of the threads, and say so in the one it is about. None if that was done before."""
    with transaction.atomic():
        row = written_down(mail, channel=channel, kind=kind, reason=reason)
        if row is None:
            return None
        if mail.bounce:
            _bounced(mail, row, is_final=kind == Kind.BOUNCE)
        elif into := routing.route(mail, channel=channel).into:
            _tell(row, into, too_many=kind == Kind.TOO_MANY)
    return row


def left(*, channel: EmailChannel, digest: str, reason: str) -> bool:
    """Write down that a mail is left where it lies, since taking it in fails; False if that was done before."""
    row = EmailMessage(
        workspace_id=channel.workspace_id, direction=Direction.IN, kind=Kind.AUTOMATIC, digest=digest, reason=reason
    )
    EmailMessage.objects.bulk_create([row], ignore_conflicts=True)
    return EmailMessage.objects.filter(id=row.id).exists()


def forget_old() -> int:
    """What was left aside is for looking at what went wrong lately. Gives how many mails went."""
    old = EmailMessage.objects.filter(conversation=None, created_at__lt=clock.now() - KEPT)
    return old.delete()[0]


def _tell(row: EmailMessage, conversation: Conversation, *, too_many: bool) -> None:
    """A line in the sender's own thread; of too many mails one line stands for all of an hour."""
    locked = threads.lock(conversation.id)
    before = EmailMessage.objects.filter(conversation=locked, kind=Kind.TOO_MANY, created_at__gt=clock.now() - WITHIN)
    is_told = too_many and before.exists()
    row.conversation = locked
    row.save(update_fields=["conversation"])
    if is_told:
        return
    kind = EventKind.EMAIL_TOO_MANY if too_many else EventKind.EMAIL_AUTOMATIC
    events.record(kind, by=locked.customer.actor, conversation_id=locked.id, subject_id=row.id)


def _bounced(mail: Incoming, row: EmailMessage, *, is_final: bool) -> None:
    """The mail that the report is about did not arrive: the team hears of it, and no more is sent to that address."""
    if mail.bounce is None or not is_final:
        return
    ids = [*mail.bounce.reports, *mail.references]
    rows = EmailMessage.objects.filter(workspace_id=row.workspace_id, direction=Direction.OUT, message_id__in=ids)
    sent = rows.exclude(conversation=None).first()
    if sent is None or sent.conversation_id is None:
        return
    locked = delivery.failed(sent, subject_id=row.id, why=text.clean(mail.bounce.reason)[0])
    if locked:  # else two servers on the way told it
        row.conversation, row.address = locked, sent.address
        row.save(update_fields=["conversation", "address"])
