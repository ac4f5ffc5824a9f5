"""What the commands say while they work: one line a step, with the time it took."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

REMINDER = 10.0  # seconds between two signs of life of a long step, where lines cannot be redrawn


class Failure(Exception):
    """Something the reader can act upon; its text is what they see, whole sentences."""


class Step:
    """One piece of work under way. Whoever waits calls `tick`."""

    def __init__(self, title: str, *, console: "Console") -> None:
        self._title, self._console = title, console
        self._started = self._shown = time.monotonic()

    def tick(self, detail: str = "") -> None:
        """Shows that the work goes on; `detail` is the latest thing it said. Cheap: call it as often as you like."""
        now = time.monotonic()
        if self._console.redraws and now - self._shown >= 0.1:
            self._console.draw(f"{self._title} … {now - self._started:.0f} s  {detail}")
            self._shown = now
        elif not self._console.redraws and now - self._shown >= REMINDER:
            self._console.say(f"  {self._title} … {now - self._started:.0f} s  {detail}".rstrip())
            self._shown = now

    def end(self, word: str) -> None:
        self._console.say(f"{self._title}: {word} after {time.monotonic() - self._started:.1f} s")


class Console:
    """Lines for a person, on a terminal or in a log. A terminal that went away never stops the work."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self.redraws = stream.isatty()

    def say(self, text: str = "") -> None:
        """One or more whole lines, in place of whatever was drawn."""
        with suppress(OSError, ValueError):
            self._stream.write(("\r\x1b[K" if self.redraws else "") + text + "\n")
            self._stream.flush()

    def draw(self, text: str) -> None:
        """Replaces the line the cursor is on; nothing where lines cannot be redrawn."""
        if self.redraws:
            with suppress(OSError, ValueError):
                self._stream.write(f"\r\x1b[K{text[:100]}")
                self._stream.flush()

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Announces work that takes a moment and says how it ended."""
        step = Step(title, console=self)
        if self.redraws:
            self.draw(f"{title} …")
        try:
            yield step
        except BaseException:
            step.end("stopped")
            raise
        step.end("done")
