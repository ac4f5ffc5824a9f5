"""Pushes on their way to browsers: the row is the queue. Making them, claiming, recording what became of an attempt.

At least once: a browser shows what has the same tag in one place. A push that nobody needs any more is dropped.
"""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from approvals.alerts.outbox import LEAVES
from median_site.lib import claims, clock, live
from notifications import browsers, preferences
from notifications.models import Browser, Push, Topic
from team.models import Event, Notification, Teammate
from webhooks import outcomes
from webhooks.outcomes import Outcome

# Longer than any attempt takes. After it the push is due again, in any process.
HELD: Final = timedelta(seconds=30)
KEPT: Final = timedelta(days=1)
TEST: Final = "test"


def queue_requests(events: Iterable[Event], *, workspace_id: str) -> None:
    """Tell of requests that newly linked events left to the team, in the caller's transaction."""
    asked = [event.subject_id for event in events if event.kind in LEAVES]
    if asked:
        people = preferences.wanting_push(Topic.REQUEST, workspace_id=workspace_id)
        into = browsers.signed_in().filter(workspace_id=workspace_id, teammate__in=people)
        _queue((browser, Topic.REQUEST, id) for browser in into for id in asked)


def queue_notifications(rows: Iterable[Notification]) -> None:
    """Tell of notifications that were just written, in the caller's transaction."""
    told: dict[tuple[str, str], list[Notification]] = defaultdict(list)
    for row in rows:
        told[row.workspace_id, row.kind].append(row)
    for (workspace_id, kind), written in told.items():
        ids = {row.teammate_id for row in written}
        people = preferences.wanting_push(kind, workspace_id=workspace_id, teammate_ids=ids)
        into: dict[str, list[Browser]] = defaultdict(list)
        for browser in browsers.signed_in().filter(workspace_id=workspace_id, teammate__in=people):
            into[browser.teammate_id].append(browser)
        _queue((browser, kind, str(row.id)) for row in written for browser in into[row.teammate_id])


def test(teammate: Teammate) -> int:
    """Push something that is about nothing to each of the teammate's browsers. Gives to how many."""
    into = browsers.listed(teammate)
    _queue((browser, TEST, "") for browser in into)
    return len(into)


def claim(*, limit: int) -> list[Push]:
    """Take up to `limit` pushes that are due, each for one process."""
    pushes = Push.objects.select_related("browser__teammate__workspace", "browser__teammate__preference")
    return claims.take(pushes, limit=limit, held=HELD, claimed_at=clock.now())


def record(push: Push, outcome: Outcome) -> None:
    """What became of an attempt: it is there, or tried again for a day, or the browser is not there any more."""
    if outcome.delivered:
        drop(push)
        Browser.objects.filter(id=push.browser_id).update(told_at=clock.now())
    elif outcome.status in {404, 410}:  # unsubscribed, in the browser itself
        Browser.objects.filter(id=push.browser_id).delete()
    elif outcome.status is not None and 400 <= outcome.status < 500 and outcome.status != 429:
        drop(push)  # the service will never take this one
    else:
        pause = outcomes.pause(push.attempts, wait=outcome.wait)
        if pause is None or clock.now() + pause > push.created_at + KEPT:
            drop(push)
        else:
            ours = Push.objects.filter(id=push.id, claimed_at=push.claimed_at)
            ours.update(due_at=clock.now() + pause, claimed_at=None)


def drop(push: Push) -> None:
    """It is there, or not needed any more."""
    Push.objects.filter(id=push.id).delete()


def _queue(told: Iterable[tuple[Browser, str, str]]) -> None:
    rows = [
        Push(workspace_id=browser.workspace_id, browser=browser, topic=topic, subject_id=subject)
        for browser, topic, subject in told
    ]
    if rows:
        Push.objects.bulk_create(rows, ignore_conflicts=True)
        live.wake("agent")
