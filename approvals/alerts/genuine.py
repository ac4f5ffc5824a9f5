"""Whether a request is Slack's: its signature over the raw body. It says what is wrong, for the process's log alone."""

import hashlib
import hmac
from datetime import datetime

from django.http import HttpRequest

from median_site.lib import freshness


def slack_fault(request: HttpRequest, *, secret: str, now: datetime) -> str:
    """What is wrong with Slack's v0 signature; empty when it is genuine and of the last five minutes."""
    timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
    if stale := freshness.fault(timestamp, now=now):
        return stale
    own = hmac.new(secret.encode(), b"v0:%b:%b" % (timestamp.encode(), request.body), hashlib.sha256).hexdigest()
    is_right = hmac.compare_digest(f"v0={own}".encode(), request.headers.get("X-Slack-Signature", "").encode())
    return "" if is_right else "the signature does not fit the body"
