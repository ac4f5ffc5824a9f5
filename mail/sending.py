"""One attempt at a reply: built, given to the mail backend of the installation, recorded. At least once in all.

The network is touched between two transactions and inside none, and holds none of the database's threads.
"""

import asyncio
import logging
import smtplib
from email.utils import formataddr
from typing import Final

from anymail.exceptions import AnymailError, AnymailRecipientsRefused
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from markupsafe import Markup

from conversations import attachments
from conversations.models import Attachment, Item, ItemKind
from mail import addresses, channels, outbox
from mail.models import EmailChannel, EmailMessage
from median_site.lib import text
from median_site.lib.db import in_thread

_PRINTING: Final = {f"django.core.mail.backends.{name}.EmailBackend" for name in ("console", "dummy", "filebased")}

logger = logging.getLogger(__name__)

# Of the files of one reply; most mail servers take 25 MB, and the encoding adds a third.
FILES_LIMIT: Final = 18 * 1024**2


def leaves() -> bool:
    """Whether mail leaves this installation at all: it is only printed or kept while no mail server is set."""
    return settings.EMAIL_BACKEND not in _PRINTING


class _Hopeless(Exception):
    """It can never be sent; says why."""


async def run(mail: EmailMessage) -> None:
    """Send a claimed mail. A process that dies before it recorded that leaves it to be sent again, with the same id."""
    try:
        letter = await in_thread(built, mail)
        await asyncio.to_thread(letter.send)
        status = getattr(letter, "anymail_status", None)
        named = status.message_id if status else ""  # a set of them for several recipients, which no mail of ours has
    except _Hopeless as error:
        await in_thread(outbox.failed, mail, why=str(error), is_final=True)
    except (OSError, AnymailError) as error:  # smtplib's are OSErrors
        logger.warning("A mail could not be sent: %s", type(error).__name__)
        await in_thread(outbox.failed, mail, why=_why(error), is_final=_is_final(error))
    except ValueError:  # Python's, of a header: UnicodeError is one
        await in_thread(outbox.failed, mail, why="no mail can be written to this address", is_final=True)
    except Exception as error:  # whatever a backend raises, the mail is not to be stuck
        logger.exception("A mail could not be sent")
        await in_thread(outbox.failed, mail, why=f"it broke on our side ({type(error).__name__})", is_final=False)
    else:
        await in_thread(outbox.sent, mail, service_id=named if isinstance(named, str) else "")


def test(channel: EmailChannel, *, to: str) -> str:
    """Send a mail to whoever tries the channel out. Gives what went wrong as a sentence, empty if nothing did."""
    letter = EmailMultiAlternatives(
        subject="A test from Median",
        body=f"Replies to customers who write to {channel.address} leave like this mail.",
        from_email=formataddr((channel.name, channel.address)),
        to=[to],
        headers={"Auto-Submitted": "auto-generated"},
    )
    try:
        letter.send()
    except (OSError, AnymailError, ValueError) as error:
        logger.warning("A test mail could not be sent: %s", type(error).__name__)
        words = _words(error)
        return f"{_why(error).capitalize()}{f': {words}' if words else ''}."
    return ""


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
    if isinstance(error, AnymailRecipientsRefused):
        return True
    # What a service refuses is as a rule its settings, which somebody mends.
    is_smtp = isinstance(error, smtplib.SMTPException) and not isinstance(error, smtplib.SMTPAuthenticationError)
    return is_smtp and 500 <= _code(error) < 600


def _code(error: Exception) -> int:
    """The status that a mail server or service answered with; 0 for none."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return next((code for code, _ in error.recipients.values()), 0)
    if isinstance(error, AnymailError):
        return error.status_code or 0
    return error.smtp_code if isinstance(error, smtplib.SMTPResponseException) else 0


def _words(error: Exception) -> str:
    """What the mail server said, on one line and without our password; it might repeat what it was told."""
    said: str | bytes = ""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        said = next((words for _, words in error.recipients.values()), b"")
    elif isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
    shown = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    if settings.EMAIL_HOST_PASSWORD:
        shown = shown.replace(settings.EMAIL_HOST_PASSWORD, "…")
    return " ".join(shown.split())[:200].rstrip(".")
