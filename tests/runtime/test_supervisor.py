"""The supervisor, where the demo as a whole cannot show it."""

import io
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import processes, supervisor
from runtime.console import Console, Failure
from runtime.stopping import StopFlag
from runtime.supervisor import Service, Supervisor
from tests.waiting import until

# A child starts with a function of ours; from Python 3.12 on that warns in a process with threads, as xdist's are.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Watched:
    """A supervisor in this process, and what it said."""

    def __init__(self, home: Path, *, stop: StopFlag) -> None:
        self._said = io.StringIO()
        self.supervisor = Supervisor(home, console=Console(self._said), stop=stop)

    @property
    def said(self) -> str:
        return self._said.getvalue()

    def tick_until(self, text: str) -> None:
        def said() -> bool:
            self.supervisor.tick()
            return text in self.said

        until(said)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with StopFlag() as stop:
        made = Watched(tmp_path, stop=stop)
        with made.supervisor:
            yield made


def python(
    folder: Path, code: str, *, name: str = "child", beat: Path | None = None, grace: float = 10, leaves: int = 0
) -> Service:
    return Service(name, [sys.executable, "-c", code], os.environ, folder, beat=beat, grace=grace, leaves=leaves)


def test_one_that_stops_beating_is_started_again(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BEAT_LIMIT", 1.0)
    beats = tmp_path / "beat"
    code = "import pathlib, time\nfor _ in range(8): pathlib.Path('beat').touch(); time.sleep(0.25)\ntime.sleep(600)"
    first = watched.supervisor.start(python(tmp_path, code, beat=beats))
    watched.tick_until("child gave no sign of life for 1 s; starting it again.\n")
    assert first.poll() == -signal.SIGTERM
    assert beats.stat().st_mtime > (tmp_path / "log" / "child.log").stat().st_mtime + 1  # it lived while it beat
    assert watched.said.count("starting it again") == 1


def test_the_pause_before_another_start_doubles(watched: Watched, tmp_path: Path) -> None:
    watched.supervisor.start(python(tmp_path, "import sys; sys.exit('out of luck')"))
    watched.tick_until("starting it again in 1 s.")
    log = tmp_path / "log" / "child.log"
    assert watched.said.splitlines()[:2] == [
        f"child ended with exit code 1; starting it again in 0.5 s. The end of {log}:",
        "    out of luck",
    ]


def test_one_that_never_comes_up_is_a_failure(watched: Watched, tmp_path: Path) -> None:
    watched.supervisor.start(python(tmp_path, "raise SystemExit(3)"))
    with pytest.raises(Failure, match=r"child does not start\. It wrote nothing to .*/child\.log\."):
        watched.supervisor.wait_until(lambda: False, what="child", seconds=20)


def test_ends_them_in_order_and_kills_what_ignores_it(watched: Watched, tmp_path: Path) -> None:
    ending = "signal.signal(signal.SIGTERM, lambda *_: (open('ended', 'a').write(name), exit()))"
    for name, leaves in (("first ", 0), ("second ", 0), ("late ", 1)):
        code = f"import signal, time; name = {name!r}; {ending}; open(name, 'w'); time.sleep(600)"
        watched.supervisor.start(python(tmp_path, code, name=name.strip(), leaves=leaves))
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('deaf', 'w'); time.sleep(600)"
    process = watched.supervisor.start(python(tmp_path, deaf, name="deaf", grace=0.3))
    until(lambda: all((tmp_path / name).exists() for name in ("first ", "second ", "late ", "deaf")))
    watched.supervisor.end()
    assert (tmp_path / "ended").read_text() == "second first late "
    assert process.returncode == -signal.SIGKILL
    assert watched.said == "deaf did not stop within 0 s and was killed.\n"
    assert processes.strays(tmp_path) == []


def test_logs_of_the_last_starts_are_kept(tmp_path: Path) -> None:
    for start in range(8):
        processes.open_log(tmp_path, name="web").write_text(f"start {start}")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "web.log": "start 7",
        **{f"web.{age}.log": f"start {7 - age}" for age in range(1, 6)},
    }
