"""bin/test, bin/check and bin/bench in a small checkout."""

import json
import shutil
import signal
from collections.abc import Iterator

import pytest

from tests.runtime.checkout import Checkout, checkout

PYPROJECT = """
[tool.ruff]
include = ["bench/*.py"]
line-length = 120
[tool.mypy]
strict = true
files = ["bench"]
"""
INNER_TESTS = """
import os, time
import psycopg

def test_database():
    with psycopg.connect(os.environ["MEDIAN_DATABASE_URL"]) as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone()[0] for name in ("fsync", "max_connections")]
    assert shown == ["off", "300"]
    assert "MEDIAN_MODEL_URL" not in os.environ

def test_redis():
    assert os.environ["MEDIAN_TEST_REDIS_URL"].startswith("unix:///")

def test_wrong():
    assert False

def test_slow():
    open("begun", "w").close()
    time.sleep(600)
"""


@pytest.fixture
def here() -> Iterator[Checkout]:
    with checkout() as made:
        (made.project.root / "tests").mkdir()
        (made.project.root / "tests" / "test_inner.py").write_text(INNER_TESTS)
        (made.project.root / "tests" / "test_architecture.py").write_text("def test_rows() -> None:\n    pass\n")
        (made.project.root / "bench").mkdir()
        (made.project.root / "bench" / "tiny.py").write_text(
            '"""Times nothing.\n\nAt length."""\n\nimport os\nimport sys\n\n'
            'print(os.environ["MEDIAN_DATABASE_URL"], sys.argv[1:])\n'
        )
        (made.project.root / "pyproject.toml").write_text(PYPROJECT)
        yield made


def test_test_runs_pytest_on_a_database_of_its_own_and_passes_its_exit_code_on(here: Checkout) -> None:
    chosen = "not slow" if shutil.which("redis-server") else "not slow and not redis"
    run = here.start("test", "-q", "-p", "no:django", "-k", chosen, MEDIAN_MODEL_URL="https://models.example")
    assert run.process.wait(60) == 1
    assert "FAILED tests/test_inner.py::test_wrong - assert False\n" in run.said
    assert run.said.splitlines()[-1].startswith("1 failed, ")
    assert here.running(here.var / "test" / "0") == {}
    assert not (here.var / "test" / "0" / "postgresql").exists()


def test_an_interrupted_test_run_finishes_its_report_and_leaves_nothing(here: Checkout) -> None:
    run = here.start("test", "-q", "-p", "no:django", "-k", "slow")
    run.wait_for_file("begun")
    assert run.stop(signal.SIGTERM) == 2
    assert "KeyboardInterrupt" in run.said
    assert here.running(here.var / "test" / "0") == {}


def test_ci_insists_on_a_browser_and_redis(here: Checkout) -> None:
    run = here.start("test", CI="true", PATH="/nowhere")
    assert run.process.wait(20) == 1
    assert run.said == "\nCI=true asks for the browser tests, but chromium is not installed.\n"


def test_check_names_each_part_and_fails_when_one_does(here: Checkout) -> None:
    (here.project.root / "bench" / "tiny.py").write_text("import os\ndef double(x): return 2 * x")
    run = here.start("check", "--fix")
    assert run.process.wait(60) == 1
    results = dict(line.split()[:2] for line in run.said.splitlines() if line.endswith(" s"))
    assert results == {
        "mend": "passed",
        "reformat": "passed",
        "lint": "passed",
        "format": "passed",
        "types": "FAILED",
        "architecture": "passed",
    }
    assert (here.project.root / "bench" / "tiny.py").read_text() == "def double(x):\n    return 2 * x\n"
    assert "Function is missing a type annotation" in run.said
    assert run.said.endswith("Failed: types.\n")


def test_bench_lists_and_runs(here: Checkout) -> None:
    listing = here.start("bench")
    assert (listing.process.wait(20), listing.said) == (0, "tiny         Times nothing.\n")
    unknown = here.start("bench", "huge")
    assert (unknown.process.wait(20), unknown.said) == (1, "\nThere is no benchmark huge. There are: tiny.\n")
    run = here.start("bench", "tiny", "--rows", "3")
    assert run.process.wait(60) == 0
    url, arguments = run.said.splitlines()[-1].split(" ", 1)
    assert url.startswith("postgresql://median@/median?host=")
    assert json.loads(arguments.replace("'", '"')) == ["--rows", "3"]
    assert here.running(here.var / "bench") == {}
