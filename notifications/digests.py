"""Mail that gathers what a teammate has not seen: when it is due, what is in it, and that it went.

At least once under one Message-ID; a mail that has nothing to tell is not sent. No word of a customer's leaves.
"""

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import transaction
from django.urls import reverse

from approvals.models import State, ToolApproval
from median_site.lib import clock, fragments, times
from median_site.lib.db import in_thread
from notifications import preferences
from notifications.models import Preference, Rhythm, Topic
from team import notifications as told
from team.models import Notification

logger = logging.getLogger(__name__)

# Longer than any attempt takes, and the pause after one that failed. After it the mail is due again, in any process.
HELD: Final = timedelta(minutes=5)
MOST: Final = 50


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to tell: what, when, and where it is found."""

    text: str
    at: datetime
    url: str


def claim(*, limit: int) -> list[Preference]:
    """Take up to `limit` mails that are due, each for one process."""
    if limit <= 0:
        return []
    now = clock.now()
    with transaction.atomic():
        due = Preference.objects.filter(mail_due_at__lte=now).order_by("mail_due_at")
        found = list(due.select_for_update(skip_locked=True).values_list("pk", flat=True)[:limit])
        taken = Preference.objects.filter(pk__in=found)
        taken.update(mail_due_at=now + HELD)
        return list(taken.select_related("teammate__user", "workspace"))


async def run(preference: Preference) -> None:
    """Send the mail that is due, if there is anything in it. One that cannot be sent is tried again soon."""
    until = clock.now()
    letter = await in_thread(written, preference, until=until)
    if letter is not None:
        try:
            await asyncio.to_thread(letter.send)
        except (OSError, ValueError, RuntimeError) as error:  # smtplib's are OSErrors, services' are ValueErrors
            logger.warning("A mail to a teammate could not be sent: %s", type(error).__name__)
            return
    await in_thread(sent, preference, until=until)


def sent(preference: Preference, *, until: datetime) -> None:
    """Everything until then is told. The next mail is due in its time, unless it was switched off meanwhile."""
    following = preferences.next_mail(preference, zone=preference.workspace.zone, after=until)
    ours = Preference.objects.filter(pk=preference.pk, mail_due_at=preference.mail_due_at)
    ours.exclude(rhythm=Rhythm.NEVER).update(mail_due_at=following, mailed_at=until)


def written(preference: Preference, *, until: datetime) -> EmailMultiAlternatives | None:
    """The mail, the same at every attempt; None when there is nothing to tell."""
    teammate, lines = preference.teammate, gathered(preference, until=until)
    if not lines or teammate.removed_at or not teammate.user.is_active:
        return None
    stop = settings.MEDIAN_URL + reverse("notifications:stop", args=[preferences.token(teammate.pk)])
    context = {
        "lines": lines, "workspace": preference.workspace, "stop": stop, "most": MOST,
        "settings_url": settings.MEDIAN_URL + reverse("notifications:page"),
    }  # fmt: skip
    count = "1 thing waits" if len(lines) == 1 else f"{min(len(lines), MOST)} things wait"
    with times.in_zone(preference.workspace.zone):
        letter = EmailMultiAlternatives(
            subject=f"{count} for you in {' '.join(preference.workspace.name.split())}",
            body=str(fragments.render("notifications/mail.txt", **context)),
            to=[teammate.user.email],
            headers={
                "Message-ID": _message_id(preference),
                "Auto-Submitted": "auto-generated",
                "List-Unsubscribe": f"<{stop}>",
                "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            },
        )
        letter.attach_alternative(fragments.render("notifications/mail.html", **context), "text/html")
    return letter


def gathered(preference: Preference, *, until: datetime) -> Sequence[Line]:
    """What came since the last mail and is neither read nor decided, the oldest first; at most MOST and one more."""
    since = preference.mailed_at
    mine = {"workspace_id": preference.workspace_id, "teammate_id": preference.pk}
    rows = Notification.objects.filter(
        **mine, kind__in=preference.mail, read_at=None, created_at__gt=since, created_at__lte=until
    ).order_by("id")  # fmt: skip
    lines = [
        Line(told.says(row), row.created_at, _url("inbox:thread", row.conversation_id)) for row in rows[: MOST + 1]
    ]
    if Topic.REQUEST in preference.mail:
        waiting = ToolApproval.objects.filter(
            workspace_id=preference.workspace_id, state=State.PENDING, requested_at__gt=since, requested_at__lte=until,
            expires_at__gt=until,
        ).order_by("expires_at")  # fmt: skip
        lines += [
            Line(f"Needs approval: {row.tool_label}", row.requested_at, _url("approvals:detail", row.id))
            for row in waiting[: MOST + 1]
        ]
    return sorted(lines, key=lambda line: line.at)[: MOST + 1]


def _url(name: str, id: str) -> str:
    return f"{settings.MEDIAN_URL}{reverse(name, args=[id])}"


def _message_id(preference: Preference) -> str:
    """The same for the same gathering, so that one sent twice is seen to be one."""
    digest = hashlib.sha256(f"{preference.pk} {preference.mailed_at.isoformat()}".encode()).hexdigest()[:32]
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return f"<{digest}.digest@{domain}>"
