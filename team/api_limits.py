"""How much a key may ask in a minute, counted in the database, so that all web processes count together."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from median_site.lib import clock
from median_site.lib.errors import DomainError
from team.models import ApiKey, ApiUse

READS: Final = 600
WRITES: Final = 120


class RateLimited(DomainError):
    code = "rate_limited"
    message = "Too many requests. Wait a moment and try again."
    status = 429


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of this minute, for the rate limit headers."""

    limit: int
    remaining: int
    resets_at: datetime

    @property
    def is_used_up(self) -> bool:
        return self.remaining < 0

    def headers(self) -> dict[str, str]:
        seconds = max(1, int((self.resets_at - clock.now()).total_seconds() + 1))
        shown = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.remaining)),
            "RateLimit-Reset": str(seconds),
        }
        return shown | ({"Retry-After": str(seconds)} if self.is_used_up else {})


def count(key: ApiKey, *, writes: bool) -> Allowance:
    """Count one request of a key, by one statement."""
    minute = clock.now().replace(second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into team_apiuse (workspace_id, api_key_id, minute, reads, writes) values (%s, %s, %s, %s, %s)"
            " on conflict (workspace_id, api_key_id, minute) do update"
            " set reads = team_apiuse.reads + excluded.reads, writes = team_apiuse.writes + excluded.writes"
            " returning reads, writes",
            [key.workspace_id, key.id, minute, int(not writes), int(writes)],
        )
        reads, written = cursor.fetchone()
    limit, used = (WRITES, written) if writes else (READS, reads)
    return Allowance(limit, limit - used, minute + timedelta(minutes=1))


def sweep() -> int:
    """Forget the minutes that are long over. Gives how many."""
    return ApiUse.objects.filter(minute__lt=clock.now() - timedelta(hours=1)).delete()[0]
