"""Standard Webhooks: the HMAC signature over `id.timestamp.body`, with one secret or several while they rotate."""

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterable

from median_tools.headers import Headers, one, unauthorized

TOLERANCE = 300  # seconds, either way


class Webhooks:
    """Verifies and makes signatures with the secrets of one endpoint, the first being the current one.

    Raises ValueError for a secret that is not `whsec_` and base64 of 24 to 64 bytes.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._keys = tuple(map(_key, secrets))
        if not self._keys:
            raise ValueError("secret is an empty list; give at least one")

    def verify(self, headers: Headers, body: bytes) -> tuple[str, float]:
        """The message's id, and until when (Unix seconds) the same message would verify. Raises ToolError 401."""
        message_id = one(headers, "webhook-id")
        timestamp = one(headers, "webhook-timestamp")
        given = one(headers, "webhook-signature").split(" ")
        if not message_id.isascii():
            raise unauthorized("webhook-id is not ASCII.")
        sent_at = _seconds(timestamp)
        right = [_signature(key, message_id, timestamp, body).encode() for key in self._keys]
        # Every pair is compared, so that the time this takes says nothing about which one fits.
        fits = [hmac.compare_digest(ours, theirs.encode()) for ours in right for theirs in given]
        if not any(fits):
            raise unauthorized("webhook-signature does not match the request.")
        return message_id, sent_at + TOLERANCE

    def sign(self, message_id: str, body: bytes) -> Headers:
        """The three headers that Median would send with this body now."""
        timestamp = str(int(time.time()))
        signature = _signature(self._keys[0], message_id, timestamp, body)
        return (("webhook-id", message_id), ("webhook-timestamp", timestamp), ("webhook-signature", signature))


def _seconds(timestamp: str) -> int:
    """The timestamp as Unix seconds, when it is near enough to now. The message says by how much it is not."""
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise unauthorized("webhook-timestamp is not a time in seconds.")
    age = time.time() - int(timestamp)
    if abs(age) > TOLERANCE:
        where = "old" if age > 0 else "in the future"
        raise unauthorized(f"webhook-timestamp is {abs(age):.0f} seconds {where}; {TOLERANCE} are allowed.")
    return int(timestamp)


def _signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise ValueError("secret must be whsec_ followed by base64 of 24 to 64 bytes")
    return key
