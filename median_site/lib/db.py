"""The database from asynchronous code: a synchronous function in a thread, whose connection goes back afterwards."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connections

P = ParamSpec("P")
T = TypeVar("T")

# What is raised while the database is away, or only reads because another machine takes over: later it will work.
AWAY: Final = (OperationalError, InterfaceError, InternalError)

# As many threads as the connection pool has connections, but for one: more would only wait.
_threads: Final = ThreadPoolExecutor(max_workers=10, thread_name_prefix="db")
_urgent: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="db-urgent")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread with a database connection of its own, which is given back when it ends.

    A caller that is cancelled meanwhile ends when `work` does, so that nothing goes on behind its back.
    """
    return await _run(_threads, partial(work, *args, **kwargs))


async def at_once(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same, ahead of all that waits for a thread: for signs of life, which must not come late."""
    return await _run(_urgent, partial(work, *args, **kwargs))


async def _run(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    def call() -> T:
        try:
            return work()
        finally:
            connections.close_all()

    running = asyncio.get_running_loop().run_in_executor(threads, call)
    try:
        return await asyncio.shield(running)
    finally:
        if not running.done():  # cancelled: the thread cannot be stopped, so its end is waited for
            await asyncio.wait({running})
