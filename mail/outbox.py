"""Replies on their way to customers: the row is the queue. Making them, claiming, recording what became of an attempt.

At least once, always under the same Message-ID, and the replies of a thread in their order.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from conversations import threads
from conversations.models import Channel, Item, ItemKind
from mail import channels
from mail.models import Direction, EmailChannel, EmailMessage, Kind, MailState
from median_site.lib import actors, claims, clock, ids
from team import events
from team.events import Kind as EventKind
from team.models import Event
from webhooks import outcomes

# Longer than any attempt takes. After it the mail is due again, in any process.
HELD: Final = timedelta(minutes=3)
_MOST_REFERENCES: Final = 20
_REPLIES: Final = {EventKind.AGENT_REPLIED, EventKind.TEAMMATE_REPLIED}
BOUNCED: Final = "an earlier mail to this address could not be delivered"


def queue(linked: Iterable[Event], *, workspace_id: str) -> None:
    """Send the replies of these newly linked events, in the caller's transaction; again changes nothing."""
    replied = {event.conversation_id for event in linked if event.kind in _REPLIES}
    channel = channels.of(workspace_id) if replied else None
    if channel is None:
        return
    items = Item.objects.filter(
        workspace_id=workspace_id, conversation__in=replied, conversation__channel=Channel.EMAIL,
        kind__in=[ItemKind.AGENT, ItemKind.TEAM], created_at__gte=channel.created_at,
    )  # fmt: skip
    new = items.exclude(Exists(EmailMessage.objects.filter(item=OuterRef("pk")))).select_related(
        "conversation__customer"
    )
    before = _before({item.conversation_id for item in new}, workspace_id=workspace_id)
    rows = [_row(item, before[item.conversation_id], channel=channel) for item in new.order_by("id")]
    EmailMessage.objects.bulk_create(rows, ignore_conflicts=True)


def claim(*, limit: int) -> list[EmailMessage]:
    """Take up to `limit` mails that are due, each for one process; of a thread only the first that waits."""
    waiting = EmailMessage.objects.filter(state=MailState.WAITING)
    earlier = waiting.filter(conversation=OuterRef("conversation"), item__lt=OuterRef("item"))
    due = waiting.filter(~Exists(earlier)).select_related("conversation__customer", "item", "workspace")
    return claims.take(due, limit=limit, held=HELD, claimed_at=clock.now())


def sent(mail: EmailMessage, *, service_id: str = "") -> None:
    """A mail server took it, or a service, which calls it so. That counts whoever gave it there."""
    waiting = EmailMessage.objects.filter(id=mail.id, state=MailState.WAITING)
    waiting.update(
        state=MailState.SENT, sent_at=clock.now(), due_at=None, claimed_at=None, reason="",
        service_id=service_id.strip("<>") or mail.message_id,
    )  # fmt: skip


def failed(mail: EmailMessage, *, why: str, is_final: bool) -> None:
    """An attempt failed: there is another one later, for about a day; then the thread says so, and turns unread."""
    pause = None if is_final else outcomes.pause(mail.attempts, wait=timedelta(0))
    ours = EmailMessage.objects.filter(id=mail.id, state=MailState.WAITING, claimed_at=mail.claimed_at)
    if pause is not None:
        ours.update(due_at=clock.now() + pause, claimed_at=None, reason=why[:200])
        return
    with transaction.atomic():
        locked = threads.lock(mail.conversation_id or "")
        if ours.update(state=MailState.FAILED, due_at=None, claimed_at=None, reason=why[:200]):
            threads.mark_undelivered(locked, mail.item_id or 0, why=f"This mail was not sent: {why[:200]}")
            events.record(
                EventKind.EMAIL_FAILED, by=actors.system(mail.workspace_id), conversation_id=locked.id,
                subject_id=mail.id, data={"to": mail.address, "why": why[:200]},
            )  # fmt: skip


def has_bounced(mail: EmailMessage) -> bool:
    """Whether this address took no mail before, and nobody has written from it since."""
    there = EmailMessage.objects.filter(workspace_id=mail.workspace_id, address=mail.address)
    last = there.filter(bounced_at__isnull=False).order_by("-bounced_at").first()
    return last is not None and not there.filter(
        direction=Direction.IN, kind=Kind.MESSAGE, created_at__gt=last.bounced_at
    ).exists()  # fmt: skip


def _before(conversation_ids: set[str], *, workspace_id: str) -> dict[str, list[EmailMessage]]:
    """The mails of each thread so far, the oldest first."""
    rows = EmailMessage.objects.filter(
        workspace_id=workspace_id, conversation__in=conversation_ids, kind=Kind.MESSAGE
    ).order_by("created_at", "id")
    found: dict[str, list[EmailMessage]] = defaultdict(list)
    for row in rows:
        found[row.conversation_id or ""].append(row)
    return found


def _row(item: Item, before: list[EmailMessage], *, channel: EmailChannel) -> EmailMessage:
    subject = next((row.subject for row in before if row.subject), "Your message")
    listed = [row.message_id for row in before if row.message_id]
    message_id = f"{ids.new_id()}.median@{channel.domain}"
    row = EmailMessage(
        workspace_id=item.workspace_id,
        conversation_id=item.conversation_id,
        item=item,
        direction=Direction.OUT,
        message_id=message_id,
        service_id=message_id,
        address=item.conversation.customer.email.lower(),
        subject=(subject if subject.lower().startswith("re:") else f"Re: {subject}")[:300],
        references=[*listed[:1], *listed[1:][-_MOST_REFERENCES:]],
        state=MailState.WAITING,
        due_at=clock.now(),
    )
    before.append(row)
    return row
