"""The browsers that a teammate lets be pushed to: added, listed, removed. And the key that push services know us by."""

import hashlib
from typing import Final

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet

from median_site.lib import clock, secrets
from median_site.lib.errors import DomainError, NotFound, Unusable
from notifications import sealing
from notifications.models import Browser, PushKey
from notifications.preferences import mine
from team.models import Teammate
from tools import addresses, signing

MOST: Final = 20
ADDRESS_LIMIT: Final = 2_000


class TooMany(DomainError):
    code = "too_many_browsers"
    message = f"You are told in {MOST} browsers already. Remove one of them first."


def public_key() -> str:
    """What a browser subscribes with (`applicationServerKey`): base64url, the same for the whole installation."""
    return _key().public


def signing_key() -> signing.Key:
    """The private half."""
    return signing.load_key("push", secrets.unseal(_key().sealed_private_pem))


def add(teammate: Teammate, *, address: str, p256dh: str, auth: str, name: str, session_key: str) -> Browser:
    """Let this browser be pushed to, in the teammate's name and as long as the session lasts; again changes that.

    Raises Unusable with field "endpoint" or "keys", and TooMany.
    """
    _check(address)
    try:
        sealing.check(p256dh, auth)
    except sealing.KeyRefused:
        raise Unusable("The browser's keys cannot be read.", field="keys") from None
    digest = hashlib.sha256(address.encode()).hexdigest()
    others = Browser.objects.filter(**mine(teammate.actor)).exclude(digest=digest)
    if others.count() >= MOST:
        raise TooMany
    row, _ = Browser.objects.update_or_create(
        digest=digest,
        defaults={
            "workspace_id": teammate.workspace_id, "teammate": teammate, "sealed_address": secrets.seal(address),
            "p256dh": p256dh, "sealed_auth": secrets.seal(auth), "name": name[:60], "session_key": session_key,
        },
    )  # fmt: skip
    return row


def listed(teammate: Teammate) -> list[Browser]:
    """Those of the teammate that are still signed in, the oldest first."""
    return list(signed_in().filter(**mine(teammate.actor)).order_by("created_at"))


def signed_in() -> QuerySet[Browser]:
    """Browsers whose session is not over."""
    running = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=clock.now())
    return Browser.objects.filter(Exists(running))


def remove(teammate: Teammate, browser_id: str) -> None:
    """Push nothing there any more. Raises NotFound for one that is somebody else's."""
    if not Browser.objects.filter(**mine(teammate.actor), id=browser_id).delete()[0]:
        raise NotFound


def forget_over() -> int:
    """Those whose session is over, or whose teammate left. Gives how many rows went."""
    left = Browser.objects.exclude(teammate__removed_at=None)
    return (Browser.objects.exclude(id__in=signed_in().values("id")) | left).delete()[0]


def _check(address: str) -> None:
    try:
        checked = addresses.check_url(address, allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    except DomainError as error:
        raise Unusable(error.message, field="endpoint") from None
    if checked != address or len(address) > ADDRESS_LIMIT:
        raise Unusable("The push service's address cannot be used.", field="endpoint")


def _key() -> PushKey:
    """Made by whoever needs it first; of two at once one is kept."""
    if found := PushKey.objects.first():
        return found
    made = signing.new_key()
    public = signing.load_key(made.kid, made.private_pem).private.public_key()
    row = PushKey(sealed_private_pem=secrets.seal(made.private_pem), public=sealing.base64url(sealing.point(public)))
    PushKey.objects.bulk_create([row], ignore_conflicts=True)
    return PushKey.objects.get()
