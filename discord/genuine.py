"""Whether a request is Discord's: its Ed25519 signature over the raw body. It says what is wrong, for the process's
log alone."""

from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.http import HttpRequest

from median_site.lib import freshness


def fault(request: HttpRequest, *, public_key: str, now: datetime) -> str:
    """What is wrong with the signature; empty when it is genuine and of the last five minutes."""
    timestamp = request.headers.get("X-Signature-Timestamp", "")
    if stale := freshness.fault(timestamp, now=now):
        return stale
    try:
        signature = bytes.fromhex(request.headers.get("X-Signature-Ed25519", ""))
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(
            signature, timestamp.encode() + request.body
        )
    except ValueError:
        return "the signature is not hexadecimal"
    except InvalidSignature:
        return "the signature does not fit the body"
    return ""


def is_key(public_key: str) -> bool:
    """Whether this can be an application's public key: 64 hexadecimal digits that are a point of the curve."""
    try:
        return bool(Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)))
    except ValueError:
        return False
