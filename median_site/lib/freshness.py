"""Whether a signed request was made just now, by the timestamp under its signature. Pure."""

from datetime import datetime, timedelta
from typing import Final

TOLERANCE: Final = timedelta(minutes=5)
_DIGITS: Final = 11  # seconds, not milliseconds


def fault(timestamp: str, *, now: datetime) -> str:
    """What is wrong with a timestamp in seconds; empty when it is of the five minutes around now."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < _DIGITS):
        return "the timestamp is not a number of seconds"
    off = int(timestamp) - now.timestamp()
    if abs(off) > TOLERANCE.total_seconds():
        return f"the timestamp is {abs(off):.0f} seconds {'ahead' if off > 0 else 'old'}; is a clock wrong?"
    return ""
