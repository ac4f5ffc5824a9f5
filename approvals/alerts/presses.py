"""Presses of an alert's buttons: noted before they are acknowledged, worked on afterwards by the agent process. Doing
one twice changes nothing: a request is decided once, and the same person's second answer is the first one's."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.urls import reverse

from approvals import decisions
from approvals.alerts import links, outbox, wording
from approvals.alerts.service import Pressed
from approvals.alerts.wording import Asked
from approvals.models import AlertChannel, AlertPress, ToolApproval
from median_site.lib import claims, clock, live, secrets
from median_site.lib.errors import DomainError
from webhooks import outcomes
from webhooks.told import Told

HELD: Final = timedelta(seconds=30)
ATTEMPTS: Final = 5
KEPT: Final = timedelta(days=1)


def note(channel: AlertChannel, pressed: Pressed) -> None:
    """Keep a press for the agent process. The service may tell of it more than once."""
    AlertPress.objects.bulk_create([row_of(channel, pressed)], ignore_conflicts=True)
    live.wake("agent")


def row_of(channel: AlertChannel, pressed: Pressed) -> AlertPress:
    """The row that it would be."""
    return AlertPress(
        workspace_id=channel.workspace_id, channel=channel, key=pressed.key, account=pressed.account,
        user_id=pressed.user_id, user_name=pressed.user_name, approval_id=pressed.approval_id,
        approves=pressed.approves, is_form=pressed.is_form, reason=pressed.reason.strip()[: wording.REASON_LIMIT],
        sealed_reply=secrets.seal(pressed.reply), due_at=clock.now(),
    )  # fmt: skip


def asks(press: AlertPress) -> Asked | None:
    """The form for a press of Deny that is asked for a reason first: that of a linked teammate who can still decide."""
    if press.approves or press.is_form or links.teammate_of(press) is None:
        return None
    open_now = ToolApproval.objects.decidable().filter(workspace_id=press.workspace_id, expires_at__gt=clock.now())
    rows = open_now.select_related("conversation__customer", "conversation__workspace")
    found = rows.filter(id=press.approval_id).first()
    return wording.denial(found) if found else None


def claim(*, limit: int) -> list[AlertPress]:
    """Take up to `limit` presses that wait; each goes to one process."""
    waiting = AlertPress.objects.filter(attempts__lt=ATTEMPTS, channel__removed_at=None)
    return claims.take(waiting.select_related("channel__workspace"), limit=limit, held=HELD)


def decide(press: AlertPress) -> str:
    """Do what was asked, in the name of the teammate who is linked at this moment. Gives what to tell the presser
    alone; nothing when the decision counts, since the message then says so itself."""
    teammate = links.teammate_of(press)
    if teammate is None:
        link = f"{settings.MEDIAN_URL}{reverse('alerts:link', args=[press.id])}"
        where = press.channel.workspace.name
        return f"Nothing was done: you are not linked to a teammate of {where}. Sign in to Median there and open {link}"
    try:
        if press.approves:
            decisions.approve(press.approval_id, by=teammate.actor)
        else:
            decisions.deny(press.approval_id, by=teammate.actor, reason=press.reason)
    except DomainError as error:
        # Whoever saw the buttons saw an old message.
        outbox.again([press.approval_id], workspace_id=press.workspace_id)
        live.wake("agent")
        return error.message
    return ""


def record(press: AlertPress, told: Told | None) -> None:
    """What became of telling the presser; None when there was nothing to tell."""
    pause = None
    if told and told.verdict in {"broken", "limited"} and press.attempts < ATTEMPTS:
        pause = outcomes.pause(press.attempts, wait=told.wait)
    AlertPress.objects.filter(id=press.id).update(due_at=clock.now() + pause if pause else None)


def forget_old() -> int:
    """Presses are kept for as long as the services may repeat them. Gives how many went."""
    return AlertPress.objects.filter(pressed_at__lt=clock.now() - KEPT).delete()[0]
