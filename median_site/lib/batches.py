"""Work on the database that is asked for one by one and done together: one thread and a few statements for all.

Nothing waits to be joined by more: what is asked for while a round is at work makes up the next one.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from median_site.lib.db import AWAY, in_thread

T = TypeVar("T")
R = TypeVar("R")

# Rows that are locked together stay locked for as long as the work on all of them takes.
MOST: Final = 100


class Batch(Generic[T, R]):
    """`work` takes up to `most` things and gives their results in the same order, in one transaction or none.

    A round that breaks is worked on again one by one, so that what breaks for one thing breaks for that alone.
    """

    def __init__(self, work: Callable[[Sequence[T]], Sequence[R]], *, most: int = MOST) -> None:
        self._work = work
        self._most = most
        self._waiting: dict[asyncio.Future[R], T] = {}
        self._rounds: asyncio.Task[None] | None = None

    async def __call__(self, thing: T) -> R:
        """The result for one thing. A caller that is cancelled while a round works on it ends with that round."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting[future] = thing
        if self._rounds is None:
            self._rounds = asyncio.create_task(self._work_off())
        try:
            return await asyncio.shield(future)
        finally:
            if future in self._waiting:
                del self._waiting[future]
            elif not future.done():
                await asyncio.wait({future})

    async def _work_off(self) -> None:
        try:
            while self._waiting:
                taken = dict(list(self._waiting.items())[: self._most])
                for future in taken:
                    del self._waiting[future]
                await self._round(list(taken), list(taken.values()))
        finally:
            self._rounds = None

    async def _round(self, futures: Sequence[asyncio.Future[R]], things: Sequence[T]) -> None:
        try:
            results = await in_thread(self._work, things)
        except Exception as error:  # noqa: BLE001  # whoever asked hears of it
            if len(things) == 1 or isinstance(error, AWAY):
                for future in futures:
                    future.set_exception(error)
                    future.exception()  # a caller that was cancelled does not ask
            else:
                for future, thing in zip(futures, things, strict=True):
                    await self._round([future], [thing])
        else:
            for future, result in zip(futures, results, strict=True):
                future.set_result(result)
