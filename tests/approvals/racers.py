"""Sixty-four people on connections of their own, in several processes, who let go at one moment.

A test hands each a script: what to do (see racer.ACTS), with which arguments, and how long after the start.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

PROCESSES = 4
THREADS = 16
PEOPLE = PROCESSES * THREADS
ROOT = Path(__file__).resolve().parent.parent.parent
# Between handing the scripts out and the start: long enough for every process to have read its own.
HEAD_START_S = 0.2

Script = Sequence[tuple[float, str, Sequence[object]]]


class Racers:
    """The processes, which keep waiting for scripts until they are closed."""

    def __init__(self, database_url: str) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.approvals.racer"],
                cwd=ROOT,
                env={**os.environ, "MEDIAN_DATABASE_URL": database_url},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(PROCESSES)
        ]

    def race(self, scripts: Sequence[Script]) -> list[list[object]]:
        """Run every script at once and give its acts' results; an error is given by its code.

        The first sixteen scripts are the first process's, and so on.
        """
        start = time.monotonic() + HEAD_START_S
        shares = [scripts[at : at + THREADS] for at in range(0, PEOPLE, THREADS)]
        for process, share in zip(self._processes, shares, strict=True):
            print(json.dumps({"start": start, "scripts": share}), file=process.stdin, flush=True)
        return [result for process in self._processes for result in json.loads(next(iter(process.stdout or ())))]

    def close(self) -> None:
        for process in self._processes:
            process.communicate(timeout=20)


@contextmanager
def racing(database_url: str) -> Iterator[Racers]:
    racers = Racers(database_url)
    try:
        yield racers
    finally:
        racers.close()
