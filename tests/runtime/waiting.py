"""Waiting for another process to do something that it does not announce."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Returns as soon as `holds` does; fails the test when it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.02)
