"""`median` as a process against a running server: what it prints, where, and its exit codes."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from team import api_keys
from tests import web_process
from tests import world as worlds
from tests.approvals.requests import request
from tests.endpoint import shop_endpoint
from tests.world import World
from tools.models import Tool

SDK = Path(__file__).resolve().parents[2] / "sdk" / "src"


@dataclass
class Terminal:
    """Where one person types `median …`."""

    home: Path
    url: str
    key: str

    def run(self, *words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        given = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "COLUMNS": "200",
        }
        given |= {"PYTHONPATH": str(SDK), "MEDIAN_URL": self.url, "MEDIAN_API_KEY": self.key, **environment}
        command = [sys.executable, "-m", "median_cli.main", *words]
        return subprocess.run(command, env=given, input=stdin, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603


@dataclass
class Setting:
    world: World
    terminal: Terminal


@pytest.fixture
def setting(transactional_db: None, tmp_path: Path) -> Iterator[Setting]:
    with shop_endpoint(worlds.SECRET) as endpoint, web_process.serving(tmp_path / "web.log") as web:
        world = worlds.build(endpoint_url=endpoint.url)
        key = api_keys.create(world.fernhill, name="CLI", scopes=["read", "decide", "run", "manage"])[1]
        yield Setting(world, Terminal(tmp_path, web.url, key))


def test_a_persons_day(setting: Setting) -> None:
    world, terminal = setting.world, setting.terminal

    listed = terminal.run("tools", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "refundOrder" in listed.stdout

    nobody = terminal.run("tools", "test", "orderStatus", "--input", '{"orderNumber":"ORD-1042"}')
    assert nobody.returncode == 0
    assert json.loads(nobody.stdout)["reason"] == "not_signed_in"
    ana = terminal.run(
        "tools", "test", "orderStatus", "--input", "-", "--as", "user_123", stdin='{"orderNumber":"ORD-1042"}'
    )
    assert json.loads(ana.stdout)["status"] == "delivered"

    approval = request(world)
    shown = json.loads(terminal.run("tools", "approvals", "--status", "pending", "--json").stdout)
    assert [row["id"] for row in shown] == [approval.id]
    denied = terminal.run("tools", "deny", approval.id, "--reason", "Paid back.")
    assert (denied.returncode, denied.stdout) == (0, "Refund order: denied\n")
    late = terminal.run("tools", "approve", approval.id)
    assert (late.returncode, late.stdout, late.stderr) == (1, "", "This request has already been reviewed.\n")

    assert terminal.run("tools", "disable", "refundOrder").stdout == "Refund order is off.\n"
    assert Tool.objects.get(name="refundOrder").switched_on is False
    assert json.loads(terminal.run("conversations", "list", "--json").stdout)[0]["id"] == world.conversation.id
    assert "Median AI asked the team" in terminal.run("conversations", "show", world.conversation.id).stdout
    assert "approval.denied" in terminal.run("logs").stdout


def test_login_keeps_the_key_for_this_person_alone(setting: Setting) -> None:
    terminal = setting.terminal
    wrong = terminal.run("login", "--url", terminal.url, "--key", "mdn_wrong", MEDIAN_URL="", MEDIAN_API_KEY="")
    assert wrong.returncode == 3
    assert terminal.run("tools", "list", MEDIAN_URL="", MEDIAN_API_KEY="").returncode == 3
    signed_in = terminal.run("login", "--url", terminal.url, "--key", terminal.key, MEDIAN_URL="", MEDIAN_API_KEY="")
    assert signed_in.returncode == 0
    file = terminal.home / "median" / "config.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert terminal.run("tools", "list", MEDIAN_URL="", MEDIAN_API_KEY="").returncode == 0


@pytest.mark.parametrize("given", ["{", "[]", "7", "@/nothing/here"])
def test_a_bad_input_is_a_usage_error(tmp_path: Path, given: str) -> None:
    answer = Terminal(tmp_path, "http://127.0.0.1:9", "mdn_x").run("tools", "test", "orderStatus", "--input", given)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "--input" in answer.stderr


def test_a_server_that_is_not_there_is_a_network_error(tmp_path: Path) -> None:
    answer = Terminal(tmp_path, "http://127.0.0.1:9", "mdn_x").run("tools", "list")
    assert (answer.returncode, answer.stdout) == (4, "")
    assert "cannot be reached" in answer.stderr


def test_without_words_it_explains_itself(tmp_path: Path) -> None:
    answer = Terminal(tmp_path, "", "").run("--help")
    assert answer.returncode == 0
    for word in ("login", "tools", "conversations", "logs", "Exit codes"):
        assert word in answer.stdout
