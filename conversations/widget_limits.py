"""How much of the widget one session and one address may use in a minute, counted in the database as the API's is.

A count is a statement and a commit of its own, before the work: what is refused afterwards was asked for all the same.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import connection

from conversations.models import WidgetUse
from median_site.lib import clock
from median_site.lib.errors import DomainError


class TooFast(DomainError):
    code = "rate_limited"
    status = 429


@dataclass(frozen=True, slots=True)
class Limit:
    """What may be done `session` times a minute by one session, and `address` times by all of one address together.

    An address may be a whole office or a carrier's gateway. `unknown`: by all sessions of a workspace together that
    nobody vouches for, where each could become another one for the asking.
    """

    what: str
    refusal: str
    session: int = 0
    address: int = 0
    unknown: int = 0


MESSAGES: Final = Limit(
    "messages",
    "That is a lot of messages at once. Wait a minute, then send this one again; it is still here.",
    session=30,
    address=300,
)
FILES: Final = Limit(
    "files", "That is a lot of files at once. Wait a minute, then attach this one again.",
    session=15, address=150, unknown=60,
)  # fmt: skip
TOKENS: Final = Limit("tokens", "A lot of chats are being opened at once. This one opens in a minute.", address=60)


def count(limit: Limit, *, workspace_id: str, address: str, session: str = "", is_known: bool = True) -> None:
    """Count one use. Raises TooFast, which says in how many seconds there is more."""
    asked = [
        (session, f"session {session}", limit.session),
        (address, f"address {address}", limit.address),
        (not is_known, "unknown", limit.unknown),
    ]
    for applies, who, most in asked:
        if applies and most and _used(workspace_id, limit.what, who) > most:
            now = clock.now()
            raise TooFast(limit.refusal, retry_after=60 - now.second)


def sweep() -> int:
    """Forget the minutes that are long over. Gives how many."""
    return WidgetUse.objects.filter(minute__lt=clock.now() - timedelta(hours=1)).delete()[0]


def _used(workspace_id: str, what: str, who: str) -> int:
    """How often this minute, with this time. One statement, so that no two processes count the same."""
    minute = clock.now().replace(second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into conversations_widgetuse (workspace_id, what, who, minute, times) values (%s, %s, %s, %s, 1)"
            " on conflict (workspace_id, what, who, minute) do update set times = conversations_widgetuse.times + 1"
            " returning times",
            [workspace_id, what, who, minute],
        )
        return int(cursor.fetchone()[0])
