"""What is warned of at the start: jobs that would be begun twice, and a database that decisions cannot rest on."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.checks import Tags, run_checks
from django.db import connection

from median_site.lib import clock

TWICE = "Q_CLUSTER: retry is 120 s and timeout 120 s, so long jobs are begun twice."
BEHIND, AHEAD = "The database's clock is 3,600 s behind.", "The database's clock is 90 s ahead."
ISOLATED = "The database's transactions are “repeatable read”: whoever waits for another's decision gets an error."
POOLED = "MEDIAN_DATABASE_POOL is for web and agent processes; the job cluster loses jobs with it."
FORGETS = "The database does not wait for its disk: after a crash of it a call may leave twice."


def test_jobs_that_would_be_begun_twice(settings: pytest.FixtureRequest) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "retry": 120}
    assert [each.msg for each in run_checks() if each.id == "median.W001"] == [TWICE]


def test_a_job_cluster_with_a_pool_does_not_start(
    settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"]["OPTIONS"], "pool", {})
    assert "median.E001" not in [each.id for each in run_checks()]
    monkeypatch.setattr("sys.argv", ["manage.py", "qcluster"])
    [found] = [each for each in run_checks() if each.id == "median.E001"]
    assert (found.is_serious(), found.msg) == (True, POOLED)


@pytest.mark.parametrize(
    ("ahead_s", "setting", "warnings"),
    [
        (0, "", []),
        (3600, "", [("median.W002", BEHIND)]),
        (-90, "", [("median.W002", AHEAD)]),
        (0, "default_transaction_isolation to 'repeatable read'", [("median.W003", ISOLATED)]),
        (0, "synchronous_commit to off", [("median.W004", FORGETS)]),
    ],
)
def test_a_database_on_which_decisions_cannot_rest(
    db: None, ahead_s: float, setting: str, warnings: list[tuple[str, str]]
) -> None:
    with connection.cursor() as cursor:
        for each in filter(None, ["synchronous_commit to on", setting]):
            cursor.execute(f"set local {each}")
    with clock.at(clock.now() + timedelta(seconds=ahead_s)):
        found = run_checks(tags=[Tags.database], databases=["default"])
    assert [(each.id, each.msg) for each in found] == warnings


def test_a_setting_that_is_missing_is_told_in_one_line() -> None:
    command, root = [sys.executable, "manage.py", "check"], Path(__file__).parent.parent
    said = subprocess.run(command, cwd=root, env={}, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "MEDIAN_SECRET_KEY must be set. All settings: docs/operations.md\n"
