"""What the SDK's tests share: an endpoint's secret, a call as Median sends it, signatures by an independent library."""

import json
from datetime import UTC, datetime
from typing import Any

from median_tools.admission import Request
from median_tools.answers import Answer
from standardwebhooks.webhooks import Webhook

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER_SECRET = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
ANA = {"verified": True, "externalId": "user_123", "email": "ana@example.com", "name": "Ana"}
NOBODY = {"verified": False}


def call_body(
    tool: str,
    given: object = None,
    *,
    call_id: str = "call_1",
    visitor: dict[str, object] | None = None,
    **more: object,
) -> bytes:
    """The body of a call, spaced and escaped in a way that no parse and re-write would give back."""
    context = {"conversationId": "k57c", "risk": "low", "visitor": visitor or ANA, **more}
    call = {"tool": tool, "toolCallId": call_id, "input": {} if given is None else given, "context": context}
    return json.dumps(call, indent=1, ensure_ascii=False).encode()


def signed(body: bytes, *, secret: str = SECRET, call_id: str = "call_1", at: float | None = None) -> dict[str, str]:
    """The three headers, made by standardwebhooks. `at` is in Unix seconds, now by default."""
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": Webhook(secret).sign(call_id, moment, body.decode()),
    }


def post(body: bytes, headers: dict[str, str]) -> Request:
    return Request("POST", tuple(headers.items()), body)


def get(headers: dict[str, str]) -> Request:
    return Request("GET", tuple(headers.items()), b"")


def data(answer: Answer) -> Any:
    return json.loads(answer.body)
