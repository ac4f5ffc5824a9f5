"""The virtual environment: when it is made, when it is left alone, when it is made anew. With uv and with pip."""

import base64
import hashlib
import io
import os
import threading
import zipfile
from pathlib import Path

import pytest

from runtime import environment
from runtime.console import Console, Failure
from runtime.project import Project
from runtime.stopping import StopFlag


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A checkout whose locks name one small package, which lies beside them."""
    wheel = make_wheel(tmp_path)
    line = f"tiny @ {wheel.as_uri()} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (tmp_path / environment.RUN).write_text(line)
    (tmp_path / environment.DEVELOP).write_text(line)
    return Project(tmp_path)


def make_wheel(folder: Path) -> Path:
    path = folder / "tiny-1.0-py3-none-any.whl"
    files = {
        "tiny.py": "",
        "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        record = ""
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text)}\n"
        archive.writestr("tiny-1.0.dist-info/RECORD", record + "tiny-1.0.dist-info/RECORD,,\n")
    return path


def ensure(project: Project, lock: str = environment.RUN) -> str:
    """Returns what was said: nothing when there was nothing to do."""
    said = io.StringIO()
    with StopFlag() as stop:
        environment.ensure(project, lock=lock, console=Console(said), stop=stop)
    return said.getvalue()


def packages(project: Project) -> Path:
    return next(project.venv.glob("lib/python3*/site-packages"))


@pytest.mark.parametrize("installer", ["whatever is there", "pip"])
def test_is_made_once_and_then_left_alone(project: Project, installer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if installer == "pip":
        monkeypatch.setenv("PATH", "/nowhere")
    assert "Installing the packages of requirements.lock: done after " in ensure(project)
    assert (packages(project) / "tiny.py").exists()
    assert ensure(project) == ""


def test_a_changed_lock_is_installed_into_the_same_environment(project: Project) -> None:
    ensure(project)
    (packages(project) / "mine.py").touch()
    with open(project.root / environment.RUN, "a") as lock:
        lock.write("# changed\n")
    assert ensure(project) != ""
    assert (packages(project) / "mine.py").exists()


def test_the_developers_lock_holds_the_other_but_not_the_reverse(project: Project) -> None:
    ensure(project, environment.DEVELOP)
    assert ensure(project, environment.RUN) == ""
    (project.venv / environment.STAMP).write_text(environment.stamp(project, lock=environment.RUN))
    assert ensure(project, environment.DEVELOP) != ""


def test_an_interrupted_installation_is_begun_anew(project: Project) -> None:
    ensure(project)
    (packages(project) / "half-a-package").touch()
    (project.venv / environment.STAMP).write_text(environment.UNFINISHED)
    ensure(project)
    assert not (packages(project) / "half-a-package").exists()
    assert (packages(project) / "tiny.py").exists()


def test_an_environment_whose_python_is_gone_is_made_anew(project: Project) -> None:
    ensure(project)
    project.python.unlink()
    project.python.symlink_to("/nowhere/python3")
    assert ensure(project) != ""
    assert environment.is_current(project, lock=environment.RUN)


def test_a_package_that_is_not_the_one_in_the_lock_is_refused(project: Project) -> None:
    lock = project.root / environment.RUN
    lock.write_text(lock.read_text().replace("sha256:", "sha256:0000")[:-5] + "\n")
    with pytest.raises(Failure, match=r"failed with exit code \d+\. The end of .*/install\.log"):
        ensure(project)
    assert not environment.is_current(project, lock=environment.RUN)


def test_two_at_once_install_once(project: Project) -> None:
    others = [threading.Thread(target=ensure, args=[project]) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert len(list((project.var / "log").glob("install*.log"))) == 1


def test_without_ensurepip_and_uv_it_says_what_to_install(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(environment, "can_make_pip", lambda: False)
    with pytest.raises(Failure, match="apt install python3-venv"):
        ensure(project)
    assert not os.path.exists(project.venv)
