"""Whether a request is Slack's or Discord's: their signatures over the raw body. Pure; it says what is wrong, for the
process's log alone."""

import hashlib
import hmac
from datetime import datetime, timedelta
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TOLERANCE: Final = timedelta(minutes=5)
_DIGITS: Final = 11  # seconds, not milliseconds


def slack_fault(body: bytes, *, timestamp: str, signature: str, secret: str, now: datetime) -> str:
    """What is wrong with Slack's v0 signature; empty when it is genuine and of the last five minutes."""
    if fault := _age_fault(timestamp, now=now):
        return fault
    own = hmac.new(secret.encode(), b"v0:%b:%b" % (timestamp.encode(), body), hashlib.sha256).hexdigest()
    is_right = hmac.compare_digest(f"v0={own}".encode(), signature.encode())
    return "" if is_right else "the signature does not fit the body"


def discord_fault(body: bytes, *, timestamp: str, signature: str, public_key: str, now: datetime) -> str:
    """What is wrong with Discord's Ed25519 signature; empty when it is genuine and of the last five minutes."""
    if fault := _age_fault(timestamp, now=now):
        return fault
    try:
        raw = bytes.fromhex(signature)
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(raw, timestamp.encode() + body)
    except ValueError:
        return "the signature is not hexadecimal"
    except InvalidSignature:
        return "the signature does not fit the body"
    return ""


def _age_fault(timestamp: str, *, now: datetime) -> str:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < _DIGITS):
        return "the timestamp is not a number of seconds"
    off = int(timestamp) - now.timestamp()
    if abs(off) > TOLERANCE.total_seconds():
        return f"the timestamp is {abs(off):.0f} seconds {'ahead' if off > 0 else 'old'}; is a clock wrong?"
    return ""
