"""What nobody would see before it costs something: jobs that are begun twice, and a database that decides by another
clock or forgets. Said by `check`, by the migrations, and by the job cluster and the agent process when they start."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import OperationalError, connections

from median_site.lib import clock

# Deadlines are written by the clock of a process and decided by the database's.
CLOCKS_APART: Final = timedelta(seconds=2)
_READ: Final = """
    select clock_timestamp(), current_setting('default_transaction_isolation'), current_setting('synchronous_commit')
"""


@register()
def job_cluster(**_: object) -> list[CheckMessage]:
    """A job that runs for longer than `retry` is begun once more beside itself."""
    cluster: Mapping[str, Any] = settings.Q_CLUSTER
    if cluster["retry"] > cluster["timeout"]:
        return []
    said = f"Q_CLUSTER: retry is {cluster['retry']} s and timeout {cluster['timeout']} s, so long jobs are begun twice."
    return [Warning(said, hint="Let retry be longer than timeout.", id="median.W001")]


@register()
def forked_pool(**_: object) -> list[CheckMessage]:
    """The job cluster forks: its processes would talk into each other's connections, and lose jobs."""
    if "qcluster" not in sys.argv or "pool" not in settings.DATABASES["default"]["OPTIONS"]:
        return []
    said = "MEDIAN_DATABASE_POOL is for web and agent processes; the job cluster loses jobs with it."
    return [Error(said, hint="Start it without MEDIAN_DATABASE_POOL.", id="median.E001")]


@register(Tags.database)
def database(databases: Sequence[str] | None = None, **_: object) -> list[CheckMessage]:
    """What decisions rest on. Says nothing of a database that is away."""
    return [message for alias in databases or () for message in _of(alias)]


def _of(alias: str) -> Iterator[CheckMessage]:
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(_READ)
            at, isolation, commit = cast(tuple[datetime, str, str], cursor.fetchone())
    except OperationalError:
        return
    apart = at - clock.now()
    if abs(apart) > CLOCKS_APART:
        side = "behind" if apart < timedelta() else "ahead"
        said = f"The database's clock is {abs(apart).total_seconds():,.0f} s {side}."
        yield _warning(said, "It decides deadlines. Set the clocks of all machines by the same time server.", 2)
    if isolation != "read committed":
        said = f"The database's transactions are “{isolation}”: whoever waits for another's decision gets an error."
        yield _warning(said, "Let default_transaction_isolation be “read committed”.", 3)
    if commit == "off":
        said = "The database does not wait for its disk: after a crash of it a call may leave twice."
        yield _warning(said, "Let synchronous_commit be on.", 4)


def _warning(said: str, hint: str, number: int) -> CheckMessage:
    return Warning(said, hint=hint, id=f"median.W00{number}")
