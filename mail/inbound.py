"""A mail comes in: into its thread, into a new one, or aside. However often it comes, it happens once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from conversations import attachments, customers, threads, writing
from conversations.models import Channel, Conversation, Customer
from mail import addresses, parsing, reports, routing
from mail.models import Direction, EmailChannel, EmailMessage, Kind
from mail.parsing import Incoming
from mail.routing import Route
from median_site.lib import actors, clock, text
from median_site.lib.errors import DomainError
from team import events
from team.events import Kind as EventKind

# What a thread keeps of earlier mails that one quotes, in characters.
QUOTE_LIMIT: Final = 20_000
# Of a mail that is too large: its words stand at its beginning.
BEGINNING: Final = 1024**2
_MOST_FILES: Final = 20
_CUT: Final = "\n\n(It goes on. The whole text is attached.)"
NO_TEXT: Final = "(The mail has no text of its own.)"


class TooLarge(DomainError):
    code = "mail_too_large"
    message = f"A mail has at most {parsing.SIZE_LIMIT // 1024**2} MB."
    status = 413


def take(raw: bytes, *, channel: EmailChannel, recipient: str = "", is_cut: bool = False) -> EmailMessage | None:
    """Take a raw mail in; None if it is here already. `recipient`: to whom it was delivered, if its headers do not say.

    Raises TooLarge. What cannot be read is kept as a file; nothing that a mail says makes this fail. `is_cut`: this is
    the beginning of a larger mail, of which only the words are kept.
    """
    if len(raw) > parsing.SIZE_LIMIT:
        raise TooLarge
    mail = parsing.parse(raw)
    if is_cut:
        mail = replace(mail, files=[])
    if recipient and recipient.lower() not in mail.recipients:
        mail = parsing.delivered_to(mail, recipient.lower())
    came = EmailMessage.objects.filter(workspace_id=channel.workspace_id, direction=Direction.IN, digest=mail.digest)
    if came.exists():
        return None
    kind, reason = _kind(mail, channel=channel)
    if kind != Kind.MESSAGE:
        return reports.set_aside(mail, channel=channel, kind=kind, reason=reason)
    customer = customers.known(
        channel.workspace_id, subject=f"email:{mail.sender}"[:255], verified=False, name=mail.sender_name,
        email=mail.sender,
    )  # fmt: skip
    files, refused = _stored(mail, customer=customer)
    if is_cut:
        refused = [f"the mail has more than {parsing.SIZE_LIMIT // 1024**2} MB, and only its words are here."]
    with transaction.atomic():
        row = reports.written_down(mail, channel=channel, kind=Kind.MESSAGE)
        if row is None:
            return None
        _into_thread(mail, row, customer=customer, route=routing.route(mail, channel=channel), files=files)
        if refused:
            _tell_refused(row, customer=customer, refused=refused)
    return row


def _kind(mail: Incoming, *, channel: EmailChannel) -> tuple[Kind, str]:
    """What it is to us, and why if it is no message."""
    if mail.bounce:
        return (Kind.BOUNCE if mail.bounce.is_final else Kind.AUTOMATIC), mail.bounce.reason
    if addresses.untagged(mail.sender) == channel.address:
        return Kind.AUTOMATIC, "it is from our own address"
    if mail.automatic:
        return Kind.AUTOMATIC, mail.automatic
    rows = EmailMessage.objects.filter(workspace_id=channel.workspace_id, address=mail.sender, direction=Direction.IN)
    if rows.filter(created_at__gt=clock.now() - reports.WITHIN).count() >= reports.MOST:
        return Kind.TOO_MANY, f"more than {reports.MOST} mails within an hour"
    return Kind.MESSAGE, ""


def _stored(mail: Incoming, *, customer: Customer) -> tuple[list[str], list[str]]:
    """The ids of its files, and why some could not be kept: a broken picture is no reason to lose a mail."""
    ids, refused = [], []
    given = mail.files[:_MOST_FILES]
    if len(mail.said) > writing.TEXT_LIMIT - len(_CUT) - len(mail.subject):
        given = [("message.txt", mail.said.encode("utf-8", "replace")), *given]
    for name, data in given:
        try:
            ids.append(attachments.store(None, name=name, data=data, by=customer.actor).id)
        except attachments.FileRefused as error:
            refused.append(error.message)
    refused += [f"“{name}” is one file too many." for name, _ in mail.files[_MOST_FILES:]]
    return ids, refused


def _into_thread(mail: Incoming, row: EmailMessage, *, customer: Customer, route: Route, files: Sequence[str]) -> None:
    """The customer wrote: in their thread, or in a new one, which says to whose thread the mail claimed to belong."""
    conversation = route.into and threads.lock(route.into.id)
    claimed = [*route.claimed, *([conversation] if conversation and conversation.status in threads.OVER else [])]
    is_new = conversation is None or conversation.status in threads.OVER
    if conversation is None or is_new:
        conversation = threads.start(customer, channel=Channel.EMAIL)
    some = attachments.IN_A_MESSAGE
    first, *more = [files[at : at + some] for at in range(0, max(len(files), 1), some)]
    body = _body(mail, with_subject=is_new, files=files)
    item = threads.customer_wrote(
        conversation.id, body=body, client_id=mail.digest, files=first, files_by=customer.actor,
        quoted=text.clean(mail.quoted)[0][:QUOTE_LIMIT],
    )  # fmt: skip
    for number, others in enumerate(more, start=2):
        threads.customer_wrote(conversation.id, body="", client_id=f"{mail.digest[:60]}-{number}", files=others)
    row.conversation, row.item = conversation, item
    row.save(update_fields=["conversation", "item"])
    if claimed:
        _note_claimed(conversation, claimed)


def _body(mail: Incoming, *, with_subject: bool, files: Sequence[str]) -> str:
    said = "" if text.is_blank(mail.said) else mail.said.strip()
    head = f"Subject: {mail.subject}\n\n" if with_subject and mail.subject else ""
    whole = head + (said or ("" if files and not head else NO_TEXT))
    return whole if len(whole) <= writing.TEXT_LIMIT else whole[: writing.TEXT_LIMIT - len(_CUT)] + _CUT


def _note_claimed(conversation: Conversation, claimed: Sequence[Conversation]) -> None:
    """For the team: a customer sees no note."""
    lines = ["This mail names another thread, and is not in it: that is over, or somebody else’s, or not the only one."]
    lines += [f"{settings.MEDIAN_URL}{reverse('inbox:thread', args=[each.id])}" for each in claimed[:5]]
    threads.note(conversation.id, by=actors.system(conversation.workspace_id), body="\n".join(lines))


def _tell_refused(row: EmailMessage, *, customer: Customer, refused: Sequence[str]) -> None:
    """A line for the files that were not kept."""
    events.record(
        EventKind.EMAIL_FILES_LEFT, by=customer.actor, conversation_id=row.conversation_id or "",
        data={"why": " ".join(refused)[:500]},
    )  # fmt: skip
