"""The embedded PostgreSQL: makes its data folder, starts it as a service, clears up after one that was killed."""

import os
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen, run
from urllib.parse import quote

from runtime import placement, processes
from runtime.console import Console, Failure, Step
from runtime.stopping import StopFlag
from runtime.supervisor import Service, Supervisor

NAME = "median"  # of the database and of its superuser
SHUTDOWN = 30.0  # seconds

LASTING = {"max_connections": "200"}
# For data that lives as long as one run of the tests: nothing waits for the disk.
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"}


def boot(supervisor: Supervisor, *, venv: Path, settings: Mapping[str, str] = LASTING) -> "Server":
    """Starts the PostgreSQL of the supervisor's folder, making it first if need be; it takes connections on return."""
    server = Server(placement.find(supervisor.home, venv=venv), logs=supervisor.logs, settings=settings)
    if not server.data.exists():
        server.make(console=supervisor.console, stop=supervisor.stop)
    server.wait_until_ready(supervisor.start(server.service()), stop=supervisor.stop)
    return server


def forget(home: Path, *, venv: Path) -> None:
    """Deletes the PostgreSQL of this folder with all its data, ending it first where it is still running."""
    Server(placement.find(home, venv=venv), logs=home / "log").clear_leftovers()
    placement.erase(home)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL of our own: no network, one Unix socket that only its account and root can use."""

    place: placement.Place
    logs: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.place.home / f"data-{self.place.major}"

    @property
    def url(self) -> str:
        """As libpq and psycopg read it: the socket's folder is the host."""
        return f"postgresql://{NAME}@/{NAME}?host={quote(str(self.place.sockets), safe='')}"

    def service(self) -> Service:
        settings = {"listen_addresses": "", "unix_socket_permissions": "0700", "timezone": "UTC", **self.settings}
        options = [f"{name}={value}" for name, value in settings.items()]
        return Service(
            name="postgresql",
            command=[
                str(self.place.binaries / "postgres"),
                *("-D", str(self.data), "-k", str(self.place.sockets)),
                *(word for option in options for word in ("-c", option)),
            ],
            env=_environment(),
            cwd=self.place.home,
            stop_signal=signal.SIGINT,  # ends sessions and writes everything down
            grace=SHUTDOWN,
            leaves=9,  # after everything that uses it
            account=self.place.account,
            before=self.clear_leftovers,
        )

    def make(self, *, console: Console, stop: StopFlag) -> None:
        """Makes the data folder and the database in it. One that was interrupted is made anew."""
        fresh = self.place.home / "data-new"
        shutil.rmtree(fresh, ignore_errors=True)
        log = processes.open_log(self.logs, name="postgresql-setup")
        with console.step("Making the database") as step:
            self._run(*self._initdb(fresh), log=log, step=step, stop=stop)
            self._run(
                *("postgres", "--single", "-D", str(fresh), "postgres"),
                typed=f"CREATE DATABASE {NAME}\n",
                log=log,
                step=step,
                stop=stop,
            )
        fresh.rename(self.data)

    def _initdb(self, folder: Path) -> list[str]:
        words = ["initdb", "-D", str(folder), "-U", NAME, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        if self.place.major >= 17:
            words.append("--locale-provider=builtin")
        if self.settings.get("fsync") == "off":
            words.append("--no-sync")
        return words

    def _run(self, program: str, *arguments: str, log: Path, step: Step, stop: StopFlag, typed: str = "") -> None:
        processes.run(
            [str(self.place.binaries / program), *arguments],
            env=_environment(),
            cwd=self.place.home,
            log=log,
            step=step,
            stop=stop,
            typed=typed,
            account=self.place.account,
        )

    def clear_leftovers(self) -> None:
        """Ends a server of this folder that outlived its supervisor, and removes a pid file that names a stranger.

        PostgreSQL clears up after itself except where the old server's number now belongs to another process.
        """
        pid_file = self.data / "postmaster.pid"
        deadline = time.monotonic() + SHUTDOWN
        while left := _servers_of(self.data):
            if time.monotonic() > deadline:
                raise Failure(f"A PostgreSQL of {self.data} (process {left[0]}) is running and does not stop.")
            with suppress(OSError, ValueError):
                if (postmaster := int(pid_file.read_text().split("\n", 1)[0])) in left:
                    os.kill(postmaster, signal.SIGINT)
            time.sleep(0.05)
        pid_file.unlink(missing_ok=True)

    def wait_until_ready(self, process: "Popen[bytes]", *, stop: StopFlag) -> None:
        """Returns when the server takes connections, also after a crash recovery. Raises `Failure` if it ends."""
        while not self._is_ready(process.pid):
            if process.poll() is not None:
                log = self.logs / "postgresql.log"
                raise Failure(f"PostgreSQL did not start. The end of {log}:\n\n{processes.last_lines(log, count=10)}")
            stop.wait(0.02)

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _environment() -> dict[str, str]:
    """Ours without what would steer PostgreSQL, its messages in English."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def _servers_of(data: Path) -> list[int]:
    """The processes of a PostgreSQL that works in this folder."""
    if Path("/proc/self/cwd").exists():
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "cwd").readlink() == data.resolve():
                    found.append(int(entry.name))
        return found
    with suppress(OSError, ValueError):
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        shown = run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
        return [pid] if str(data) in shown else []
    return []
