"""The one place that says what time it is. Deadlines are decided by the database's clock, in the deciding statement."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

_held: Final[ContextVar[datetime | None]] = ContextVar("clock", default=None)


def now() -> datetime:
    """The current moment, aware, in UTC."""
    return _held.get() or datetime.now(UTC)


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Within the block, and in this thread or task alone, it is `moment`: for the demo's made-up past and for tests.

    The database's clock goes on, so a deadline is as near as it was.
    """
    token = _held.set(moment)
    try:
        yield
    finally:
        _held.reset(token)
