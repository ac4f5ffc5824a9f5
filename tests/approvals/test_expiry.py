"""The 24th hour, to the moment: decided by the database's clock, written down by the alarm."""

from datetime import timedelta

import pytest
from django.db import connection
from django_q.models import OrmQ

from approvals import decisions, errors, expiry, jobs
from approvals.models import ExpiryAlarm, State, ToolApproval
from conversations import threads
from conversations.models import Status
from median_site.lib import clock
from tests.approvals.requests import lines_of, request
from tests.world import World


def deadline_in(seconds: float) -> None:
    """Move the only request's deadline to some seconds from now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update approvals_toolapproval set expires_at = clock_timestamp() + make_interval(secs => %s)", [seconds]
        )


def test_one_second_late_nothing_can_be_decided_although_no_job_has_run(world: World) -> None:
    approval = request(world)
    deadline_in(-1)
    for decide in (decisions.approve, decisions.deny):
        with pytest.raises(errors.ExpiredUnanswered) as raised:
            decide(approval.id, by=world.sam.actor)
        assert raised.value.message == "This request expired without a decision."
    approval.refresh_from_db()
    assert approval.state == State.PENDING
    assert approval.state_at(clock.now()) == State.EXPIRED


def test_one_second_late_it_went_unanswered_although_the_conversation_ends_before_the_job(world: World) -> None:
    approval = request(world)
    deadline_in(-1)
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    assert lines_of(world)[1:] == [
        "Sam resolved the conversation", "the request to run Refund order expired unanswered",
    ]  # fmt: skip
    with pytest.raises(errors.ExpiredUnanswered):
        decisions.approve(approval.id, by=world.sam.actor)


def test_a_moment_before_it_is_decided_and_a_late_job_does_not_undo_it(world: World) -> None:
    approval = request(world)
    deadline_in(5)
    decisions.approve(approval.id, by=world.sam.actor)
    deadline_in(-1)
    assert expiry.expire_due() == 0
    approval.refresh_from_db()
    assert approval.state == State.EXECUTING


def test_the_alarm_expires_what_is_due_with_a_line_and_wakes_nobody(world: World) -> None:
    approval = request(world)
    before = world.conversation.turns.count()
    deadline_in(-0.1)
    assert jobs.expire_due() == 1
    assert jobs.expire_due() == 0
    approval.refresh_from_db()
    assert (approval.state, approval.expired_because) == (State.EXPIRED, "unanswered")
    assert lines_of(world)[1:] == ["the request to run Refund order expired unanswered"]
    assert world.conversation.turns.count() == before
    world.conversation.refresh_from_db()
    assert world.conversation.waiting == 0


def test_one_alarm_rings_at_the_earliest_deadline(world: World) -> None:
    first = request(world)
    request(world, tool="cancelSubscription", input_text="{}")
    assert OrmQ.objects.count() == 1
    assert OrmQ.objects.get().lock == first.expires_at == ExpiryAlarm.objects.get().at


def test_when_it_rings_the_next_one_is_set(world: World) -> None:
    request(world)
    deadline_in(-1)
    second = request(world, tool="cancelSubscription", input_text="{}")
    OrmQ.objects.all().delete()
    ExpiryAlarm.objects.update(at=clock.now() - timedelta(seconds=1))
    assert jobs.expire_due() == 1
    assert OrmQ.objects.get().lock == second.expires_at


def test_an_alarm_that_rang_early_by_the_databases_clock_rings_again(world: World) -> None:
    approval = request(world)
    OrmQ.objects.all().delete()
    with clock.at(approval.expires_at + timedelta(milliseconds=1)):
        assert jobs.expire_due() == 0
    assert OrmQ.objects.get().lock == approval.expires_at


def test_the_hourly_check_sets_a_lost_alarm_again(world: World) -> None:
    approval = request(world)
    OrmQ.objects.all().delete()
    ExpiryAlarm.objects.all().delete()
    assert jobs.check() == {"stuck": 0, "expired": 0, "presses": 0}
    assert OrmQ.objects.get().lock == approval.expires_at


def test_many_due_at_once_expire_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "BATCH", 2)
    for _ in range(5):
        world.conversation = threads.start(world.ana)
        request(world)
    deadline_in(-1)
    assert expiry.expire_due() == 5
    assert ToolApproval.objects.filter(state=State.EXPIRED).count() == 5
