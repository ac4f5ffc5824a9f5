"""Deliveries: the row is the queue. Making them, claiming, recording what became of an attempt, replaying."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import F, Q

from median_site.lib import clock, live
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from team.models import Event
from webhooks import outcomes, subscriptions
from webhooks.models import HELD, TEST, DeliveryState, Webhook, WebhookDelivery
from webhooks.outcomes import Outcome

# Attempts to one webhook at a time, in one process: a receiver that hangs holds up its own deliveries alone. While
# nothing reaches it, it gets one at a time, after all the others.
EACH: Final = 4
PAGE: Final = 50
KEPT: Final = timedelta(days=30)

# Of every webhook as many as it has room for. `busy`: how many are under way in this process.
_DUE: Final = """
select due.id from webhooks_webhook webhook
left join unnest(%s::text[], %s::int[]) busy (id, n) on busy.id = webhook.id
cross join lateral (
    select id, due_at from webhooks_webhookdelivery
    where webhook_id = webhook.id and state = 'waiting' and due_at <= %s
    order by due_at
    limit greatest(0, case when webhook.failing_since is null then %s else 1 end - coalesce(busy.n, 0))
    for update skip locked
) due
where webhook.off = '' and webhook.removed_at is null
order by webhook.failing_since is not null, due.due_at limit %s
"""


class WebhookOff(DomainError):
    code = "webhook_off"
    message = "This webhook is off. Switch it on first."


def queue(events: Iterable[Event], *, workspace_id: str) -> None:
    """Send these newly linked events to whoever wants them, in the caller's transaction; again changes nothing."""
    webhooks = Webhook.objects.filter(workspace_id=workspace_id, off="", removed_at=None)
    now = clock.now()
    if rows := [
        WebhookDelivery(workspace_id=workspace_id, webhook=webhook, event_id=event.id, kind=event.kind, due_at=now)
        for webhook in webhooks
        for event in events
        if webhook.wants(event)
    ]:
        WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)


def test(webhook_id: str, *, by: Actor) -> WebhookDelivery:
    """Send a delivery that is about nothing, so that a receiver can be tried out. Raises WebhookOff."""
    webhook = subscriptions.find(by, webhook_id)
    if not webhook.is_on:
        raise WebhookOff
    made = WebhookDelivery.objects.create(
        workspace_id=webhook.workspace_id, webhook=webhook, kind=TEST, due_at=clock.now()
    )
    live.wake("agent")
    return made


def find(by: Actor, delivery_id: str) -> WebhookDelivery:
    """The delivery, unless its webhook is removed or it is another workspace's: then NotFound."""
    rows = WebhookDelivery.objects.filter(workspace_id=by.workspace_id, webhook__removed_at=None)
    return existing(rows.select_related("webhook").filter(id=delivery_id).first())


def page(webhook: Webhook, *, before: str = "") -> tuple[list[WebhookDelivery], str]:
    """Deliveries, the newest first, after the one with the id `before`; and the id to go on after, "" at the end."""
    rows = WebhookDelivery.objects.filter(workspace_id=webhook.workspace_id, webhook=webhook)
    if last := rows.filter(id=before).first() if before else None:
        rows = rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__lt=last.id))
    found = list(rows.order_by("-created_at", "-id")[: PAGE + 1])
    return found[:PAGE], found[PAGE - 1].id if len(found) > PAGE else ""


def replay(delivery_id: str, *, by: Actor) -> WebhookDelivery:
    """Send it once more, under the same id, with all its attempts before it. One under way stays as it is.

    Raises WebhookOff, and DomainError when the log no longer has the event.
    """
    delivery = find(by, delivery_id)
    if not delivery.webhook.is_on:
        raise WebhookOff
    if delivery.event_id and not Event.objects.filter(id=delivery.event_id).exists():
        raise DomainError("The log no longer has this event.", code="event_gone", status=409)
    idle = Q(claimed_at=None) | Q(claimed_at__lte=clock.now() - HELD)
    again = WebhookDelivery.objects.filter(idle, id=delivery_id)
    again.update(state=DeliveryState.WAITING, attempts=0, due_at=clock.now(), claimed_at=None)
    live.wake("agent")
    delivery.refresh_from_db()
    return delivery


def claim(*, limit: int, under_way: Counter[str]) -> list[WebhookDelivery]:
    """Take up to `limit` deliveries that are due, each for one process. `under_way` counts by webhook."""
    if limit <= 0:
        return []
    now = clock.now()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_DUE, [list(under_way.keys()), list(under_way.values()), now, EACH, limit])
            due = [row_id for (row_id,) in cursor.fetchall()]
        taken = WebhookDelivery.objects.filter(id__in=due)
        if due:
            taken.update(due_at=now + HELD, claimed_at=now, attempts=F("attempts") + 1)
        return list(taken.select_related("webhook")) if due else []


def record(delivery: WebhookDelivery, outcome: Outcome) -> None:
    """What became of an attempt. A delivery counts whoever made it; a failure only while the claim was ours."""
    now = clock.now()
    said = {"tried_at": now, "answer_status": outcome.status, "answer": outcome.answer, "error": outcome.error}
    waiting = WebhookDelivery.objects.filter(id=delivery.id, state=DeliveryState.WAITING)
    if outcome.delivered:
        waiting.update(state=DeliveryState.DELIVERED, due_at=None, claimed_at=None, **said)
        Webhook.objects.filter(id=delivery.webhook_id).exclude(failing_since=None).update(failing_since=None)
        return
    pause = None if outcome.is_gone else outcomes.pause(delivery.attempts, wait=outcome.wait)
    state = DeliveryState.FAILED if pause is None else DeliveryState.WAITING
    with transaction.atomic():
        # The webhook first, as wherever both are changed.
        webhook = Webhook.objects.select_for_update(no_key=True).get(id=delivery.webhook_id)
        ours = waiting.filter(claimed_at=delivery.claimed_at)
        if ours.update(state=state, due_at=now + pause if pause else None, claimed_at=None, **said):
            subscriptions.note_failure(webhook, gone=outcome.is_gone)


def give_up(delivery: WebhookDelivery, *, why: str) -> None:
    """There is nothing to send."""
    waiting = WebhookDelivery.objects.filter(id=delivery.id, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.FAILED, due_at=None, claimed_at=None, error=why)


def forget_old() -> int:
    """Deliveries are for looking at what went wrong lately. Gives how many went."""
    old = WebhookDelivery.objects.filter(created_at__lt=clock.now() - KEPT)
    return old.exclude(state=DeliveryState.WAITING).delete()[0]
