"""Work that is asked for one by one and done together."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from django.db import OperationalError

from median_site.lib.batches import MOST, Batch


async def test_what_is_asked_for_meanwhile_makes_up_the_next_round() -> None:
    rounds: list[list[int]] = []
    go_on = threading.Event()

    def double(things: Sequence[int]) -> list[int]:
        rounds.append(list(things))
        go_on.wait(10)
        return [2 * thing for thing in things]

    batch = Batch(double)
    first = asyncio.create_task(batch(1))
    while not rounds:
        await asyncio.sleep(0)
    others = [asyncio.create_task(batch(thing)) for thing in range(2, MOST + 4)]
    await asyncio.sleep(0)
    go_on.set()
    assert await asyncio.gather(first, *others) == [2 * thing for thing in range(1, MOST + 4)]
    assert rounds == [[1], list(range(2, MOST + 2)), [MOST + 2, MOST + 3]]


async def test_what_breaks_for_one_breaks_for_that_alone() -> None:
    def halve(things: Sequence[int]) -> list[float]:
        return [1 / thing for thing in things]

    batch = Batch(halve)
    results = await asyncio.gather(*map(batch, [1, 0, 2]), return_exceptions=True)
    assert [results[0], type(results[1]), results[2]] == [1, ZeroDivisionError, 0.5]


async def test_a_database_that_is_away_is_not_asked_once_for_each() -> None:
    rounds = []

    def away(things: Sequence[int]) -> list[int]:
        rounds.append(things)
        raise OperationalError

    batch = Batch(away)
    results = await asyncio.gather(*map(batch, range(5)), return_exceptions=True)
    assert [type(result) for result in results] == [OperationalError] * 5
    assert len(rounds) == 1


async def test_a_caller_that_is_cancelled_ends_with_the_round_it_is_in_and_leaves_the_others_theirs() -> None:
    at_work, go_on = threading.Event(), threading.Event()

    def slow(things: Sequence[str]) -> list[str]:
        at_work.set()
        go_on.wait(10)
        return list(things)

    batch = Batch(slow)
    one, two = asyncio.create_task(batch("one")), asyncio.create_task(batch("two"))
    await asyncio.to_thread(at_work.wait, 10)
    later = asyncio.create_task(batch("later"))
    await asyncio.sleep(0)
    one.cancel()
    later.cancel()
    await asyncio.sleep(0)
    assert not one.done()
    go_on.set()
    assert await two == "two"
    with pytest.raises(asyncio.CancelledError):
        await one
    with pytest.raises(asyncio.CancelledError):
        await later
