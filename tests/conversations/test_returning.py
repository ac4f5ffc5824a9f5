"""Threads that come back by themselves: after a snooze, and when whoever had them leaves the team."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django_q.models import OrmQ

from agent.models.demo import DemoModel
from conversations import handling, jobs, returning, threads
from conversations.models import Conversation, Handler, Item, ItemKind, Status
from median_site.dashboard import queue
from median_site.lib import clock
from team import roster
from team.events import Kind
from team.models import Event, Teammate
from tests import agent_process
from tests.dashboard.threads_at_hand import many, write
from tests.waiting import until
from tests.world import World


def fresh(world: World) -> Conversation:
    return Conversation.objects.get(id=world.conversation.id)


def snooze(world: World) -> None:
    """Sam puts the thread off until a moment ago."""
    handling.snooze(world.conversation.id, by=world.sam.actor, until=clock.now() + timedelta(hours=1))
    Conversation.objects.update(snoozed_until=clock.now() - timedelta(seconds=1))


def lines(world: World) -> list[str]:
    rows = Item.objects.filter(conversation=world.conversation, kind=ItemKind.LINE).order_by("number")
    return list(rows.values_list("text", flat=True))


def unread(teammate: Teammate) -> list[str]:
    return queue.counted(teammate)["unread"]


@pytest.mark.django_db(transaction=True)
def test_a_snooze_ends_by_itself_once_whoever_looks(world: World) -> None:
    snooze(world)
    before = fresh(world)

    def look() -> int:
        try:
            return returning.end_snoozes()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: look(), range(8))) == 1

    assert lines(world)[-1] == "The snooze is over"
    assert Event.objects.filter(kind=Kind.SNOOZE_OVER).count() == 1
    assert unread(world.sam) == unread(world.kim) == [world.conversation.id]
    assert (fresh(world).snoozed_until, fresh(world).last_at > before.last_at) == (None, True)


@pytest.mark.django_db(transaction=True)
def test_the_agent_process_looks_for_snoozes(world: World) -> None:
    snooze(world)
    with agent_process.in_thread(DemoModel()):
        until(lambda: lines(world)[-1] == "The snooze is over")


def test_a_snooze_that_ended_otherwise_does_not_end_again(world: World) -> None:
    snooze(world)
    write(world)
    assert returning.end_snoozes() == 0
    snooze(world)
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    assert returning.end_snoozes() == 0
    assert Event.objects.filter(kind=Kind.SNOOZE_OVER).count() == 0


def test_whoever_is_removed_has_no_open_thread_any_more(world: World) -> None:
    threads.take_over(world.conversation.id, by=world.kim.actor)
    handling.snooze(world.conversation.id, by=world.kim.actor, until=clock.now() + timedelta(hours=1))
    mine, ended = many(world, 2)
    Conversation.objects.filter(id=mine.id).update(handler=Handler.TEAMMATE, assignee=world.sam)
    threads.take_over(ended.id, by=world.kim.actor)
    threads.end(ended.id, by=world.kim.actor, to=Status.RESOLVED)

    roster.remove(world.kim.id, by=world.sam.actor)

    assert (fresh(world).handler, fresh(world).assignee, fresh(world).is_snoozed) == (Handler.NOBODY, None, False)
    assert lines(world)[-1] == "Kim is no longer in the team; nobody has the thread"
    assert unread(world.sam) == [world.conversation.id]
    assert Conversation.objects.get(id=mine.id).assignee == world.sam
    assert not OrmQ.objects.exists()

    # What was over keeps the name until the customer writes again.
    assert Conversation.objects.get(id=ended.id).assignee == world.kim
    threads.customer_wrote(ended.id, body="One more thing", client_id="1")
    assert Conversation.objects.get(id=ended.id).handler == Handler.NOBODY
    assert set(unread(world.sam)) == {world.conversation.id, ended.id}
    assert Event.objects.filter(kind=Kind.ASSIGNEE_LEFT).count() == 2


def test_many_threads_are_given_up_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "BATCH", 3)
    many(world, 7)
    Conversation.objects.update(handler=Handler.TEAMMATE, assignee=world.kim)

    roster.remove(world.kim.id, by=world.sam.actor)

    assert Conversation.objects.filter(assignee=world.kim).count() == 5
    assert OrmQ.objects.get().func() == "conversations.jobs.give_up"
    assert jobs.hourly() == {"given_up": 5, "files": 0, "erased": 0, "notifications": 0, "minutes": 0}
    assert jobs.give_up(world.kim.id) == 0
    assert Event.objects.filter(kind=Kind.ASSIGNEE_LEFT).count() == 8
    assert jobs.give_up(world.sam.id) == 0  # who is still here
