"""Writes in one statement: all or nothing, under the lock, with doorbells that ring at the commit."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DataError, connection, connections, transaction

from conversations.models import Customer
from median_site.lib.statement import Statement
from team.models import Workspace
from tests.waiting import until
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)
LOCK = "select from team_workspace where id = %s for no key update"


def renaming(world: World, name: str) -> Statement:
    statement = Statement()
    statement.add(
        "moved", "update team_workspace set name = %s where id = %s returning id, name", name, world.fernhill.id
    )
    return statement


def run(world: World, statement: Statement) -> list[tuple[object, ...]]:
    return statement.run(lock=LOCK, values=[world.fernhill.id], give="moved.name from moved")


def customer(world: World, **fields: str) -> Customer:
    return Customer(workspace=world.fernhill, **fields)


def test_parts_read_each_other_in_any_order(world: World) -> None:
    statement = Statement()
    statement.insert("made", customer(world, subject="c-7"), source="moved", name="moved.name || %s::text")
    statement.add(
        "moved", "update team_workspace set name = %s where id = %s returning name", "Fern", world.fernhill.id
    )
    assert run(world, statement) == [("Fern",)]
    assert Customer.objects.get(subject="c-7").name == "Fern"


def test_what_did_not_move_leaves_nothing(world: World) -> None:
    statement = Statement()
    statement.add("moved", "update team_workspace set name = '' where id = %s returning name", "nobody's")
    statement.insert("made", customer(world, subject="c-7"), source="moved")
    assert run(world, statement) == []
    assert not Customer.objects.filter(subject="c-7").exists()


def test_a_part_that_fails_takes_all_with_it_and_the_connection_goes_on(world: World) -> None:
    statement = renaming(world, "Fern")
    statement.insert("made", customer(world, subject="c" * 256), source="moved")
    with pytest.raises(DataError):
        run(world, statement)
    assert Workspace.objects.get(id=world.fernhill.id).name == "Fernhill"


def test_a_value_is_never_part_of_the_statement(world: World) -> None:
    name = "'; drop table team_workspace; -- %s %(name)s {} \\"
    assert run(world, renaming(world, name)) == [(name,)]


def test_a_part_stands_once(world: World) -> None:
    statement = renaming(world, "Fern")
    with pytest.raises(ValueError, match="has a part moved already"):
        statement.add("moved", "select 1")


def test_it_belongs_to_the_callers_transaction(world: World) -> None:
    with transaction.atomic():
        run(world, renaming(world, "Fern"))
        transaction.set_rollback(True)
    assert Workspace.objects.get(id=world.fernhill.id).name == "Fernhill"


def test_the_writes_see_what_the_former_holder_of_the_lock_left(world: World) -> None:
    """Were the lock a part of the statement, it would see the name from before it waited."""
    holds, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Workspace.objects.select_for_update().get(id=world.fernhill.id)
            holds.set()
            may_end.wait(10)
            Workspace.objects.filter(id=world.fernhill.id).update(name="Held")
        connections.close_all()

    def write() -> list[tuple[object, ...]]:
        statement = Statement()
        statement.add("moved", "select name from team_workspace where id = %s", world.fernhill.id)
        try:
            return run(world, statement)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        holding = threads.submit(hold)
        holds.wait(10)
        written = threads.submit(write)
        until(_somebody_waits)
        may_end.set()
        holding.result()
        assert written.result() == [("Held",)]


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_locks where not granted")
        return bool(cursor.fetchone()[0])
