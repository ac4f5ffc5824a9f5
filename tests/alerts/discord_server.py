"""Discord in tests: its API over a real socket, with its limits and its answers, and its signed interactions."""

import itertools
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.http import HttpResponse
from django.test import Client

from median_site.lib import clock
from tests.alerts.json_server import Json, Reply, serving

TOKEN = "MTIzNDU2Nzg5.fernhill.0123456789"
CHANNEL = "1234567890123456789"
KEY = Ed25519PrivateKey.from_private_bytes(b"fernhill" * 4)
PUBLIC = KEY.public_key().public_bytes_raw().hex()


@dataclass
class Discord:
    """`calls` are what came; `messages` what the channel shows, by id; `replies` go first."""

    url: str = ""
    calls: list[tuple[str, str, Json]] = field(default_factory=list)
    messages: dict[str, Json] = field(default_factory=dict)
    whispers: list[Json] = field(default_factory=list)
    replies: deque[Reply] = field(default_factory=deque)
    nonces: dict[str, str] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(10**18))

    def answer(self, method: str, path: str, authorization: str, body: Json) -> Reply:
        self.calls.append((method, path, body))
        if self.replies:
            return self.replies.popleft()
        kind, holder, *rest = path.split("/")
        if kind == "webhooks":
            self.whispers.append(body | {"to": "/".join([holder, *rest])})
            return Reply(body={"id": "1"})
        if authorization != f"Bot {TOKEN}":
            return Reply(401, {"code": 0, "message": "401: Unauthorized"})
        if holder != CHANNEL:
            return Reply(404, {"code": 10003, "message": "Unknown Channel"})
        for embed in body.get("embeds", []):
            if len(embed["title"]) > 256 or len(embed["description"]) > 4_096:
                return Reply(400, {"code": 50035, "message": "Invalid Form Body"})
        if method == "PATCH":
            id = rest[1]
            if id not in self.messages:
                return Reply(404, {"code": 10008, "message": "Unknown Message"})
        else:
            id = self.nonces.get(body.get("nonce", ""), "") or str(next(self._ids))
            self.nonces |= {body["nonce"]: id} if body.get("enforce_nonce") else {}
        self.messages[id] = body
        return Reply(body={"id": id})

    @property
    def message(self) -> Json:
        """The only one there is."""
        [body] = self.messages.values()
        return body


def buttons(body: Json) -> list[str]:
    """Their labels."""
    return [button["label"] for row in body["components"] for button in row["components"]]


def press(
    workspace_id: str, action: str, approval_id: str, *, user: str = "700000000000000001", id: str = ""
) -> HttpResponse:
    """Press a button as Discord tells of it."""
    return _interact(workspace_id, 3, {"custom_id": f"{action}:{approval_id}"}, user=user, id=id)


def send_off(workspace_id: str, custom_id: str, *, reason: str, user: str = "700000000000000001") -> HttpResponse:
    """Fill in the form that a press opened, and send it off."""
    field = {"type": 4, "id": 2, "custom_id": "reason", "value": reason}
    data = {"custom_id": custom_id, "components": [{"type": 18, "id": 1, "component": field}]}
    return _interact(workspace_id, 5, data, user=user)


def _interact(workspace_id: str, kind: int, data: Json, *, user: str, id: str = "") -> HttpResponse:
    payload = {
        "type": kind, "id": id or str(next(_interactions)), "application_id": "55", "token": "interaction-token",
        "member": {"user": {"id": user, "username": "sam.okafor"}}, "data": data,
    }  # fmt: skip
    return post(workspace_id, json.dumps(payload).encode())


def post(workspace_id: str, body: bytes, **headers: str) -> HttpResponse:
    """The body, rightly signed; headers in the place of that."""
    timestamp = str(int(clock.now().timestamp()))
    signature = KEY.sign(timestamp.encode() + body).hex()
    signed = {"X-Signature-Timestamp": timestamp, "X-Signature-Ed25519": signature} | headers
    return Client().post(f"/alerts/discord/{workspace_id}/", body, content_type="application/json", headers=signed)


_interactions = itertools.count(9 * 10**17)


@contextmanager
def discord_server() -> Iterator[Discord]:
    discord = Discord()
    with serving(discord.answer) as discord.url:
        yield discord
