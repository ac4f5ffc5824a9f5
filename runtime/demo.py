"""bin/demo: sets up and runs the whole of Median on this machine, and ends all of it with Ctrl-C."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from socket import socket
from typing import cast

from runtime import command, environment, locks, network, postgres, processes
from runtime.console import Console, Failure
from runtime.locks import Lock
from runtime.project import Project
from runtime.stack import Facts, Stack
from runtime.stopping import StopFlag, Stopped
from runtime.supervisor import Supervisor
from runtime.welcome import welcome

READY_WITHIN = 60.0  # seconds
SHOP_PORT = 8765
KEPT_FOLDERS = ("run", "log", "test", "bench")

DESCRIPTION = """\
Sets up and runs Median on this machine: Python packages (in .venv), a PostgreSQL of its own, a workspace with
sample data, an example shop whose assistant may act, and the dashboard where a team approves what it does.
Ready within a minute the first time and within seconds after that. Ctrl-C stops all of it."""

SETTINGS = """\
real parts instead of the built-in ones, by environment variable:
  MEDIAN_DATABASE_URL   a PostgreSQL server, as postgresql://user:password@host/database
  MEDIAN_REDIS_URL      Redis, for live updates
  MEDIAN_MODEL_URL      an OpenAI-compatible model, with MEDIAN_MODEL_KEY and MEDIAN_MODEL_NAME
  MEDIAN_SECRET_KEY     the installation's secret; otherwise made once and kept in var/secret
  MEDIAN_PG_BIN_DIR     other PostgreSQL programs than the ones in .venv
  MEDIAN_PG_USER        the account that runs PostgreSQL when this runs as root; otherwise nobody

Everything it makes lies in .venv and var; the logs are in var/log."""


class Options(argparse.Namespace):
    port: int
    fresh: bool
    yes: bool


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bin/demo",
        description=DESCRIPTION,
        epilog=SETTINGS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8000, help="port of the dashboard, or the next free one (8000)")
    parser.add_argument("--fresh", action="store_true", help="delete the demo's data first and start over")
    parser.add_argument("--yes", action="store_true", help="with --fresh: do not ask")
    options = parser.parse_args(namespace=Options())
    project, console = Project.here(), Console(sys.stdout)
    if options.fresh and not options.yes and sys.stdin.isatty():
        answer = input(f"This deletes the demo's data in {project.var}. Go on? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            return command.FAILED
    return command.run(lambda stop: Demo(project, console=console, stop=stop).run(options), console=console)


class Demo:
    """One run of the demo."""

    def __init__(self, project: Project, *, console: Console, stop: StopFlag) -> None:
        self._project, self._console, self._stop = project, console, stop
        self._home = project.var
        self._started = time.monotonic()

    def run(self, options: Options) -> int:
        with locks.held(self._home / "run" / "demo.lock", on_busy=self._refuse) as lock:
            environment.ensure(self._project, lock=environment.RUN, console=self._console, stop=self._stop)
            try:
                with Supervisor(self._home, console=self._console, stop=self._stop) as supervisor, self._farewell():
                    if options.fresh:
                        self._erase()
                    with network.listen(options.port) as door:
                        self._serve(supervisor, door=door, lock=lock, wanted_port=options.port)
            except Stopped:
                self._console.say("Stopped. Nothing is left running.")
        return 0

    def _serve(self, supervisor: Supervisor, *, door: socket, lock: Lock, wanted_port: int) -> None:
        """Starts everything, says what a newcomer needs to know, and keeps it alive until `Stopped`."""
        stack = Stack(
            project=self._project,
            home=self._home,
            port=network.port_of(door),
            shop_port=network.free_port(SHOP_PORT),
            database_url=os.environ.get("MEDIAN_DATABASE_URL") or self._boot(supervisor),
            secret=self._project.secret(),
        )
        if stack.port != wanted_port:
            self._console.say(f"Port {wanted_port} is taken; using {stack.port}.")
        lock.note(f"{stack.url} (process {os.getpid()})")
        facts = self._prepare(stack)
        with self._console.step("Starting the dashboard and the shop") as step:
            supervisor.start(stack.web(door.fileno()))
            supervisor.start(stack.shop(facts))
            for name, port, path in (("web", stack.port, "/healthz"), ("shop", stack.shop_port, "/")):
                answers = partial(network.answers, port, path)
                supervisor.wait_until(answers, what=name, seconds=READY_WITHIN, step=step)
        supervisor.start(stack.agent())  # it finds what was asked before it came: nobody needs to wait for it
        supervisor.start(stack.jobs())
        self._console.say(welcome(stack, facts=facts, seconds=time.monotonic() - self._started))
        supervisor.watch()

    def _boot(self, supervisor: Supervisor) -> str:
        return postgres.boot(supervisor, venv=self._project.venv).url

    def _prepare(self, stack: Stack) -> Facts:
        """Migrates, seeds what is missing, and learns how to sign in. The answer holds secrets: it is not logged."""
        log = processes.open_log(self._home / "log", name="prepare")
        with self._console.step("Preparing the workspace") as step, tempfile.TemporaryFile() as answer:
            processes.run(
                stack.prepare_command(),
                env=stack.environment(),
                cwd=self._project.root,
                log=log,
                step=step,
                stop=self._stop,
                output=answer,
            )
            answer.seek(0)
            return cast(Facts, json.loads(answer.read().splitlines()[-1]))

    def _erase(self) -> None:
        """Deletes what the demo made, not what the tests and benchmarks keep beside it."""
        if os.environ.get("MEDIAN_DATABASE_URL"):
            raise Failure("--fresh deletes the demo's own database only; MEDIAN_DATABASE_URL names yours. Unset one.")
        postgres.forget(self._home, venv=self._project.venv)
        for entry in self._home.iterdir():
            if entry.is_dir() and entry.name not in KEPT_FOLDERS:
                shutil.rmtree(entry)
            elif entry.is_file():
                entry.unlink()

    def _refuse(self) -> None:
        note = (self._home / "run" / "demo.lock").read_text()
        raise Failure(f"Median is already running from this folder: {note or 'it is just starting'}. Ctrl-C stops it.")

    @contextmanager
    def _farewell(self) -> Iterator[None]:
        try:
            yield
        except Stopped:
            self._console.say("Stopping: requests and calls under way are finished first.")
            raise


if __name__ == "__main__":
    sys.exit(main())
