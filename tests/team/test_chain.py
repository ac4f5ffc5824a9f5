"""The log's chain: no place twice, none empty, and whatever somebody does to the rows, the first wrong one is named."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, connections, transaction
from hypothesis import given
from hypothesis import strategies as st
from median_tools import chain as verifier

from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.canonical_json import sha256_hex
from team import chain, events, jobs
from team.events import Entry, Kind
from team.models import NOTHING_BEFORE, ChainHead, Event, Workspace
from tests.tampering import tampering
from tests.world import World

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé€😀ﬃ", max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def write(workspace_id: str, count: int, **data: Any) -> None:
    by = Actor(ActorKind.SYSTEM, workspace_id)
    events.record_all(Entry(kind=Kind.AGENT_CHANGED, by=by, data={"n": n, **data}) for n in range(count))


def rows(workspace_id: str) -> list[dict[str, Any]]:
    """The log in its order, as a program reads it."""
    found = Event.objects.filter(workspace_id=workspace_id).exclude(position=None).order_by("position")
    return json.loads(json.dumps([chain.shown(event) for event in found]))


@pytest.fixture
def log(world: World) -> World:
    """Fernhill's log has twelve linked rows."""
    write(world.fernhill.id, 12 - Event.objects.filter(workspace=world.fernhill).count())
    jobs.link()
    return world


def sql(statement: str, *values: object) -> None:
    with tampering(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_each_event_has_the_next_place_and_the_hash_of_the_one_before(log: World) -> None:
    found = rows(log.fernhill.id)
    assert [row["position"] for row in found] == list(range(1, 13))
    assert [row["previous_hash"] for row in found] == [NOTHING_BEFORE, *(row["hash"] for row in found[:-1])]
    head = ChainHead.objects.get(workspace=log.fernhill)
    assert verifier.verify(found, until=12, noted=head.hash) == verifier.Verified(12, verifier.Head(12, head.hash))
    assert jobs.link() == 0
    write(log.fernhill.id, 1)
    write(log.elsewhere.id, 1)
    assert jobs.link() == 2
    assert rows(log.elsewhere.id)[-1]["position"] == Event.objects.filter(workspace=log.elsewhere).count()


def renumber(world: World, shift: int) -> None:
    """Rows from the seventh on, moved by one; in two steps, so that no place is there twice."""
    for step in ("-(position + %s) where position >= 7", "-position + %s where position < 0"):
        sql(f"update team_event set position = {step} and workspace_id = %s", shift, world.fernhill.id)  # noqa: S608
        shift = 0


def change(world: World) -> None:
    sql("""update team_event set data = '{"n": 99}' where workspace_id = %s and position = 7""", world.fernhill.id)


def change_and_hash(world: World) -> None:
    event = Event.objects.get(workspace=world.fernhill, position=7)
    event.actor_name = "Mallory"
    with tampering():
        event.hash = sha256_hex(chain.hashed(event))
        event.save()


def remove(world: World) -> None:
    sql("delete from team_event where workspace_id = %s and position = 7", world.fernhill.id)


def remove_and_renumber(world: World) -> None:
    remove(world)
    renumber(world, -1)


def put_in(world: World) -> None:
    renumber(world, 1)
    before = Event.objects.get(workspace=world.fernhill, position=6)
    write(world.fernhill.id, 1)
    event = Event.objects.get(workspace=world.fernhill, position=None)
    event.position, event.previous_hash = 7, before.hash
    with tampering():
        event.hash = sha256_hex(chain.hashed(event))
        event.save()


def swap(world: World) -> None:
    sql("update team_event set position = -position where workspace_id = %s and position = 7", world.fernhill.id)
    sql("update team_event set position = 7 where workspace_id = %s and position = 8", world.fernhill.id)
    sql("update team_event set position = 8 where workspace_id = %s and position = -7", world.fernhill.id)


def cut(world: World) -> None:
    sql("delete from team_event where workspace_id = %s and position > 6", world.fernhill.id)


TAMPERED = [
    (change, "changed", "Row 7 was changed (event {id})."),
    (change_and_hash, "changed", "Row 7 was changed or put in: row 8 was written after another one."),
    (remove, "removed", "Row 7 was removed."),
    (remove_and_renumber, "removed", "Row 7 was removed or moved: what stands there was written as row 8."),
    (put_in, "inserted", "Row 7 was put in: row 8 was written as row 7."),
    (swap, "removed", "Row 7 was removed or moved: what stands there was written as row 8."),
    (cut, "removed", "Rows 7 to 12 were removed."),
]


@pytest.mark.parametrize(("tamper", "kind", "message"), TAMPERED, ids=lambda value: getattr(value, "__name__", None))
def test_the_first_row_that_is_not_as_it_was_is_named(
    tamper: Callable[[World], None], kind: str, message: str, log: World
) -> None:
    seventh = Event.objects.get(workspace=log.fernhill, position=7)
    tamper(log)
    with pytest.raises(verifier.Broken) as broken:
        verifier.verify(rows(log.fernhill.id), until=12)
    assert broken.value.position == 7
    assert (broken.value.change, broken.value.message) == (kind, message.format(id=seventh.id))


def test_a_cut_that_moved_the_head_too_shows_against_a_noted_one_alone(log: World) -> None:
    noted = ChainHead.objects.get(workspace=log.fernhill).hash
    cut(log)
    found = rows(log.fernhill.id)
    ChainHead.objects.filter(workspace=log.fernhill).update(position=6, hash=found[-1]["hash"])
    write(log.fernhill.id, 10)
    jobs.link()
    assert verifier.verify(rows(log.fernhill.id), until=16).rows == 16
    with pytest.raises(verifier.Broken, match="The head that you noted is not in the log, which ends at row 16"):
        verifier.verify(rows(log.fernhill.id), until=16, noted=noted)


def test_the_database_refuses_to_change_or_remove_an_event(log: World) -> None:
    event = Event.objects.filter(workspace=log.fernhill).latest("id")
    for write_over in (
        lambda: Event.objects.filter(id=event.id).update(actor_name="Mallory"),
        lambda: Event.objects.filter(id=event.id).update(hash="0" * 64),
        lambda: Event.objects.filter(id=event.id).update(position=None),
        lambda: Event.objects.filter(id=event.id).delete(),
    ):
        refusal = f"The log is append-only: event {event.id} stays as it was written"
        with pytest.raises(IntegrityError, match=refusal), transaction.atomic():
            write_over()
    assert Event.objects.get(id=event.id) == event


def test_what_retention_takes_away_leaves_a_log_that_can_be_verified(db: None) -> None:
    shelf = Workspace.objects.create(slug="shelf", name="Shelf")
    for day, count in [(30, 4), (31, 3), (30, 1)]:
        with clock.at(datetime(2026, 1, day, 23, tzinfo=UTC)):
            write(shelf.id, count)
    jobs.link()
    whole = rows(shelf.id)

    for told in ("4 events are gone.\n", "0 events are gone.\n"):
        said = StringIO()
        call_command("trim_log", "shelf", before="2026-01-31", stdout=said)
        assert said.getvalue() == told
    with pytest.raises(CommandError, match="2099-01-01 is yet to come: nothing of the log would be left."):
        call_command("trim_log", "shelf", before="2099-01-01")

    head = ChainHead.objects.get(workspace=shelf)
    assert (head.position, head.dropped_position, head.dropped_hash) == (8, 4, whole[3]["hash"])
    assert rows(shelf.id) == whole[4:]
    verifier.verify(whole[4:], after=verifier.Head(4, head.dropped_hash), until=8)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.filter(workspace=shelf).delete()


@given(values)
def test_both_ends_hash_alike(value: object) -> None:
    read = json.loads(json.dumps(value))
    assert (
        verifier.sha256_hex(read) == sha256_hex(value) == sha256_hex(json.loads(json.dumps(value), parse_float=Decimal))
    )


def chained(data: list[object]) -> list[dict[str, Any]]:
    """Rows as a program reads them, hashed by our end."""
    found, before = [], NOTHING_BEFORE
    for position, given_data in enumerate(data, 1):
        event = Event(id=position * 3, kind="note.left", at=clock.now(), actor_kind="api", data={"given": given_data})
        event.position, event.previous_hash = position, before
        before = event.hash = sha256_hex(chain.hashed(event))
        found.append(json.loads(json.dumps(chain.shown(event))))
    return found


@given(st.lists(values, min_size=1, max_size=5), st.data())
def test_any_change_of_any_field_shows(data: list[object], draw: st.DataObject) -> None:
    found = chained(data)
    assert verifier.verify(found).head == verifier.Head(len(data), found[-1]["hash"])
    at, name = draw.draw(st.integers(0, len(data) - 1)), draw.draw(st.sampled_from([*verifier.HASHED, "hash"]))
    found[at] = {**found[at], name: {"other": found[at][name]}}
    with pytest.raises(verifier.Broken) as broken:
        verifier.verify(found)
    assert broken.value.position == at + 1


@pytest.mark.django_db(transaction=True)
def test_writers_side_by_side_with_two_chainers_leave_no_gap_and_no_double(live_world: World) -> None:
    workspaces = [live_world.fernhill.id, live_world.elsewhere.id]
    written, failures = threading.Event(), []

    def work(what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as error:  # noqa: BLE001  # told below
            failures.append(error)
        finally:
            connections.close_all()

    def keep_writing() -> None:
        for n in range(40):
            with transaction.atomic():
                write(workspaces[n % 2], 3)

    def keep_linking() -> None:
        while not written.is_set():
            chain.link_all()

    writers = [threading.Thread(target=work, args=(keep_writing,)) for _ in range(6)]
    chainers = [threading.Thread(target=work, args=(keep_linking,)) for _ in range(2)]
    for thread in [*writers, *chainers]:
        thread.start()
    for thread in writers:
        thread.join(60)
    written.set()
    for thread in chainers:
        thread.join(60)
    jobs.link()

    assert failures == []
    for workspace_id in workspaces:
        count = Event.objects.filter(workspace_id=workspace_id).count()
        head = ChainHead.objects.get(workspace_id=workspace_id)
        assert verifier.verify(rows(workspace_id), noted=head.hash).head == verifier.Head(count, head.hash)
