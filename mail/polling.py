"""One look into a mailbox: what is new is taken in like any other mail, then marked as read, then counted as done.

A process that dies in between leaves mails to be looked at again; their digests let each in once. Two that look at once
do no harm.
"""

import hashlib
import logging
import time
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from mail import imap, inbound, mailboxes, parsing, reports
from mail.imap import Folder, MailboxError
from mail.models import EmailChannel, Mailbox
from median_site.lib import secrets
from median_site.lib.db import AWAY

logger = logging.getLogger(__name__)

AT_ONCE: Final = 50  # mails of one look
_STOP_S: Final = 20  # after which a look takes no further mail
_DEADLINE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Look:
    """What came of it. `error` is a sentence, empty when it went through."""

    taken: int = 0
    is_more: bool = False
    error: str = ""


def look(mailbox: Mailbox) -> Look:
    """Look into a claimed mailbox, and write down what came of it."""
    try:
        found = _take_new(mailbox)
    except MailboxError as error:
        mailboxes.failed(mailbox, why=str(error))
        return Look(error=str(error))
    mailboxes.looked(mailbox, is_more=found.is_more)
    return found


def _take_new(mailbox: Mailbox) -> Look:
    stop = time.monotonic() + _STOP_S
    allowed = settings.MEDIAN_ALLOWED_NETWORKS
    taken = 0
    with imap.opened(_login(mailbox), folder=mailbox.folder, allowed_networks=allowed, within_s=_DEADLINE_S) as folder:
        validity = folder.uid_validity
        # A folder that is new to us, or has new numbers, is told by time. What is here already is known by its digest.
        is_known = mailbox.uid_validity == validity
        uids = folder.after(mailbox.last_uid) if is_known else folder.since(mailbox.checked_at or mailbox.begun_at)
        for count, uid in enumerate(uids):
            if count == AT_ONCE or time.monotonic() > stop:
                return Look(taken, is_more=True)
            taken += _take(folder, uid, mailbox=mailbox)
            if not mailboxes.advance(mailbox, uid_validity=validity, to=uid):
                break  # it was set up anew meanwhile
        if not uids and not is_known:
            mailboxes.advance(mailbox, uid_validity=validity, to=max(folder.next_uid - 1, 0))
    return Look(taken)


def _login(mailbox: Mailbox) -> imap.Login:
    try:
        password = secrets.unseal(mailbox.sealed_password)
    except secrets.UnsealError as error:
        raise MailboxError("The stored password cannot be read any more. Type it again.") from error
    return imap.Login(
        host=mailbox.host, port=mailbox.port, security=mailbox.security, username=mailbox.username, password=password
    )


def _take(folder: Folder, uid: int, *, mailbox: Mailbox) -> bool:
    """Whether the mail was new. One that breaks us is kept aside and stays unread: it must not hold up the others."""
    fetched = folder.fetch(uid, most=parsing.SIZE_LIMIT)
    if fetched is None:
        return False
    is_cut = fetched.size > parsing.SIZE_LIMIT
    raw = fetched.raw[: inbound.BEGINNING] if is_cut else fetched.raw
    try:
        row = inbound.take(raw, channel=mailbox.channel, is_cut=is_cut)
    except AWAY:
        raise
    except Exception as error:
        logger.exception("A mail of a mailbox could not be taken in")
        _leave(raw, mailbox=mailbox, why=type(error).__name__)
        return False
    folder.mark_seen(uid)
    return row is not None


def _leave(raw: bytes, *, mailbox: Mailbox, why: str) -> None:
    channel: EmailChannel = mailbox.channel
    reason = f"It could not be taken in ({why}). It is in the mailbox, unread"
    if reports.left(channel=channel, digest=hashlib.sha256(raw).hexdigest(), reason=reason):
        mailboxes.record_failure(mailbox, why=f"{reason}.")
