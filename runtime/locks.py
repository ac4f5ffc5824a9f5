"""One at a time, across processes: a lock is held by a process and ends with it, however it ends."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Lock:
    """An exclusive lock on a file that also holds a note for whoever finds it taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def note(self, text: str) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)

    def release(self) -> None:
        self.note("")
        os.close(self._descriptor)


def take(path: Path) -> Lock | None:
    """The lock, or None when another process holds it; then `path.read_text()` is the note it left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return Lock(descriptor)


@contextmanager
def held(path: Path, *, on_busy: Callable[[], None]) -> Iterator[Lock]:
    """Holds the lock. While another process has it, calls `on_busy` again and again: wait a little in it, or raise."""
    while (lock := take(path)) is None:
        on_busy()
    try:
        yield lock
    finally:
        lock.release()
