"""Webhooks: adding, changing, rotating, removing, switching. No request leaves from here."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from median_site.lib import clock, secrets
from median_site.lib.actors import Actor, system
from median_site.lib.errors import DomainError, Unusable, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from team.models import Workspace
from tools import addresses, signing
from webhooks.models import DeliveryState, Off, Webhook, WebhookDelivery

MOST: Final = 20
# For so long both secrets sign after a rotation.
OVERLAP: Final = timedelta(hours=24)
# Without a single delivery for so long, a webhook is switched off.
PATIENCE: Final = timedelta(days=3)


class TooMany(DomainError):
    code = "too_many_webhooks"
    message = f"A workspace has at most {MOST} webhooks. Remove another one first."


def add(url: str, *, by: Actor, kinds: Iterable[str] = ()) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown this once. Raises DomainError with field "url" or "kinds"."""
    url, wanted, secret = _checked(url), _known(kinds), signing.new_secret()
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).only("id").get(id=by.workspace_id)
        if Webhook.objects.filter(workspace_id=by.workspace_id, removed_at=None).count() >= MOST:
            raise TooMany
        row = Webhook.objects.create(
            workspace_id=by.workspace_id, url=url, kinds=wanted, sealed_secret=secrets.seal(secret)
        )
        _record(Kind.WEBHOOK_ADDED, row, by=by)
    return row, secret


def listed(workspace_id: str) -> list[Webhook]:
    """The webhooks, the oldest first."""
    return list(Webhook.objects.filter(workspace_id=workspace_id, removed_at=None).order_by("created_at"))


def find(by: Actor, webhook_id: str) -> Webhook:
    """The webhook, unless it is removed or another workspace's: then NotFound."""
    return existing(Webhook.objects.filter(workspace_id=by.workspace_id, id=webhook_id, removed_at=None).first())


def change(webhook_id: str, *, by: Actor, url: str | None = None, kinds: Iterable[str] | None = None) -> Webhook:
    """Send to another URL, or other events, from now on; what waits goes to the new URL. Errors as of `add`."""
    find(by, webhook_id)
    given = {"url": _checked(url) if url is not None else None, "kinds": _known(kinds) if kinds is not None else None}
    with transaction.atomic():
        row = _locked(by, webhook_id)
        changed = [name for name, value in given.items() if value is not None and value != getattr(row, name)]
        for name in changed:
            setattr(row, name, given[name])
        if changed:
            row.save(update_fields=changed)
            _record(Kind.WEBHOOK_CHANGED, row, by=by, what=" ".join(changed))
    return row


def switch(webhook_id: str, *, by: Actor, on: bool) -> Webhook:
    """Switch it on for events from now on, or off; what waits is given up then. Again changes nothing."""
    with transaction.atomic():
        row = _locked(by, webhook_id)
        if row.is_on == on:
            return row
        if on:
            row.off, row.since, row.failing_since = "", clock.now(), None
            row.save(update_fields=["off", "since", "failing_since"])
        else:
            _stop(row, Off.PEOPLE)
        _record(Kind.WEBHOOK_CHANGED, row, by=by, what="on" if on else "off")
    return row


def rotate_secret(webhook_id: str, *, by: Actor) -> tuple[Webhook, str]:
    """A new secret, shown this once; the one it replaces signs beside it for a day. A still older one ends now."""
    secret = signing.new_secret()
    with transaction.atomic():
        row = _locked(by, webhook_id)
        row.sealed_old_secret, row.old_secret_until = row.sealed_secret, clock.now() + OVERLAP
        row.sealed_secret = secrets.seal(secret)
        row.save(update_fields=["sealed_old_secret", "old_secret_until", "sealed_secret"])
        _record(Kind.WEBHOOK_CHANGED, row, by=by, what="secret")
    return row, secret


def remove(webhook_id: str, *, by: Actor) -> None:
    """Send nothing more and forget its secrets. A second time: NotFound."""
    with transaction.atomic():
        row = _locked(by, webhook_id)
        _remove(row)
        _record(Kind.WEBHOOK_REMOVED, row, by=by)


def remove_all(workspace_id: str) -> None:
    """The workspace is closed, in the caller's transaction: nothing leaves it any more."""
    for row in Webhook.objects.select_for_update(no_key=True).filter(workspace_id=workspace_id, removed_at=None):
        _remove(row)


def note_failure(webhook: Webhook, *, gone: bool) -> None:
    """An attempt failed, in the caller's transaction, which has the webhook locked. May switch it off."""
    now = clock.now()
    if not webhook.is_on:
        return
    if webhook.failing_since is None:
        webhook.failing_since = now
        webhook.save(update_fields=["failing_since"])
    if gone or webhook.failing_since <= now - PATIENCE:
        _stop(webhook, Off.GONE if gone else Off.FAILING)
        _record(Kind.WEBHOOK_DISABLED, webhook, by=system(webhook.workspace_id), why=webhook.off)


def signing_secrets(webhook: Webhook) -> list[str]:
    """The secrets that sign now: the current one, and during a rotation the old one beside it."""
    held = [secrets.unseal(webhook.sealed_secret)]
    if webhook.is_rotating:
        held.append(secrets.unseal(webhook.sealed_old_secret))
    return held


def forget_old_secrets() -> int:
    """Erase the secrets whose day is over. Gives how many."""
    over = Webhook.objects.filter(old_secret_until__lte=clock.now())
    return over.update(sealed_old_secret="", old_secret_until=None)


def _checked(url: str) -> str:
    return addresses.check_url(url, allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)


def _known(kinds: Iterable[str]) -> list[str]:
    wanted = sorted(set(kinds))
    if unknown := set(wanted) - set(Kind):
        raise Unusable(f"No event is called “{min(unknown)[:40]}”.", field="kinds", status=422)
    return wanted


def _remove(webhook: Webhook) -> None:
    _stop(webhook, Off.PEOPLE)
    webhook.removed_at, webhook.sealed_secret, webhook.sealed_old_secret = clock.now(), "", ""
    webhook.save(update_fields=["removed_at", "sealed_secret", "sealed_old_secret"])


def _stop(webhook: Webhook, why: Off) -> None:
    webhook.off = why
    webhook.save(update_fields=["off"])
    waiting = WebhookDelivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.FAILED, due_at=None, error="The webhook was switched off.")


def _record(kind: Kind, webhook: Webhook, *, by: Actor, **more: Json) -> None:
    """To the log goes the host alone: whoever knows a whole URL of this kind may often write there."""
    host: dict[str, Json] = {"host": urlsplit(webhook.url).netloc}
    events.record(kind, by=by, subject_id=webhook.id, data=host | more)


def _locked(by: Actor, webhook_id: str) -> Webhook:
    rows = Webhook.objects.select_for_update(no_key=True)
    return existing(rows.filter(workspace_id=by.workspace_id, id=webhook_id, removed_at=None).first())
