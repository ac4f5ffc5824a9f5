"""How moments are written. Written as fixed times, never as "4 min ago": a page, an htmx answer and a push made on the
same day carry the same bytes. The one place that knows the reader's zone: the workspace's, inside `in_zone`."""

from contextlib import AbstractContextManager
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from django.utils.timezone import localtime, make_aware, override

from median_site.lib import clock as clock_

_WEEK: Final = timedelta(days=6)


def in_zone(name: str) -> AbstractContextManager[None]:
    """Within the block moments are written in this zone, like "Europe/Berlin"; outside one, in the installation's."""
    return override(ZoneInfo(name))


def clock(moment: datetime) -> str:
    """13:58, and 02:30 CET in the hour that comes twice when the clocks go back."""
    return _clock(localtime(moment))


def seconds(moment: datetime) -> str:
    """13:58:04"""
    local = localtime(moment)
    return f"{local:%H:%M:%S}" + _which(local)


def when(moment: datetime) -> str:
    """13:58 today, Mon in the last six days, 12 Mar before that, 12 Mar 2024 in another year."""
    local = localtime(moment)
    today = _now(local).date()
    if local.date() == today:
        return _clock(local)
    if today - _WEEK <= local.date() < today:
        return f"{local:%a}"
    return f"{local.day} {local:%b}" + _year(local)


def day(moment: datetime) -> str:
    """Monday 2 June, and the year if it is another one."""
    local = localtime(moment)
    return _long_day(local.date()) + _year(local)


def short_day(day: date) -> str:
    """Tue 3 Jun"""
    return f"{day:%a} {day.day} {day:%b}"


def deadline(moment: datetime) -> str:
    """yesterday at 13:58, today at 13:58, tomorrow at 13:58, on 2 June at 13:58: a moment within a sentence."""
    local = localtime(moment)
    distance = (local.date() - _now(local).date()).days
    spoken = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get(distance) or f"on {local.day} {local:%B}{_year(local)}"
    return f"{spoken} at {_clock(local)}"


def moment(moment: datetime) -> str:
    """2 June at 13:58, and the year if it is another one."""
    local = localtime(moment)
    return f"{local.day} {local:%B}{_year(local)} at {_clock(local)}"


def today() -> date:
    """The reader's day."""
    return localtime(clock_.now()).date()


def start_of(day: date) -> datetime:
    """When the reader's day begins."""
    return make_aware(datetime.combine(day, time()))


def iso(moment: datetime) -> str:
    """For `<time datetime>`: to the minute, with the zone."""
    return localtime(moment).isoformat(timespec="minutes")


def millis(moment: datetime) -> int:
    """Milliseconds since 1970, for orders that scripts compare."""
    return int(moment.timestamp() * 1000)


@lru_cache(maxsize=512)
def _long_day(day: date) -> str:
    """A thread's page asks for the same few a hundred times."""
    return f"{day:%A} {day.day} {day:%B}"


def _clock(local: datetime) -> str:
    """To find out the zone again takes longer than to write the time."""
    return f"{local:%H:%M}" + _which(local)


def _which(local: datetime) -> str:
    other = local.replace(fold=1 - local.fold)
    return "" if other.utcoffset() == local.utcoffset() else f" {local:%Z}"


def _year(local: datetime) -> str:
    return "" if local.year == _now(local).year else f" {local.year}"


def _now(local: datetime) -> datetime:
    """The present, in the zone that another moment has been brought into."""
    return clock_.now().astimezone(local.tzinfo)
