"""bin/check: lint, format, types and architecture, without a database. Says what it checks and how each went."""

import sys
import tempfile
import time

from runtime import command, environment, processes
from runtime.console import Console
from runtime.project import Project
from runtime.stopping import StopFlag
from runtime.testing import settings_for_tests

HELP = """\
usage: bin/check [--fix]

Checks lint and format (ruff), types (mypy) and the architecture (tests/test_architecture.py).
With --fix, ruff first mends what it can and formats the code."""

FIXES = {"mend": ["ruff", "check", "--fix-only", "--exit-zero"], "reformat": ["ruff", "format"]}
CHECKS = {
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
    "types": ["mypy"],
    # It reads the source and runs none of it: without Django, its settings and our fixtures.
    "architecture": [
        *("pytest", "tests/test_architecture.py", "-q", "--noconftest", "-p", "no:django"),
        *("-W", "ignore::pytest.PytestConfigWarning"),
    ],
}


def main() -> int:
    console = Console(sys.stdout)
    arguments = sys.argv[1:]
    if arguments not in ([], ["--fix"]):
        console.say(HELP)
        return 0 if arguments == ["--help"] else command.FAILED
    return command.run(lambda stop: check(fix=bool(arguments), console=console, stop=stop), console=console)


def check(*, fix: bool, console: Console, stop: StopFlag) -> int:
    """Runs every part, whatever the others say; returns the exit code."""
    project = Project.here()
    environment.ensure(project, lock=environment.DEVELOP, console=console, stop=stop)
    failed = [
        name
        for name, words in ((FIXES if fix else {}) | CHECKS).items()
        if not run_part(name, words, project=project, console=console, stop=stop)
    ]
    if failed:
        console.say(f"Failed: {', '.join(failed)}.")
    return command.FAILED if failed else 0


def run_part(name: str, words: list[str], *, project: Project, console: Console, stop: StopFlag) -> bool:
    """Runs one part and prints one line for it, with what it said below when it failed."""
    started = time.monotonic()
    console.draw(f"{name} …")
    with tempfile.TemporaryFile() as output:
        process = processes.spawn(
            [str(project.python), "-m", *words],
            env=project.hermetic_environment(**settings_for_tests("postgresql:///no-database-is-needed")),
            cwd=project.root,
            output=output,
        )
        try:
            while process.poll() is None:
                stop.wait(0.02)
        finally:
            processes.end(process)
        output.seek(0)
        said = output.read().decode(errors="replace").rstrip()
    passed = process.returncode == 0
    console.say(f"{name:<14}{'passed' if passed else 'FAILED'}  {time.monotonic() - started:5.1f} s")
    if not passed:
        console.say(f"\n{said}\n")
    return passed


if __name__ == "__main__":
    sys.exit(main())
