"""Mailboxes that mail is fetched from: setting one up, claiming those that are due, and what came of a look."""

import re
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet

from mail import channels
from mail.models import EmailChannel, Mailbox, Security
from median_site.lib import actors, clock, secrets
from median_site.lib.actors import Actor
from median_site.lib.errors import Unusable, existing
from team import events
from team.events import Kind

# Longer than any look takes. After it the mailbox is due again, for any process.
HELD: Final = timedelta(minutes=3)
# The job comes each minute, and finds a mailbox due that was looked into by the last one.
EVERY: Final = timedelta(seconds=45)
_LONGEST_PAUSE: Final = timedelta(minutes=30)
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,253}")
# What another of makes it another folder, whose mails have other numbers.
_PLACE: Final = ("host", "port", "username", "folder")


def of(channel: EmailChannel | None) -> Mailbox | None:
    return Mailbox.objects.filter(channel=channel).first() if channel else None


def save(
    *, by: Actor, host: str, port: str, security: str, username: str, password: str, folder: str
) -> Mailbox:  # fmt: skip
    """Set the mailbox up, or change it; a blank password stays as it is. Raises Unusable with its field."""
    given = {
        "host": _host(host), "port": _port(port), "security": _security(security),
        "username": _text(username, field="username", words="The user name", most=320),
        "folder": _text(folder or "INBOX", field="folder", words="The folder’s name", most=200),
    }  # fmt: skip
    with transaction.atomic():
        channel = existing(EmailChannel.objects.select_for_update().filter(workspace_id=by.workspace_id).first())
        row = of(channel) or Mailbox(workspace_id=by.workspace_id, channel=channel)
        if not password and (not row.sealed_password or row.host != given["host"]):
            # A password never goes to another host than it was typed for.
            raise Unusable("Type the password of the mailbox.", field="password")
        if any(getattr(row, name) != given[name] for name in _PLACE):
            row.uid_validity, row.last_uid, row.begun_at, row.checked_at = None, 0, clock.now(), None
        for name, value in given.items():
            setattr(row, name, value)
        if password:
            row.sealed_password = secrets.seal(_text(password, field="password", words="The password", most=1_000))
        row.due_at, row.claimed_at, row.failures, row.error = clock.now(), None, 0, ""
        row.save()
        _record(Kind.EMAIL_CHANNEL_CHANGED, row, by=by)
    return row


def remove(*, by: Actor) -> None:
    """Fetch no more mail. A second time: NotFound."""
    with transaction.atomic():
        row = _mine(by)
        _record(Kind.EMAIL_CHANNEL_CHANGED, row, by=by)
        row.delete()


def claim_due() -> Mailbox | None:
    """Take a mailbox that is due, for one process; those that failed after all others, since one may hang again."""
    due = Mailbox.objects.filter(due_at__lte=clock.now()).order_by("failures", "due_at")
    with transaction.atomic():
        return _claimed(due.select_for_update(skip_locked=True, of=("self",)).select_related("channel").first())


def claim(*, by: Actor) -> Mailbox | None:
    """Take the actor's workspace's, due or not; None while somebody looks into it."""
    with transaction.atomic():
        row = _mine(by)
        return None if row.claimed_at and row.due_at > clock.now() else _claimed(row)


def advance(row: Mailbox, *, uid_validity: int, to: int) -> bool:
    """The mails up to this one are in the database. False if the claim is over."""
    return bool(_ours(row).update(uid_validity=uid_validity, last_uid=to))


def looked(row: Mailbox, *, is_more: bool) -> None:
    """A look went through."""
    now = clock.now()
    with transaction.atomic():
        changed = _ours(row).update(
            claimed_at=None, due_at=now if is_more else now + EVERY, checked_at=now, failures=0, error=""
        )
        if changed and row.error:
            _record(Kind.EMAIL_MAILBOX_MENDED, row, by=actors.system(row.workspace_id))


def failed(row: Mailbox, *, why: str) -> None:
    """A look failed: the next one is later, the more in a row failed. The log says so once for each reason."""
    pause = min(timedelta(minutes=2 ** min(row.failures, 10)), _LONGEST_PAUSE)
    with transaction.atomic():
        changed = _ours(row).update(
            claimed_at=None, due_at=clock.now() + pause, failures=F("failures") + 1, error=why[:300]
        )
        if changed and row.error != why[:300]:
            record_failure(row, why=why)


def record_failure(row: Mailbox, *, why: str) -> None:
    _record(Kind.EMAIL_MAILBOX_FAILED, row, by=actors.system(row.workspace_id), why=why[:300])


def _claimed(row: Mailbox | None) -> Mailbox | None:
    if row:
        row.claimed_at, row.due_at = clock.now(), clock.now() + HELD
        row.save(update_fields=["claimed_at", "due_at"])
    return row


def _ours(row: Mailbox) -> QuerySet[Mailbox]:
    """The row while this process's claim holds: neither taken by another, nor set up anew."""
    return Mailbox.objects.filter(id=row.id, claimed_at=row.claimed_at)


def _mine(by: Actor) -> Mailbox:
    channel = channels.mine(by)
    return existing(
        Mailbox.objects.select_for_update(of=("self",)).select_related("channel").filter(channel=channel).first()
    )


def _host(given: str) -> str:
    host = given.strip().lower()
    if not _HOST.fullmatch(host):
        raise Unusable("Type the mail server’s name, such as imap.example.com.", field="host")
    return host


def _port(given: str) -> int:
    if not given.strip().isascii() or not given.strip().isdigit() or not 0 < int(given) < 65_536:
        raise Unusable("The port is a number from 1 to 65535.", field="port")
    return int(given)


def _security(given: str) -> str:
    if given not in Security.values:
        raise Unusable("Choose how the connection is encrypted.", field="security")
    return given


def _text(given: str, *, field: str, words: str, most: int) -> str:
    text = given if field == "password" else given.strip()
    if not 0 < len(text) <= most or not text.isprintable():
        raise Unusable(f"{words} has 1 to {most:,} characters, on one line.", field=field)
    return text


def _record(kind: Kind, row: Mailbox, *, by: Actor, **data: str) -> None:
    events.record(kind, by=by, subject_id=row.channel_id, data={"address": row.channel.address, **data})
