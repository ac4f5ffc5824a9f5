"""Ctrl-C and its kin. A signal only sets a flag; the places that wait look at it.

So no signal can fall between starting a process and remembering it, and none interrupts the tidying up.
"""

import select
import signal
import socket
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The person, or the system, asked us to stop. Not an error: unwind and tidy up."""


class StopFlag:
    """Remembers the first stop signal of this process, once it listens to them. Close it when done, as by `with`."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._listens = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.set_wakeup_fd(-1)
        self._reader.close()
        self._writer.close()

    def listen(self) -> None:
        """Takes over this process's stop signals. On its main thread, before any process is started."""
        self._listens = True
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._remember)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.received = self.received or number

    def wait(self, seconds: float) -> None:
        """Sleeps. Raises `Stopped` at once when a stop signal has come or comes meanwhile."""
        if not self.received:
            select.select([self._reader], [], [], seconds)
        if self.received:
            raise Stopped(self.received)
