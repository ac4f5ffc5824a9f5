"""One attempt at a reply: built, given to the mail backend of the installation, recorded. At least once in all.

The network is touched between two transactions and inside none, and holds none of the database's threads.
"""

import asyncio
import logging
import smtplib
from email.utils import formataddr
from typing import Final

from django.core.mail import EmailMultiAlternatives
from markupsafe import Markup

from conversations import attachments
from conversations.models import Attachment, Item, ItemKind
from mail import addresses, channels, outbox
from mail.models import EmailChannel, EmailMessage
from median_site.lib import text
from median_site.lib.db import in_thread

logger = logging.getLogger(__name__)

# Of the files of one reply; most mail servers take 25 MB, and the encoding adds a third.
FILES_LIMIT: Final = 18 * 1024**2


class _Hopeless(Exception):
    """It can never be sent; says why."""


async def run(mail: EmailMessage) -> None:
    """Send a claimed mail. A process that dies before it recorded that leaves it to be sent again, with the same id."""
    try:
        letter = await in_thread(built, mail)
        await asyncio.to_thread(letter.send)
    except _Hopeless as error:
        await in_thread(outbox.failed, mail, why=str(error), is_final=True)
    except (OSError, ValueError, RuntimeError) as error:  # smtplib's are OSErrors, services' are ValueErrors
        logger.warning("A mail could not be sent: %s", type(error).__name__)
        await in_thread(outbox.failed, mail, why=_why(error), is_final=_is_final(error))
    else:
        await in_thread(outbox.sent, mail)


def built(mail: EmailMessage) -> EmailMultiAlternatives:
    """The mail as it leaves, the same at every attempt. Raises _Hopeless."""
    channel, item = channels.of(mail.workspace_id), mail.item
    if channel is None or item is None:
        raise _Hopeless("the workspace has no address for mail any more")
    if outbox.has_bounced(mail):
        raise _Hopeless(outbox.BOUNCED)
    letter = EmailMultiAlternatives(
        subject=" ".join(mail.subject.split()),
        body=item.text + (f"\n\n({item.model})" if item.model else ""),
        from_email=formataddr((f"{item.author_name} ({channel.name})", channel.address)),
        to=[mail.address],
        reply_to=[_answers_to(channel, mail)],
        headers=_headers(mail, item),
    )
    letter.attach_alternative(_html(item), "text/html")
    _attach_files(letter, item)
    return letter


def _headers(mail: EmailMessage, item: Item) -> dict[str, str]:
    headers = {"Message-ID": f"<{mail.message_id}>"}
    ids = ["".join(f"<{each}>".split()) for each in mail.references]
    if ids:
        headers |= {"In-Reply-To": ids[-1], "References": " ".join(ids)}
    if item.kind == ItemKind.AGENT:  # so that no other program answers it
        headers |= {"Auto-Submitted": "auto-replied", "X-Auto-Response-Suppress": "OOF, AutoReply"}
    return headers


def _html(item: Item) -> str:
    by = Markup("<p>({})</p>").format(item.model) if item.model else ""
    return Markup("<!doctype html><html><body>{}{}</body></html>").format(text.markdown(item.text), by)


def _attach_files(letter: EmailMultiAlternatives, item: Item) -> None:
    if sum(file.size for file in item.sent) > FILES_LIMIT:
        raise _Hopeless("its files are larger than mail takes, 18 MB in all")
    for file in item.sent:
        row = Attachment.objects.get(workspace_id=item.workspace_id, id=file.id)
        letter.attach(file.name, attachments.data_of(row), file.content_type)


def _answers_to(channel: EmailChannel, mail: EmailMessage) -> str:
    if not channel.signs_replies or mail.conversation_id is None:
        return channel.address
    return addresses.signed(channel.address, conversation_id=mail.conversation_id)


def _why(error: Exception) -> str:
    code = _code(error)
    return f"the mail server answered {code}" if code else "the mail server could not be reached"


def _is_final(error: Exception) -> bool:
    return 500 <= _code(error) < 600 and not isinstance(error, smtplib.SMTPAuthenticationError)


def _code(error: Exception) -> int:
    """The status that a mail server answered with; 0 for none."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return next((code for code, _ in error.recipients.values()), 0)
    return error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0
