"""Keeps a set of long-running processes alive, says what happens to them, and ends them in order."""

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from types import TracebackType
from typing import Self

from runtime import processes
from runtime.console import Console, Failure, Step
from runtime.processes import Account
from runtime.stopping import StopFlag, Stopped

TICK = 0.2  # seconds between two looks at the children
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a crashed process is started again; doubles each time
STEADY = 60.0  # seconds of life after which a crash counts as the first one again
BEAT_LIMIT = 180.0  # seconds without a heartbeat after which a process is taken to hang
LAST_WORDS = 20.0  # seconds that an interrupted command in the foreground has to finish
EARLY_CRASHES = 3  # of one process before everything is ready: it will not come up


@dataclass(frozen=True)
class Service:
    """A process to keep alive.

    `leaves` orders the end: the lowest number first, among equals the one started last. `before` runs ahead of each
    start. `beat` is a file that the process touches while it is well.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    stop_signal: int = signal.SIGTERM
    grace: float = 10.0
    leaves: int = 0
    account: Account | None = None
    fds: Sequence[int] = ()
    before: Callable[[], None] | None = None
    beat: Path | None = None


@dataclass
class Child:
    """A service and the process it is at present."""

    service: Service
    log: Path
    process: "Popen[bytes]"
    started: float
    crashes: int = 0
    restart_at: float | None = None  # set while no process is running
    beat: tuple[float, float] = field(default=(0.0, 0.0))  # the file's time, and when we first saw it


class Supervisor:
    """Starts services and keeps them alive; ends all of them when its `with` block is left, however it is left."""

    def __init__(self, home: Path, *, console: Console, stop: StopFlag) -> None:
        self.home, self.logs = home, home / "log"
        self.console, self.stop = console, stop
        self._children: list[Child] = []
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        if left := processes.end_strays(home):
            console.say(f"Ended {left} process{'es' if left > 1 else ''} left over from a run that was killed.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Ends every child in the order of `leaves`, and what they left behind."""
        while self._children:
            child = min(reversed(self._children), key=lambda child: child.service.leaves)
            service = child.service
            if not processes.end(child.process, by=service.stop_signal, grace=service.grace):
                self.console.say(f"{service.name} did not stop within {service.grace:.0f} s and was killed.")
            self._children.remove(child)
        processes.end_strays(self.home)

    def start(self, service: Service) -> "Popen[bytes]":
        """Starts a service and keeps it alive from now on, as long as `tick` is called."""
        log = processes.open_log(self.logs, name=service.name)
        child = Child(service, log, self._launch(service, log), time.monotonic())
        self._children.append(child)
        return child.process

    def watch(self) -> None:
        """Keeps the services alive until `Stopped` is raised."""
        while True:
            self.tick()
            self.stop.wait(TICK)

    def wait_until(self, is_ready: Callable[[], bool], *, what: str, seconds: float, step: Step | None = None) -> None:
        """Keeps the services alive until `is_ready`. Raises `Failure` when it takes too long or one keeps crashing."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            if step:
                step.tick(f"waiting for {what}")
            self.tick()
            for child in self._children:
                if child.crashes >= EARLY_CRASHES:
                    raise Failure(f"{child.service.name} does not start. {_end_of(child.log)}")
            if time.monotonic() > deadline:
                raise Failure(f"{what} did not answer within {seconds:.0f} s. Its log is in {self.logs}.")
            self.stop.wait(0.05)

    def run_in_foreground(self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> int:
        """Runs a command that talks to the person at our terminal, to its end; returns its exit code.

        Ctrl-C reaches it directly, as it is in our process group; any other stop signal is passed on as Ctrl-C.
        """
        process = Popen(
            command,
            env={**env, processes.OWNER: str(self.home)},
            cwd=cwd,
            preexec_fn=processes.follow_parent(signal.SIGTERM),
        )
        try:
            while process.poll() is None:
                self.tick()
                self.stop.wait(0.1)
        except Stopped:
            if not (self.stop.received == signal.SIGINT and sys.stdin.isatty()):
                process.send_signal(signal.SIGINT)
            with suppress(TimeoutExpired):
                process.wait(LAST_WORDS)
        finally:
            process.kill()
            process.wait()
        return process.returncode if process.returncode >= 0 else 128 - process.returncode

    def tick(self) -> None:
        """Looks at every child once: starts again what ended, and what hangs."""
        now = time.monotonic()
        for child in self._children:
            if child.restart_at is not None:
                if now >= child.restart_at:
                    self._restart(child, now=now)
            elif child.process.poll() is not None:
                self._note_crash(child, now=now)
            elif child.service.beat and self._is_silent(child, child.service.beat, now=now):
                self.console.say(
                    f"{child.service.name} gave no sign of life for {BEAT_LIMIT:.0f} s; starting it again."
                )
                processes.end(child.process, by=child.service.stop_signal, grace=5.0)
                self._restart(child, now=now)

    def _launch(self, service: Service, log: Path) -> "Popen[bytes]":
        if service.before:
            service.before()
        with open(log, "ab") as output:
            return processes.spawn(
                service.command,
                env={**service.env, processes.OWNER: str(self.home)},
                cwd=service.cwd,
                output=output,
                death_signal=service.stop_signal,
                account=service.account,
                fds=service.fds,
            )

    def _restart(self, child: Child, *, now: float) -> None:
        child.process = self._launch(child.service, child.log)
        child.started, child.restart_at, child.beat = now, None, (0.0, now)

    def _note_crash(self, child: Child, *, now: float) -> None:
        processes.end(child.process)  # what is left of its group
        child.crashes = 1 if now - child.started > STEADY else child.crashes + 1
        pause = min(FIRST_PAUSE * 2 ** (child.crashes - 1), LONGEST_PAUSE)
        child.restart_at = now + pause
        code = child.process.returncode
        how = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        self.console.say(f"{child.service.name} ended {how}; starting it again in {pause:g} s. {_end_of(child.log)}")

    def _is_silent(self, child: Child, beat: Path, *, now: float) -> bool:
        """Counts on our own clock, which stands still while the machine sleeps."""
        touched = beat.stat().st_mtime if beat.exists() else 0.0
        if touched != child.beat[0]:
            child.beat = (touched, now)
        return now - max(child.beat[1], child.started) > BEAT_LIMIT


def _end_of(log: Path) -> str:
    lines = processes.last_lines(log, count=8).replace("\n", "\n    ")
    return f"The end of {log}:\n    {lines}" if lines else f"It wrote nothing to {log}."
