"""Waiting for what another thread or process does: until it is so, or until patience ends."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: Callable[[], T], *, within_s: float = 30, every_s: float = 0.02) -> T:
    """The first truthy value of `what`. Raises TimeoutError with its last value."""
    deadline = time.monotonic() + within_s
    while not (value := what()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"still {value!r} after {within_s} s")
        time.sleep(every_s)
    return value
