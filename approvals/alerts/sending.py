"""Alerts and answers to presses on their way out, through the client of the tools. No network inside a transaction."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings
from django.urls import reverse

from approvals import warnings
from approvals.alerts import outbox, presses, wording
from approvals.alerts.discord import Discord
from approvals.alerts.service import Reach
from approvals.alerts.slack import Slack
from approvals.models import Alert, AlertChannel, AlertPress, Service, State, ToolApproval
from median_site.lib import secrets, times
from median_site.lib.db import in_thread
from tools import calls
from tools.client import Limit, Outbound
from tools.models import ToolRun
from webhooks.told import Told

REACHES: Final[Mapping[str, Reach]] = {Service.SLACK: Slack(), Service.DISCORD: Discord()}
_LIMIT: Final = Limit(bytes=100_000)


async def run(alert: Alert) -> None:
    """Bring a claimed alert's message to the request's newest state. At least once: a process that dies before it
    recorded the answer leaves it to be sent again."""
    if outbound := await in_thread(_message, alert):
        await in_thread(outbox.record, alert, await _sent(alert.channel, outbound))
    else:
        await in_thread(outbox.settle, alert)


async def answer(press: AlertPress) -> None:
    """Decide what a claimed press asked for, and tell the presser alone what stands in the way. Whoever denies is asked
    for a reason first; where the form cannot be opened any more, the press itself denies."""
    if form := await in_thread(_form, press):
        opened = await _sent(press.channel, form)
        if opened.verdict == "done":
            await in_thread(presses.record, press, None)
            return
    told = None
    if text := await in_thread(presses.decide, press):
        reply = secrets.unseal(press.sealed_reply)
        reach, token = REACHES[press.channel.service], secrets.unseal(press.channel.sealed_token)
        told = await _sent(press.channel, reach.whisper(token=token, user_id=press.user_id, reply=reply, text=text))
    await in_thread(presses.record, press, told)


def _form(press: AlertPress) -> Outbound | None:
    asked = presses.asks(press)
    token = secrets.unseal(press.channel.sealed_token)
    return REACHES[press.channel.service].asks(press, token=token, asked=asked) if asked else None


async def test(channel: AlertChannel) -> Told:
    """Post a sentence, and see what comes back."""
    token = secrets.unseal(channel.sealed_token)
    return await _sent(channel, REACHES[channel.service].text(channel, token=token, text=wording.TEST))


async def _sent(channel: AlertChannel, outbound: Outbound) -> Told:
    return REACHES[channel.service].read(await calls.client().send(outbound, limit=_LIMIT))


def _message(alert: Alert) -> Outbound | None:
    """None when nobody was told of the request and nobody can decide it any more."""
    rows = ToolApproval.objects.select_related("conversation__customer", "conversation__workspace")
    approval = rows.get(id=alert.approval_id)
    run = ToolRun.objects.filter(workspace_id=approval.workspace_id, id=approval.id).first()
    denied = ToolApproval.objects.filter(
        workspace_id=approval.workspace_id, conversation_id=approval.conversation_id, state=State.DENIED
    ).order_by("-decided_at")
    heeds = warnings.for_requests(
        [approval] if approval.is_decidable else [],
        denied=list(denied) if approval.is_decidable else [],
        customers={approval.conversation_id: approval.conversation.customer_id},
    )
    with times.in_zone(approval.conversation.workspace.zone):
        link = f"{settings.MEDIAN_URL}{reverse('approvals:detail', args=[approval.id])}"
        shown = wording.of(approval, run=run, warnings=heeds.get(approval.id, ()), link=link)
    if not (shown.decidable or alert.message_id):
        return None
    token = secrets.unseal(alert.channel.sealed_token)
    return REACHES[alert.channel.service].message(alert.channel, token=token, alert=alert, shown=shown)
