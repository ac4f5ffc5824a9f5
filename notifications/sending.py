"""One attempt at a push: looked up, sealed for the browser, sent by the client of the tools, recorded.

The network is touched between two transactions and inside none. No word of a customer's leaves.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from approvals.models import State, ToolApproval
from median_site.lib import clock, secrets, strict_json
from median_site.lib.db import in_thread
from median_site.lib.strict_json import Json
from notifications import browsers, pushes, sealing
from notifications.models import Browser, Preference, Push, Topic
from team import notifications as told
from team.models import Notification
from tools import calls, signing
from tools.client import Limit, Outbound
from webhooks import outcomes

ANSWER_LIMIT: Final = Limit(bytes=16_384)
# How long a push service may believe us (RFC 8292: at most a day).
BELIEVED: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Message:
    """What a browser shows. `tag`: a newer one with the same takes its place. Of no use after `until`."""

    tag: str
    body: str
    path: str
    until: datetime


async def run(push: Push) -> None:
    """Send a claimed push, or drop it when there is nothing left to tell."""
    if outbound := await in_thread(built, push):
        came = await calls.client().send(outbound, limit=ANSWER_LIMIT)
        await in_thread(pushes.record, push, outcomes.read(came, now=clock.now()))
    else:
        await in_thread(pushes.drop, push)


def built(push: Push) -> Outbound | None:
    """The request to the push service; None when the person signed out, chose otherwise, left, or knows by now."""
    browser, message = push.browser, _message(push)
    if message is None or message.until <= clock.now() or not _may_be_told(push):
        return None
    shown: Json = {
        "tag": message.tag,
        "title": browser.teammate.workspace.name,
        "body": message.body,
        "path": message.path,
    }
    address = secrets.unseal(browser.sealed_address)
    body = sealing.seal(
        strict_json.dumps(shown).encode(), p256dh=browser.p256dh, auth=secrets.unseal(browser.sealed_auth)
    )
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "TTL": str(max(0, int((message.until - clock.now()).total_seconds()))),
        "Urgency": "high" if push.topic == Topic.REQUEST else "normal",
        # One that still waits at the service for the browser gives way to a newer one: 32 characters of base64url.
        "Topic": hashlib.sha256(message.tag.encode()).hexdigest()[:32],
        "Authorization": authorization(address, now=clock.now()),
    }
    return Outbound("POST", address, headers, body)


def authorization(address: str, *, now: datetime) -> str:
    """Who we are, to one push service (RFC 8292)."""
    parts = urlsplit(address)
    claims: dict[str, object] = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": signing.unix(now + BELIEVED),
        "sub": _contact(),
    }
    return f"vapid t={signing.sign(browsers.signing_key(), claims=claims)}, k={browsers.public_key()}"


def _contact() -> str:
    """Where a push service's people may ask about us."""
    if settings.MEDIAN_URL.startswith("https:"):
        return str(settings.MEDIAN_URL)
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"


def _may_be_told(push: Push) -> bool:
    teammate = push.browser.teammate
    chosen: Preference | None = getattr(teammate, "preference", None)
    chose_it = push.topic == pushes.TEST or chosen is None or push.topic in chosen.push
    # Somebody of another workspace may have signed in there since.
    own = Browser.objects.filter(id=push.browser_id, workspace_id=push.workspace_id)
    here = own.filter(teammate__removed_at=None, teammate__user__is_active=True)
    return chose_it and here.filter(id__in=browsers.signed_in().values("id")).exists()


def _message(push: Push) -> Message | None:
    if push.topic == pushes.TEST:
        until = push.created_at + pushes.KEPT
        return Message("test", "This is how Median tells you.", "/settings/notifications/", until)
    if push.topic == Topic.REQUEST:
        found = ToolApproval.objects.filter(
            workspace_id=push.workspace_id, id=push.subject_id, state=State.PENDING
        ).first()  # fmt: skip
        if found is None:
            return None
        return Message(found.id, f"Needs approval: {found.tool_label}", f"/approvals/{found.id}/", found.expires_at)
    row = Notification.objects.filter(
        workspace_id=push.workspace_id, teammate_id=push.browser.teammate_id, id=push.subject_id, read_at=None
    ).first()
    if row is None:
        return None
    return Message(f"notice-{row.id}", told.says(row), f"/inbox/{row.conversation_id}/", row.created_at + pushes.KEPT)
