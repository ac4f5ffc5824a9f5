"""Where a person is signed in: their sessions, listed and ended. A socket of an ended one closes at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet

from median_site.lib import clock
from median_site.lib.errors import existing
from team import events
from team.events import Kind
from team.models import Teammate, User

SHOWN: Final = 50
# What a User-Agent names, the most telling first.
BROWSERS: Final = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS: Final = {"Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "Mac OS X": "macOS",
                  "Linux": "Linux"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SignedIn:
    """One session: the browser and the address it was opened with, and whether it is the one that asks."""

    id: int
    browser: str
    ip: str
    since: datetime
    is_current: bool


def listed(user: User, *, current: str) -> list[SignedIn]:
    """The sessions that are not over, this one first. One query. `current` is the asker's session key."""
    rows = list(_open(user).order_by("-created_at")[:SHOWN])
    rows.sort(key=lambda row: row.session_key != current)
    return [
        SignedIn(row.pk, browser_of(row.user_agent), row.ip, row.created_at, row.session_key == current) for row in rows
    ]


def end(user: User, session_id: int) -> None:
    """Sign a browser out. Raises NotFound for sessions of others and of nobody alike."""
    row = existing(_open(user).filter(pk=session_id).first())
    _end([row], user=user)


def end_others(user: User, *, current: str) -> None:
    """Sign every browser out but this one."""
    _end(_open(user).exclude(session_key=current), user=user)


def record(kind: Kind, *, user: User) -> None:
    """Write into the log of each workspace that the person works in."""
    with transaction.atomic():
        for teammate in Teammate.objects.filter(user=user, removed_at=None):
            events.record(kind, by=teammate.actor, subject_id=teammate.id)


def _end(rows: Iterable[UserSession], *, user: User) -> None:
    with transaction.atomic():
        for row in rows:
            row.end()
            record(Kind.SESSION_ENDED, user=user)


def _open(user: User) -> QuerySet[UserSession]:
    running = Session.objects.filter(expire_date__gt=clock.now()).values("session_key")
    rows: QuerySet[UserSession] = UserSession.objects.filter(user=user, session_key__in=running)
    return rows


def browser_of(agent: str) -> str:
    """Chrome on Linux, from a User-Agent."""
    browser = next((name for mark, name in BROWSERS.items() if mark in agent), "")
    system = next((name for mark, name in SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if browser and system else browser or system or "A browser"
