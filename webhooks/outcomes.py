"""What an attempt came to, read off the receiver's answer, and when the next one is. Pure."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from median_site.lib import strict_json
from tools.client import Answer, Failure

# After the first attempt, the second and so on: a day in all. Each is moved by up to a tenth either way.
PAUSES: Final = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800))
JITTER: Final = 0.1
_LONGEST_WAIT: Final = timedelta(days=1)
SHOWN: Final = 1_000  # characters of an answer that are kept

_FAILURES: Final[Mapping[str, str]] = {
    "blocked_address": "The address of the host is not public.",
    "unreachable": "It could not be reached.",
    "timed_out": "It did not answer within 10 seconds.",
    "redirected": "It answered with a redirect, which is not followed.",
    "too_big": "It answered with too much to read.",
    "broken_answer": "Its answer broke off.",
    "bad_encoding": "Its answer could not be unpacked.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`error` is a sentence for people, empty when it was delivered. `wait` is what the receiver asked for."""

    delivered: bool
    status: int | None = None
    answer: str = ""
    error: str = ""
    wait: timedelta = timedelta(0)

    @property
    def is_gone(self) -> bool:
        """The receiver wants nothing more, ever."""
        return self.status == 410


def read(came: Answer | Failure, *, now: datetime) -> Outcome:
    """Any 2xx is a delivery, however much of an answer comes with it."""
    if isinstance(came, Failure):
        if came.kind == "too_big" and came.status and 200 <= came.status < 300:
            return Outcome(delivered=True, status=came.status)
        return Outcome(delivered=False, status=came.status, error=_FAILURES[came.kind])
    answer = strict_json.visible(came.text[:SHOWN])[0]
    if 200 <= came.status < 300:
        return Outcome(delivered=True, status=came.status, answer=answer)
    wait = _asked_for(came.headers.get("retry-after", ""), now=now)
    return Outcome(delivered=False, status=came.status, answer=answer, error=f"It answered {came.status}.", wait=wait)


def pause(attempts: int, *, wait: timedelta) -> timedelta | None:
    """How long until the next attempt after so many; None when that was the last one."""
    if attempts > len(PAUSES):
        return None
    moved = PAUSES[attempts - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  # guards nothing
    return max(moved, min(wait, PAUSES[-1]))


def _asked_for(header: str, *, now: datetime) -> timedelta:
    """Of a Retry-After, in seconds or as a date, at most a day; nothing for one that cannot be read."""
    try:
        is_number = header.isascii() and header.isdigit()
        asked = timedelta(seconds=int(header[:9])) if is_number else parsedate_to_datetime(header) - now
    except (TypeError, ValueError, OverflowError):  # no date, one without a zone, or one of no year or zone there is
        return timedelta(0)
    return min(max(asked, timedelta(0)), _LONGEST_WAIT)
