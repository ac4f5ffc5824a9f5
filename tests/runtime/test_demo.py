"""bin/demo, run as a person would: what it says, what it starts, and that it leaves nothing behind."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import network, placement
from tests.runtime.checkout import NOBODY, Checkout, checkout
from tests.waiting import until

IS_ROOT = os.geteuid() == 0
OTHER_DATABASE = "postgresql://someone:word@db.example/median"  # where a test is not about PostgreSQL: quicker


@pytest.fixture
def here() -> Iterator[Checkout]:
    with checkout() as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Checkout]:
    with checkout() as made:
        yield made


@pytest.fixture
def used(shared: Checkout) -> Iterator[Checkout]:
    """A checkout that other tests have run the demo in: quicker, as its database is made."""
    yield shared
    shared.end_all()


@pytest.mark.parametrize("user", [None, NOBODY.pw_uid] if IS_ROOT else [None])
def test_starts_everything_and_ctrl_c_leaves_nothing(user: int | None) -> None:
    with checkout(user=user) as here:
        run = here.demo()
        assert re.search(r"Dashboard  http://127\.0\.0\.1:180\d\d\n", run.said)
        assert "Sign in    sam@fernhill.example  password  open sesame\n" in run.said
        assert "Made of    its own PostgreSQL; no Redis; the built-in demo model\n" in run.said
        assert network.answers(port_in(run.said, "Dashboard"), "/healthz")
        assert network.answers(port_in(run.said, "Shop"), "/")
        assert run.stop() == 0
        assert run.said.endswith("Stopped. Nothing is left running.\n")
        assert here.running() == {}


def test_every_process_gets_the_settings_it_needs_and_the_shop_no_secret_of_ours(here: Checkout) -> None:
    run = here.demo(
        MEDIAN_DATABASE_URL=OTHER_DATABASE,
        MEDIAN_MODEL_URL="https://models.example/v1",
        MEDIAN_MODEL_NAME="large",
        MEDIAN_DEBUG="1",
    )
    assert (
        "Made of    your database at db.example/median; no Redis; your model large at models.example/v1\n" in run.said
    )
    for name in ("prepare_demo", "agent", "qcluster"):
        given = environment_of(here, name)
        assert given["MEDIAN_URL"] == f"http://127.0.0.1:{port_in(run.said, 'Dashboard')}"
        assert given["MEDIAN_SHOP_URL"] == f"http://127.0.0.1:{port_in(run.said, 'Shop')}"
        assert given["MEDIAN_SECRET_KEY"] == (here.var / "secret").read_text()
        assert given["MEDIAN_DATABASE_URL"] == OTHER_DATABASE
        assert given["MEDIAN_MODEL_URL"] == "https://models.example/v1"
        assert "MEDIAN_DEBUG" not in given
    assert {name: value for name, value in environment_of(here, "shop").items() if name.startswith("MEDIAN_")} == {
        "MEDIAN_URL": f"http://127.0.0.1:{port_in(run.said, 'Dashboard')}",
        "MEDIAN_API_KEY": "api key",
        "MEDIAN_WIDGET_URL": "http://127.0.0.1/widget.js",
        "MEDIAN_SUPERVISOR": str(here.var),
    }
    assert (here.var / "secret").stat().st_mode & 0o777 == 0o600
    run.stop()


def test_starts_again_at_once_after_it_was_killed(used: Checkout) -> None:
    killed = used.demo()
    before = set(used.running())
    assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
    run = used.demo()
    assert not before & set(used.running())
    assert run.stop(signal.SIGTERM) == 0
    assert used.running() == {}


def test_a_pid_file_that_names_a_stranger_is_no_obstacle(used: Checkout) -> None:
    """After a crash of the machine the old server's number may be anyone's."""
    killed = used.demo()
    (pid_file,) = (used.var / "postgresql").glob("data-*/postmaster.pid")
    old = pid_file.read_text().split("\n")
    killed.stop()
    pid_file.write_text("\n".join([str(os.getpid()), *old[1:]]))
    assert used.demo().stop() == 0


def test_the_children_of_a_killed_supervisor_end_by_themselves(used: Checkout) -> None:
    run = used.demo(MEDIAN_DATABASE_URL=OTHER_DATABASE)
    until(lambda: used.having(["time.sleep(600)"]), every_s=0.1)
    escaped = used.having(["time.sleep(600)"])
    run.stop(signal.SIGKILL)
    until(lambda: set(used.running()) == escaped, every_s=0.1)


def test_a_killed_child_is_started_again_and_the_reader_is_told(used: Checkout) -> None:
    parts = {"agent": "manage.py agent", "postgresql": "bin/postgres -D"}
    run = used.demo()
    until(lambda: len(used.having(parts.values())) == len(parts), every_s=0.1)
    killed = used.having(parts.values())
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    for name in parts:
        run.wait_for(f"{name} ended by SIGKILL; starting it again in 0.5 s.")
    until(lambda: len(used.having(parts.values()) - killed) == len(parts), every_s=0.1)
    assert run.stop() == 0
    assert used.running() == {}


def test_a_child_that_never_comes_up_ends_the_demo_with_the_end_of_its_log(here: Checkout) -> None:
    (here.project.root / "median_site" / "serve.py").write_text("raise SystemExit('no settings')")
    run = here.start("demo", MEDIAN_DATABASE_URL=OTHER_DATABASE)
    assert run.process.wait(40) == 1
    assert f"web does not start. The end of {here.var}/log/web.log:\n    no settings" in run.said
    assert here.running() == {}


def test_a_taken_port_is_said_and_the_next_free_one_used(used: Checkout) -> None:
    with network.listen(18100) as taken:
        port = network.port_of(taken)
        run = used.start("demo", "--port", str(port), MEDIAN_DATABASE_URL=OTHER_DATABASE)
        run.wait_for("Ctrl-C stops everything.")
        chosen = port_in(run.said, "Dashboard")
    assert chosen > port
    assert f"Port {port} is taken; using {chosen}.\n" in run.said
    run.stop()


def test_a_second_one_from_the_same_folder_is_told_where_the_first_is(used: Checkout) -> None:
    first = used.demo(MEDIAN_DATABASE_URL=OTHER_DATABASE)
    port = port_in(first.said, "Dashboard")
    second = used.start("demo")
    assert second.process.wait(20) == 1
    assert f"already running from this folder: http://127.0.0.1:{port} (process {first.process.pid})" in second.said
    assert first.stop() == 0


def test_fresh_deletes_the_demos_data_and_nothing_else(here: Checkout) -> None:
    for name in ("postgresql/data-18/old", "uploads/old", "bench/old", "test/old", "log/old"):
        (here.var / name).mkdir(parents=True)
    (here.var / "secret").write_text("old")
    run = here.demo("--fresh")
    assert (here.var / "secret").read_text() != "old"
    assert {str(path.relative_to(here.var)) for path in here.var.glob("**/old")} == {"bench/old", "test/old", "log/old"}
    run.stop()


def test_fresh_leaves_a_database_of_yours_alone(used: Checkout) -> None:
    run = used.start("demo", "--fresh", MEDIAN_DATABASE_URL=OTHER_DATABASE)
    assert run.process.wait(20) == 1
    assert "--fresh deletes the demo's own database only; MEDIAN_DATABASE_URL names yours." in run.said


def test_a_path_too_long_for_a_socket() -> None:
    with checkout(name="/".join(["a-folder-with-a-name-of-some-length"] * 4)) as here:
        run = here.demo()
        sockets = Path((here.var / "sockets.where").read_text())
        assert (sockets / placement.SOCKET_NAME).is_socket()
        run.stop()
        here.demo().stop()
        assert Path((here.var / "sockets.where").read_text()) == sockets


def test_a_folder_that_no_other_account_can_enter() -> None:
    """As root, PostgreSQL's account cannot reach it: data and programs go elsewhere, the folder's mode stays."""
    with checkout(mode=0o700) as here:
        here.demo().stop()
        assert (here.var / "postgresql.where").exists() is IS_ROOT
        assert (here.var / "postgresql").exists() is not IS_ROOT
        assert here.project.root.parent.stat().st_mode & 0o777 == 0o700
        assert here.running() == {}


def test_an_old_python_is_told_what_is_needed(used: Checkout, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.version_info = (3, 9, 2, 'final', 0)\n")
    run = used.start("demo", PYTHONPATH=str(tmp_path))
    assert run.process.wait(20) == 1
    assert "Median needs Python 3.11 or newer on Linux or macOS; this is Python 3.9 (" in run.said


def port_in(said: str, name: str) -> int:
    found = re.search(rf"{name} +http://127\.0\.0\.1:(\d+)", said)
    assert found is not None, said
    return int(found[1])


def environment_of(here: Checkout, name: str) -> dict[str, str]:
    """What the process saw; it may not have begun yet."""
    path = here.var / "environments" / name
    until(path.exists)
    until(path.read_text)
    given: dict[str, str] = json.loads(path.read_text())
    return given
