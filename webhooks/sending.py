"""One attempt at a delivery: signed, sent once by the client of the tools, recorded. At least once in all.

The network is touched between two transactions and inside none.
"""

from typing import Final

from median_site.lib import clock, strict_json
from median_site.lib.db import in_thread
from median_site.lib.strict_json import Json
from team import chain
from team.models import Event
from tools import calls, signing
from tools.client import Limit, Outbound
from webhooks import deliveries, outcomes, subscriptions
from webhooks.models import WebhookDelivery

ANSWER_LIMIT: Final = Limit(bytes=16_384)


async def run(delivery: WebhookDelivery) -> None:
    """Send a claimed delivery. A process that dies before it recorded the answer leaves it to be sent again."""
    if outbound := await in_thread(_signed, delivery):
        came = await calls.client().send(outbound, limit=ANSWER_LIMIT)
        await in_thread(deliveries.record, delivery, outcomes.read(came, now=clock.now()))
    else:
        await in_thread(deliveries.give_up, delivery, why="The log no longer has this event.")


def body_of(delivery: WebhookDelivery) -> bytes | None:
    """The payload, the same bytes at every attempt; None when retention took the event away."""
    if delivery.event_id is None:
        return _payload(delivery.kind, chain.iso(delivery.created_at), {"webhook_id": delivery.webhook_id})
    event = Event.objects.filter(workspace_id=delivery.workspace_id, id=delivery.event_id).first()
    return _payload(event.kind, chain.iso(event.at), chain.shown(event)) if event else None


def _payload(kind: str, at: str, data: dict[str, Json]) -> bytes:
    return strict_json.dumps({"type": kind, "timestamp": at, "data": data}).encode()


def _signed(delivery: WebhookDelivery) -> Outbound | None:
    body = body_of(delivery)
    if body is None:
        return None
    webhook = delivery.webhook
    headers = signing.webhook_headers(
        subscriptions.signing_secrets(webhook), call_id=delivery.id, timestamp=signing.unix(clock.now()), body=body
    )
    return Outbound("POST", webhook.url, {"Content-Type": "application/json", **headers}, body)
