"""The virtual environment, made from a hash lock and made again only when that lock changes."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from runtime import locks, processes
from runtime.console import Console, Failure, Step
from runtime.project import Project
from runtime.stopping import StopFlag

RUN = "requirements.lock"
DEVELOP = "requirements-dev.lock"  # everything of RUN and more
SUITE = "tests/tools/schema_suite.txt"  # a source distribution that the tests read; none of its code is run

STAMP = "median-stamp"  # in .venv: the locks that are installed in it, as "NAME SHA256" lines
UNFINISHED = "an installation was begun"  # what the stamp says from the first package to the last


def ensure(project: Project, *, lock: str, console: Console, stop: StopFlag) -> None:
    """Makes `.venv` hold what the lock names. Raises `Failure` with what to do when it cannot."""
    if is_current(project, lock=lock):
        return

    def wait_for_the_other() -> None:
        stop.wait(0.2)

    with (
        console.step(f"Installing the packages of {lock}") as step,
        locks.held(project.var / "run" / "environment.lock", on_busy=wait_for_the_other),
    ):
        if not is_current(project, lock=lock):  # the other one may have done it
            _install(project, lock=lock, step=step, stop=stop)


def is_current(project: Project, *, lock: str) -> bool:
    """Whether `.venv` works and was made from this very lock."""
    return _line(project, lock) in _stamp_lines(project) and _works(project)


def _install(project: Project, *, lock: str, step: Step, stop: StopFlag) -> None:
    uv = _working_uv()
    if project.venv.exists() and (UNFINISHED in _stamp_lines(project) or not _works(project)):
        shutil.rmtree(project.venv)
    log = processes.open_log(project.var / "log", name="install")

    def run(*command: str) -> None:
        processes.run(command, env=_environment(), cwd=project.root, log=log, step=step, stop=stop)

    if not project.venv.exists():
        if not uv and not can_make_pip():
            raise Failure(
                "This Python cannot make virtual environments: its ensurepip module is missing. "
                "On Debian and Ubuntu: apt install python3-venv. Or install uv."
            )
        # Not sys.executable: that may be the .venv we are about to make, when its owner has it activated.
        base = getattr(sys, "_base_executable", sys.executable)
        run(base, "-m", "venv", *(["--without-pip"] if uv else []), str(project.venv))
    (project.venv / STAMP).write_text(UNFINISHED)
    required = ["--require-hashes", "-r", str(project.root / lock)]
    if uv:
        run(uv, "pip", "install", "--python", str(project.python), "--compile-bytecode", *required)
    else:
        if not any(project.venv.glob("lib/python3*/site-packages/pip")):
            run(str(project.python), "-m", "ensurepip")
        run(str(project.python), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *required)
    if lock == DEVELOP and (project.root / SUITE).exists():
        with suppress(Failure):  # a test that finds nothing tries again, and says why
            run(*fetching_suite(project))
    (project.venv / STAMP).write_text(stamp(project, lock=lock))


def fetching_suite(project: Project) -> list[str]:
    """The command that fetches into `var/suite` what SUITE names."""
    fetch = [
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        "jsonschema",
        "--dest",
        str(project.var / "suite"),
    ]
    return [str(project.python), "-m", *fetch, "--requirement", str(project.root / SUITE)]


def stamp(project: Project, *, lock: str) -> str:
    """What `.venv/median-stamp` says when the packages of this lock are installed."""
    return "\n".join(_line(project, name) for name in ([RUN, DEVELOP] if lock == DEVELOP else [RUN]))


def can_make_pip() -> bool:
    """Whether this Python came whole; Debian keeps a part of it in a package of its own."""
    return importlib.util.find_spec("ensurepip") is not None


def _working_uv() -> str | None:
    """The path of uv where one is installed that runs; some version managers put a name on PATH that does not."""
    found = shutil.which("uv")
    if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
        return found
    return None


def _line(project: Project, lock: str) -> str:
    return f"{lock} {hashlib.sha256((project.root / lock).read_bytes()).hexdigest()}"


def _stamp_lines(project: Project) -> list[str]:
    with suppress(FileNotFoundError):
        return (project.venv / STAMP).read_text().split("\n")
    return []


def _works(project: Project) -> bool:
    """Whether the environment's Python runs and is the version that its packages were installed for."""
    show = "import sys; print('python%d.%d' % sys.version_info[:2])"
    with suppress(OSError):
        shown = subprocess.run([project.python, "-I", "-c", show], capture_output=True, text=True, check=False).stdout
        return (project.venv / "lib" / Path(shown.strip() or "none") / "site-packages").is_dir()
    return False


def _environment() -> dict[str, str]:
    """The caller's, with its package index and proxies, but without settings that lead out of the environment."""
    outward = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in outward}
