"""Threads while several people act in them at once."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, connections, transaction

from conversations import handling, reading, threads
from conversations.models import Channel, Conversation, Item, ItemKind, ReadMark, Status
from median_site.lib.errors import DomainError
from tests.waiting import until
from tests.world import World


@contextmanager
def beside() -> Iterator[ThreadPoolExecutor]:
    """Somebody else, with a database connection of their own."""
    with ThreadPoolExecutor(1) as pool:
        yield pool
        pool.submit(connections.close_all).result()


def is_waiting_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select pg_stat_clear_snapshot()")  # a transaction sees the same activity throughout
        cursor.execute(
            "select exists(select from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_a_message_that_meets_the_close_of_its_conversation_begins_a_new_one(world: World) -> None:
    closing = world.conversation
    with beside() as ana:
        with transaction.atomic():
            threads.end(closing.id, by=world.sam.actor, to=Status.CLOSED)
            written: Future[Item] = ana.submit(
                threads.from_customer, world.ana, channel=Channel.WIDGET, body="One more thing", client_id="1"
            )
            until(is_waiting_for_a_lock)
        item = written.result(10)
    assert item.conversation_id != closing.id
    assert Conversation.objects.get(id=item.conversation_id).status == Status.OPEN
    assert not closing.items.filter(kind=ItemKind.CUSTOMER).exists()


@pytest.mark.parametrize("status", [Status.CLOSED, Status.ARCHIVED])
def test_nobody_writes_into_a_conversation_that_is_over(world: World, status: Status) -> None:
    threads.end(world.conversation.id, by=world.sam.actor, to=status)
    with pytest.raises(DomainError) as refused:
        threads.customer_wrote(world.conversation.id, body="Hello?", client_id="1")
    assert refused.value.message == "This conversation is not open. Reopen it first."
    assert not world.conversation.items.filter(kind=ItemKind.CUSTOMER).exists()


@pytest.mark.django_db(transaction=True)
def test_reading_waits_for_nobody_who_writes(world: World) -> None:
    with beside() as kim, transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        read = kim.submit(reading.mark_read, conversation.id, by=world.kim.actor, number=1)
        read.result(10)
    assert ReadMark.objects.count() == 1


def test_the_line_of_a_take_over_names_whoever_had_the_thread(world: World) -> None:
    threads.take_over(world.conversation.id, by=world.sam.actor)
    threads.take_over(world.conversation.id, by=world.kim.actor)
    handling.unassign(world.conversation.id, by=world.kim.actor)
    threads.take_over(world.conversation.id, by=world.sam.actor)
    lines = world.conversation.items.filter(kind=ItemKind.LINE).order_by("number")
    assert list(lines.values_list("text", flat=True)) == [
        "Sam took the thread over from Median AI",
        "Kim took the thread over from Sam",
        "Kim took Kim off the thread",
        "Sam took the thread over",
    ]
