"""A workspace's address for mail: setting it up, changing it, removing it, and finding whose a mail is."""

import hashlib
import secrets as chance
from collections.abc import Iterable

from django.db import transaction

from mail import addresses
from mail.models import EmailChannel
from median_site.lib import secrets
from median_site.lib.actors import Actor
from median_site.lib.errors import Unusable, existing
from team import events
from team.events import Kind
from team.models import Workspace


def of(workspace_id: str) -> EmailChannel | None:
    """The workspace's channel, if it has one."""
    return EmailChannel.objects.filter(workspace_id=workspace_id).first()


def mine(by: Actor) -> EmailChannel:
    """The actor's workspace's. Raises NotFound without one."""
    return existing(of(by.workspace_id))


def save(*, by: Actor, address: str, name: str, signs_replies: bool) -> EmailChannel:
    """Set the address that customers write to, and under which name replies come. Raises Unusable with its field."""
    wanted, name = address.strip().lower(), " ".join(name.split())
    if not addresses.is_plain(wanted):
        raise Unusable("Type an address such as support@example.com, without a plus.", field="address")
    if not name or len(name) > 80:
        raise Unusable("The name has 1 to 80 characters.", field="name")
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).only("id").get(id=by.workspace_id)
        if EmailChannel.objects.filter(address=wanted).exclude(workspace_id=by.workspace_id).exists():
            raise Unusable("This address is in use already.", field="address")
        row = of(by.workspace_id) or EmailChannel(workspace_id=by.workspace_id)
        row.address, row.name, row.signs_replies = wanted, name, signs_replies
        if not row.sealed_token:
            _renew(row)
        row.save()
        _record(Kind.EMAIL_CHANNEL_CHANGED, row, by=by)
    return row


def renew_token(*, by: Actor) -> EmailChannel:
    """Another address for handing in mail; the former one is closed now."""
    with transaction.atomic():
        row = _locked(by)
        _renew(row)
        row.save(update_fields=["sealed_token", "token_hash"])
        _record(Kind.EMAIL_CHANNEL_CHANGED, row, by=by)
    return row


def remove(*, by: Actor) -> None:
    """Take no more mail in and send none. Threads stay as they are. A second time: NotFound."""
    with transaction.atomic():
        row = _locked(by)
        _record(Kind.EMAIL_CHANNEL_REMOVED, row, by=by)
        row.delete()


def token_of(row: EmailChannel) -> str:
    return secrets.unseal(row.sealed_token)


def by_token(token: str) -> EmailChannel:
    """The channel whose token this is; found by its hash, so that no answer's time tells how much of one was right."""
    return existing(EmailChannel.objects.filter(token_hash=_hash(token)).first())


def receiving(envelope: str | None, named: Iterable[str]) -> list[tuple[EmailChannel, str]]:
    """Whose mail it is, and to which address: the one that it was delivered to, else everybody's that its headers
    name. Several workspaces may each get it."""
    return _receiving([envelope or ""]) or _receiving(named)


def _receiving(recipients: Iterable[str]) -> list[tuple[EmailChannel, str]]:
    wanted = {addresses.untagged(each): each for each in reversed([each for each in recipients if "@" in each])}
    rows = EmailChannel.objects.filter(address__in=wanted)
    return [(row, wanted[row.address]) for row in rows]


def _locked(by: Actor) -> EmailChannel:
    return existing(EmailChannel.objects.select_for_update().filter(workspace_id=by.workspace_id).first())


def _renew(row: EmailChannel) -> None:
    token = chance.token_urlsafe(24)
    row.sealed_token, row.token_hash = secrets.seal(token), _hash(token)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _record(kind: Kind, row: EmailChannel, *, by: Actor) -> None:
    events.record(kind, by=by, subject_id=row.id, data={"address": row.address})
