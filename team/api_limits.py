"""How much a key may ask in a minute, counted in the database, so that all web processes count together."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from median_site.lib import clock, rows
from median_site.lib.errors import DomainError
from median_site.lib.statement import fetch
from team import api_keys
from team.models import ApiKey, ApiUse, Workspace

READS: Final = 600
WRITES: Final = 120
# `last_used_at` is for people: written at most this often, so that reading through the API does not write all the time.
USED_EVERY: Final = timedelta(minutes=1)

_COUNT: Final = "insert into team_apiuse (workspace_id, api_key_id, minute, reads, writes)"
_AGAIN: Final = """
    on conflict (workspace_id, api_key_id, minute) do update
       set reads = team_apiuse.reads + excluded.reads, writes = team_apiuse.writes + excluded.writes
    returning reads, writes
"""
_ADMIT: Final = f"""
    with key as (select * from team_apikey where digest = %s and revoked_at is null),
         used as (
             update team_apikey set last_used_at = %s from key
              where team_apikey.id = key.id and (key.last_used_at is null or key.last_used_at < %s)
         ),
         counted as ({_COUNT} select workspace_id, id, %s::timestamptz, %s::int, %s::int from key {_AGAIN})
    select {rows.columns(ApiKey, of="key")}, {rows.columns(Workspace, of="workspace")}, counted.*,
           set_config('synchronous_commit', 'off', true)
      from key join team_workspace workspace on workspace.id = key.workspace_id, counted
"""  # noqa: S608  # made of names in the code alone


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


def admit(authorization: str, *, writes: bool) -> tuple[ApiKey, Allowance]:
    """The key in the value of an Authorization header, with its workspace, noted as used now; and its request counted.

    One statement. Its commit waits for no disk: a crash of the database may forget a count. Raises Unauthorized.
    """
    now = clock.now()
    minute = _minute(now)
    found = fetch(
        _ADMIT, api_keys.digest_in(authorization), now, now - USED_EVERY, minute, int(not writes), int(writes)
    )
    if not found:
        raise api_keys.UnknownKey
    *values, reads, written, _ = found[0]
    known, workspace = rows.load_all([ApiKey, Workspace], values)
    key = cast(ApiKey, known)
    key.workspace = cast(Workspace, workspace)
    return key, _allowance(minute, writes=writes, reads=cast(int, reads), written=cast(int, written))


def count(key: ApiKey, *, writes: bool) -> Allowance:
    """Count one more request of a key, by one statement."""
    minute = _minute(clock.now())
    [(reads, written)] = fetch(
        f"{_COUNT} values (%s, %s, %s, %s, %s) {_AGAIN}",
        key.workspace_id, key.id, minute, int(not writes), int(writes),
    )  # fmt: skip
    return _allowance(minute, writes=writes, reads=cast(int, reads), written=cast(int, written))


def sweep() -> int:
    """Forget the minutes that are long over. Gives how many."""
    return ApiUse.objects.filter(minute__lt=clock.now() - timedelta(hours=1)).delete()[0]


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _allowance(minute: datetime, *, writes: bool, reads: int, written: int) -> Allowance:
    limit, used = (WRITES, written) if writes else (READS, reads)
    return Allowance(limit, limit - used, minute + timedelta(minutes=1))
