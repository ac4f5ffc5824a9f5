"""/v1/webhooks and /v1/webhook-deliveries: where events are sent, and what became of each."""

from ninja import Router, Status
from pydantic import Field, StrictBool

from median_site.api import answers, gate, inputs, listing, shapes
from median_site.api.gate import KeyRequest
from webhooks import deliveries, subscriptions
from webhooks.models import Webhook, WebhookDelivery

router = Router()
sent = Router()

KINDS = "Names of events, as `kind` of `/v1/events` has them; none means all."


class NewWebhook(inputs.Body):
    url: str = Field(max_length=2_000)
    kinds: list[str] = Field(default_factory=list, max_length=200, description=KINDS)


class WebhookChange(inputs.Body):
    url: str | None = Field(None, max_length=2_000)
    kinds: list[str] | None = Field(None, max_length=200, description=KINDS)
    enabled: StrictBool | None = None


@router.get("", auth=gate.Scope("manage"), summary="List webhooks")
def index(request: KeyRequest) -> answers.Page[answers.Webhook]:
    return listing.whole([_webhook(row) for row in subscriptions.listed(request.key.workspace_id)])


@router.post("", auth=gate.Scope("manage"), summary="Have events sent to a URL", response={201: dict})
def add(request: KeyRequest, payload: NewWebhook) -> Status[answers.Webhook]:
    """The secret is in this answer and in no other. Nothing older than the webhook is sent."""
    row, secret = subscriptions.add(payload.url, by=gate.actor(request.key), kinds=payload.kinds)
    return Status(201, _webhook(row, secret=secret))


@router.get("/{webhook_id}", auth=gate.Scope("manage"), summary="Read one webhook")
def read(request: KeyRequest, webhook_id: str) -> answers.Webhook:
    return _webhook(subscriptions.find(gate.actor(request.key), webhook_id))


@router.patch("/{webhook_id}", auth=gate.Scope("manage"), summary="Change it, or switch it on or off")
def change(request: KeyRequest, webhook_id: str, payload: WebhookChange) -> answers.Webhook:
    """Fields that are left out stay as they are."""
    by = gate.actor(request.key)
    subscriptions.change(webhook_id, by=by, url=payload.url, kinds=payload.kinds)
    if payload.enabled is not None:
        subscriptions.switch(webhook_id, by=by, on=payload.enabled)
    return _webhook(subscriptions.find(by, webhook_id))


@router.delete("/{webhook_id}", auth=gate.Scope("manage"), summary="Remove it", response={204: None})
def remove(request: KeyRequest, webhook_id: str) -> Status[None]:
    subscriptions.remove(webhook_id, by=gate.actor(request.key))
    return Status(204, None)


@router.post("/{webhook_id}/rotate-secret", auth=gate.Scope("manage"), summary="A new secret beside the old one")
def rotate_secret(request: KeyRequest, webhook_id: str) -> answers.Webhook:
    """Both sign for 24 hours. The new secret is in this answer and in no other."""
    row, secret = subscriptions.rotate_secret(webhook_id, by=gate.actor(request.key))
    return _webhook(row, secret=secret)


@router.post("/{webhook_id}/test", auth=gate.Scope("manage"), summary="Send a test", response={202: dict})
def test(request: KeyRequest, webhook_id: str) -> Status[answers.Delivery]:
    """A delivery of the type `webhook.test`, tried again like every other."""
    return Status(202, _delivery(deliveries.test(webhook_id, by=gate.actor(request.key))))


@router.get("/{webhook_id}/deliveries", auth=gate.Scope("manage"), summary="List deliveries, the newest first")
def index_of_deliveries(
    request: KeyRequest, webhook_id: str, cursor: inputs.Cursor = None, limit: inputs.Limit = 50
) -> answers.Page[answers.Delivery]:
    webhook = subscriptions.find(gate.actor(request.key), webhook_id)
    rows = WebhookDelivery.objects.filter(workspace_id=webhook.workspace_id, webhook=webhook)
    return listing.page(
        rows, by="created_at", shape=lambda page: [_delivery(row) for row in page], cursor=cursor, limit=limit
    )


@sent.get("/{delivery_id}", auth=gate.Scope("manage"), summary="Read one delivery")
def read_delivery(request: KeyRequest, delivery_id: str) -> answers.Delivery:
    return _delivery(deliveries.find(gate.actor(request.key), delivery_id))


@sent.post("/{delivery_id}/replay", auth=gate.Scope("manage"), summary="Send it once more", response={202: dict})
def replay(request: KeyRequest, delivery_id: str) -> Status[answers.Delivery]:
    """Under the same `webhook-id`, at once, whatever became of it before."""
    return Status(202, _delivery(deliveries.replay(delivery_id, by=gate.actor(request.key))))


def _webhook(row: Webhook, *, secret: str | None = None) -> answers.Webhook:
    """`secret` only in the answer that made it."""
    shown: answers.Webhook = {
        "id": row.id,
        "url": row.url,
        "kinds": list(row.kinds),
        "enabled": row.is_on,
        "off_because": row.off or None,
        "failing_since": shapes.time(row.failing_since),
        "old_secret_until": shapes.time(row.old_secret_until),
        "created_at": shapes.at(row.created_at),
    }
    if secret:
        shown["secret"] = secret
    return shown


def _delivery(row: WebhookDelivery) -> answers.Delivery:
    return {
        "id": row.id,
        "webhook_id": row.webhook_id,
        "event_id": row.event_id,
        "kind": row.kind,
        "status": row.state,
        "attempts": row.attempts,
        "last_attempt_at": shapes.time(row.tried_at),
        "next_attempt_at": shapes.time(row.due_at),
        "answer_status": row.answer_status,
        "answer": row.answer or None,
        "error": row.error or None,
        "created_at": shapes.at(row.created_at),
    }
