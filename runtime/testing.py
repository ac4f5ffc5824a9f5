"""bin/test: sets up and passes the tests, on a PostgreSQL (and a Redis, where there is one) of their own."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime import command, environment, locks, network, placement, postgres
from runtime.console import Console, Failure
from runtime.project import Project, cores
from runtime.stopping import StopFlag
from runtime.supervisor import Service, Supervisor

HELP = """\
usage: bin/test [pytest arguments]

Sets up the virtual environment, starts a PostgreSQL of its own and runs pytest in it: all tests on all processors,
or exactly what the arguments say, as in: bin/test tests/team -k invite

Uses redis-server and chromium where they are installed, and insists on both where CI=true."""

AT_ONCE = 16  # runs of the tests from one folder
# The tests of a file share browsers and processes, so they stay together; in their order, as the last files are small.
ALL_AT_ONCE = ("-n", str(cores()), "--dist", "loadfile", "--no-loadscope-reorder")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> int:
    console = Console(sys.stderr)  # standard output is pytest's
    if sys.argv[1:] == ["--help"]:
        Console(sys.stdout).say(HELP)
        return 0
    return command.run(lambda stop: test(sys.argv[1:], console=console, stop=stop), console=console)


def test(arguments: list[str], *, console: Console, stop: StopFlag) -> int:
    """Returns pytest's exit code."""
    project = Project.here()
    in_ci = os.environ.get("CI") == "true"
    redis = shutil.which("redis-server")
    if in_ci and not any(map(shutil.which, BROWSERS)):
        raise Failure("CI=true asks for the browser tests, but chromium is not installed.")
    if in_ci and not redis:
        raise Failure("CI=true asks for the tests with Redis, but redis-server is not installed.")
    environment.ensure(project, lock=environment.DEVELOP, console=console, stop=stop)
    with own_folder(project) as home, Supervisor(home, console=console, stop=stop) as supervisor:
        postgres.forget(home, venv=project.venv)  # what a killed run left
        server = postgres.boot(supervisor, venv=project.venv, settings=postgres.THROWAWAY)
        settings = settings_for_tests(server.url)
        if in_ci:
            settings["MEDIAN_REQUIRE_BROWSER"] = "1"
        if redis:
            settings["MEDIAN_TEST_REDIS_URL"] = start_redis(redis, supervisor=supervisor, folder=server.place.sockets)
        try:
            return supervisor.run_in_foreground(
                [str(project.python), "-m", "pytest", *(arguments or ALL_AT_ONCE)],
                env=project.hermetic_environment(**settings),
                cwd=project.root,
            )
        finally:
            supervisor.end()
            placement.erase(home)


def settings_for_tests(database_url: str) -> dict[str, str]:
    return {
        "MEDIAN_DATABASE_URL": database_url,
        "MEDIAN_SECRET_KEY": "a key for tests, known to everyone",
        "MEDIAN_URL": "http://testserver",
        "MEDIAN_ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
        "MEDIAN_LOG_LEVEL": "WARNING",
        "MEDIAN_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",  # the endpoints of the tests are on this machine
    }


@contextmanager
def own_folder(project: Project) -> Iterator[Path]:
    """A folder under `var/test` that no other run of the tests uses at this moment."""
    for number in range(AT_ONCE):
        if lock := locks.take(project.var / "run" / f"test-{number}.lock"):
            try:
                yield project.var / "test" / str(number)
            finally:
                lock.release()
            return
    raise Failure(f"{AT_ONCE} runs of the tests are under way in this folder already.")


def start_redis(program: str, *, supervisor: Supervisor, folder: Path) -> str:
    """Starts a Redis that keeps nothing and listens on a Unix socket only; returns its URL."""
    path = folder / "redis.sock"
    supervisor.start(
        Service(
            name="redis",
            command=[program, "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"],
            env=os.environ,
            cwd=folder,
        )
    )
    supervisor.wait_until(lambda: network.accepts(path), what="redis", seconds=20.0)
    return f"unix://{path}"


if __name__ == "__main__":
    sys.exit(main())
