"""Starting and ending processes so that none is left: groups, accounts, and children that follow us when we die."""

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from runtime.console import Failure, Step
from runtime.stopping import StopFlag

OWNER = "MEDIAN_SUPERVISOR"  # in the environment of every child: the folder whose supervisor started it
KEPT_LOGS = 5
GRACE_S = 5.0  # before what was left behind is killed

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Account:
    """The system account that a process runs as instead of root."""

    name: str
    uid: int
    gid: int


def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: IO[bytes],
    errors: IO[bytes] | int = subprocess.STDOUT,
    typed: IO[bytes] | None = None,
    death_signal: int = signal.SIGTERM,
    account: Account | None = None,
    fds: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Starts a process at the head of a group of its own. On Linux it gets `death_signal` if we die without a word."""
    return subprocess.Popen(
        command,
        env=env,
        cwd=cwd,
        stdin=typed or subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        pass_fds=fds,
        preexec_fn=follow_parent(death_signal),
    )


def follow_parent(death_signal: int) -> Callable[[], None]:
    """What a new child calls before it becomes its program (after any change of account, which would undo it)."""
    parent = os.getpid()

    def follow() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
            if os.getppid() != parent:  # we were gone before the call
                os._exit(1)

    return follow


def end(process: "subprocess.Popen[bytes]", *, by: int = signal.SIGTERM, grace: float = 10.0) -> bool:
    """Ends a spawned process and its whole group; returns whether it ended by itself within `grace` seconds."""
    in_time = True
    if process.poll() is None:
        process.send_signal(by)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace)
        in_time = process.poll() is not None
    with suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, when only zombies are left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return in_time


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    step: Step,
    stop: StopFlag,
    output: IO[bytes] | None = None,
    typed: str = "",
    account: Account | None = None,
) -> None:
    """Runs a command to its end, its words going to `log`, or its standard output to `output` where one is given.

    `typed` is what it reads as its standard input.
    Raises `Failure` with the end of the log when it fails.
    """
    with open(log, "ab") as words, tempfile.TemporaryFile() as keys:
        keys.write(typed.encode())
        keys.seek(0)
        process = spawn(command, env=env, cwd=cwd, output=output or words, errors=words, typed=keys, account=account)
        try:
            while process.poll() is None:
                step.tick(last_lines(log, count=1))
                stop.wait(0.05)
        finally:
            end(process)
    if process.returncode:
        raise Failure(
            f"{Path(command[0]).name} {' '.join(command[1:4])} failed with exit code {process.returncode}. "
            f"The end of {log}:\n\n{last_lines(log, count=20)}"
        )


def strays(home: Path) -> list[int]:
    """Processes started by a supervisor of this folder. With no supervisor running they are left over. Linux only."""
    mark = f"{OWNER}={home}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile, or another account's
            if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def end_strays(home: Path) -> int:
    """Ends what a killed supervisor of this folder left behind; returns how many there were."""
    left = first = strays(home)
    started = time.monotonic()
    while left and (waited := time.monotonic() - started) < 2 * GRACE_S:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if waited < GRACE_S else signal.SIGKILL)
        time.sleep(0.1)
        left = strays(home)
    return len(first)


def open_log(folder: Path, *, name: str) -> Path:
    """A fresh log file; the ones of the last starts are kept as NAME.1.log (the latest) and on."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for age in range(KEPT_LOGS, 0, -1):
        older = folder / (f"{name}.{age - 1}.log" if age > 1 else f"{name}.log")
        if older.exists():
            older.rename(folder / f"{name}.{age}.log")
    path = folder / f"{name}.log"
    path.touch(mode=0o600)
    return path


def last_lines(log: Path, *, count: int) -> str:
    """The last lines of a log that say anything."""
    with open(log, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 8192))
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join([line.rstrip() for line in lines if line.strip()][-count:])
