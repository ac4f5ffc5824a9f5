"""bin/bench: runs one benchmark of `bench/` on a PostgreSQL that keeps the data the benchmarks set up."""

import ast
import sys

from runtime import command, environment, locks, postgres
from runtime.console import Console, Failure
from runtime.project import Project
from runtime.stopping import StopFlag
from runtime.supervisor import Supervisor
from runtime.testing import settings_for_tests

HELP = """\
usage: bin/bench [NAME [arguments]]

Runs a benchmark, which prints one JSON object a line; without a name, lists them. Its database lies in var/bench
and keeps what a benchmark sets up; delete that folder to start over."""


def main() -> int:
    project, arguments = Project.here(), sys.argv[1:]
    if arguments in (["--help"], ["-h"]):
        Console(sys.stdout).say(HELP)
        return 0
    if not arguments:
        Console(sys.stdout).say("\n".join(f"{name:<12} {about}" for name, about in sorted(benchmarks(project).items())))
        return 0
    console = Console(sys.stderr)  # standard output is the benchmark's
    return command.run(lambda stop: bench(arguments, project=project, console=console, stop=stop), console=console)


def benchmarks(project: Project) -> dict[str, str]:
    """The names of the benchmarks, each with the first line of what it says about itself."""
    return {
        path.stem: (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n", 1)[0]
        for path in (project.root / "bench").glob("[!_]*.py")
    }


def bench(arguments: list[str], *, project: Project, console: Console, stop: StopFlag) -> int:
    """Returns the benchmark's exit code."""
    name, *rest = arguments
    if name not in (known := benchmarks(project)):
        raise Failure(f"There is no benchmark {name}. There are: {', '.join(sorted(known))}.")
    environment.ensure(project, lock=environment.DEVELOP, console=console, stop=stop)
    home = project.var / "bench"
    with (
        locks.held(project.var / "run" / "bench.lock", on_busy=_refuse),
        Supervisor(home, console=console, stop=stop) as supervisor,
    ):
        server = postgres.boot(supervisor, venv=project.venv)
        return supervisor.run_in_foreground(
            [str(project.python), "-m", f"bench.{name}", *rest],
            env=project.hermetic_environment(**settings_for_tests(server.url)),
            cwd=project.root,
        )


def _refuse() -> None:
    raise Failure("Another benchmark is running from this folder; both would measure each other.")


if __name__ == "__main__":
    sys.exit(main())
