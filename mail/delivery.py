"""What became of replies after a mail server took them, and sending one again that did not arrive."""

from django.db import transaction
from django.db.models import Q

from conversations import threads
from conversations.models import Conversation
from mail.models import Direction, EmailMessage, MailState
from median_site.lib import actors, clock, text
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from team import events
from team.events import Kind


class OnItsWay(DomainError):
    code = "on_its_way"
    message = "This mail is on its way already."


def failed(sent: EmailMessage, *, subject_id: str, why: str, complained: bool = False) -> Conversation | None:
    """A mail never arrives, or was called spam: its message and the thread say so, and no more is sent to that address.

    In the caller's transaction. Gives the thread, locked; None if that was told before.
    """
    locked = threads.lock(sent.conversation_id or "")
    if not EmailMessage.objects.filter(id=sent.id, bounced_at=None).update(bounced_at=clock.now()):
        return None
    sentence = "The customer reported this mail as spam" if complained else f"This mail bounced: {why}"
    threads.mark_undelivered(locked, sent.item_id or 0, why=sentence)
    events.record(
        Kind.EMAIL_COMPLAINED if complained else Kind.EMAIL_BOUNCED, by=actors.system(sent.workspace_id),
        conversation_id=locked.id, subject_id=subject_id, data={"to": sent.address, "why": why},
    )  # fmt: skip
    return locked


def told_by_service(service_id: str, *, why: str, complained: bool) -> None:
    """A mail service says it of a mail that it named so; one that is not ours is nobody's business here."""
    named = service_id.strip("<>")[:900]
    if not named or "\0" in named:
        return
    with transaction.atomic():
        rows = EmailMessage.objects.filter(service_id=named, direction=Direction.OUT)
        sent = rows.exclude(conversation=None).first()
        if sent:
            shown = " ".join(text.clean(why)[0].split())[:200]
            failed(sent, subject_id=sent.id, why=shown or "the mail service gave no reason", complained=complained)


def retry(item_id: int, *, by: Actor) -> Conversation:
    """Send a reply again that was given up or came back, under its id; its address is given another chance. Gives the
    thread.

    Raises NotFound, OnItsWay.
    """
    mail = existing(
        EmailMessage.objects.filter(workspace_id=by.workspace_id, item=item_id, direction=Direction.OUT).first()
    )
    with transaction.atomic():
        locked = threads.lock(mail.conversation_id or "", by=by)
        again = EmailMessage.objects.filter(Q(state=MailState.FAILED) | Q(bounced_at__isnull=False), id=mail.id)
        if not again.update(state=MailState.WAITING, attempts=0, due_at=clock.now(), claimed_at=None, reason=""):
            raise OnItsWay
        bounced = EmailMessage.objects.filter(workspace_id=by.workspace_id, address=mail.address)
        bounced.exclude(bounced_at=None).update(bounced_at=None)
        threads.mark_undelivered(locked, item_id, why="")
        events.record(
            Kind.EMAIL_RETRIED, by=by, conversation_id=locked.id, subject_id=mail.id, data={"to": mail.address}
        )
    return locked
