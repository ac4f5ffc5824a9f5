"""The 24th hour with nobody pressing: the alarm rings in the real job cluster, which writes it down."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django_q.models import OrmQ
from django_q.tasks import async_task

from approvals import alarm, decisions
from approvals.models import State, ToolApproval
from conversations import threads
from median_site.lib import clock
from team.models import Event
from tests import agent_process
from tests.approvals.requests import lines_of, request
from tests.waiting import until
from tests.world import World

TIMES = 3


@contextmanager
def job_cluster() -> Iterator[None]:
    """`manage.py qcluster` on the test's database, at work; all of its processes end on leaving."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "qcluster"],
        cwd=agent_process.ROOT,
        env={**os.environ, "MEDIAN_DATABASE_URL": agent_process.database_url()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        alarm.set_for(clock.now())
        until(lambda: not OrmQ.objects.exists(), within_s=60)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def test_what_nobody_answered_has_expired_within_two_seconds(
    live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, so that a busy machine may be late with two; beside jobs that take long, as mailboxes that hang do."""
    monkeypatch.setattr(decisions, "LIFETIME", timedelta(seconds=1.5))
    late: list[float] = []
    with job_cluster():
        for _ in range(2):
            async_task("time.sleep", 60)
        for _ in range(TIMES):
            live_world.conversation = threads.start(live_world.ana)
            asked = request(live_world)
            until(ToolApproval.objects.filter(id=asked.id, state=State.EXPIRED).exists)
            event = Event.objects.get(kind="approval.expired", subject_id=asked.id)
            late.append((event.at - asked.expires_at).total_seconds())
            assert lines_of(live_world)[1:] == ["the request to run Refund order expired unanswered"]
            live_world.conversation.refresh_from_db()
            assert (live_world.conversation.waiting, live_world.conversation.mark) == (0, "")
    assert 0 <= min(late) < 2, late
