"""Ids: their shapes, their order and that they do not meet."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from median_site.lib import ids

SHAPES = [
    (ids.new_id, r"[0-9a-hjkmnp-tv-z]{32}"),
    (ids.call_id, r"call_[0-9a-f]{32}"),
    (ids.test_id, r"test_[0-9a-f]{32}"),
    (ids.message_id, r"msg_[0-9a-f]{32}"),
    (ids.api_key, r"mdn_[0-9a-hjkmnp-tv-z]{40}"),
]
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(("make", "shape"), SHAPES)
def test_shape_and_no_two_alike(make: Callable[[], str], shape: str) -> None:
    made = {make() for _ in range(2_000)}
    assert len(made) == 2_000
    assert all(re.fullmatch(shape, one) for one in made)


@pytest.mark.parametrize("make", [ids.new_id, ids.call_id, ids.test_id])
def test_a_later_id_sorts_after_an_earlier_one(make: Callable[[], str]) -> None:
    made = []
    for later in (timedelta(0), timedelta(milliseconds=1), timedelta(seconds=1), timedelta(days=30_000)):
        with time_machine.travel(NOON + later, tick=False):
            made.append(make())
    assert made == sorted(made)


def test_ids_of_one_millisecond_do_not_meet() -> None:
    with time_machine.travel(NOON, tick=False):
        made = {ids.new_id() for _ in range(2_000)}
    assert len({one[:10] for one in made}) == 1
    assert len({one[10:] for one in made}) == 2_000


def test_an_api_key_does_not_tell_when_it_was_made() -> None:
    with time_machine.travel(NOON, tick=False):
        made = [ids.api_key() for _ in range(200)]
    assert all(len({key[place] for key in made}) > 1 for place in range(len("mdn_"), len("mdn_") + 40))


def test_a_turns_id_tells_neither_time_nor_order() -> None:
    made = [ids.turn_id() for _ in range(64)]
    assert all(len(one) == 32 for one in made)
    assert len({one[:8] for one in made}) == 64
    assert made != sorted(made)
