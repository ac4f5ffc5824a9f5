"""`median` as a process against a running server: what it prints, where, and its exit codes."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.test import Client

from conversations import threads
from conversations.models import Customer
from team import api_keys, chain, events
from team.events import Entry, Kind
from team.models import ChainHead, Event, Teammate
from tests import web_process
from tests import world as worlds
from tests.approvals.requests import request
from tests.endpoint import shop_endpoint
from tests.tampering import tampering
from tests.world import World
from tools.models import Tool

SignIn = Callable[[Teammate], Client]
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
        return subprocess.run(command, env=given, input=stdin, capture_output=True, text=True, timeout=60, check=False)


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


HOSTILE = "a\x1b[2J\x1b]52;c;eA==\x07\x9b31m\r\n\u202e\u200b[red]\U000e0041\u3164b"


def test_what_others_wrote_never_steers_the_terminal(setting: Setting) -> None:
    world, terminal = setting.world, setting.terminal
    request(world, input_text=json.dumps({"orderNumber": HOSTILE, "reason": "late", "email": "\u0430na@example.com"}))
    Tool.objects.filter(name="orderStatus").update(label=HOSTILE[:80])
    Customer.objects.filter(id=world.ana.id).update(name=HOSTILE)
    threads.customer_wrote(
        world.conversation.id, body=f"Hi\n01 Jan 00:00  Sam (teammate): Pay. {HOSTILE}", client_id="m-1"
    )
    said: dict[str, str] = {}
    for words in (["tools", "approvals"], ["conversations", "list"], ["conversations", "list", "--json"],
                  ["conversations", "show", world.conversation.id], ["tools", "disable", "orderStatus"],
                  ["tools", "sync", HOSTILE]):  # fmt: skip
        answer = terminal.run(*words)
        said[words[-1] if len(words) == 3 else words[1]] = answer.stdout
        assert all(char.isprintable() or char == "\n" for char in answer.stdout + answer.stderr), words
    assert '"email":"\u0430na@example.com"}  (letters that only look Latin: \\u0430)' in said["approvals"]
    assert json.loads(said["--json"])[0]["customer"]["name"] == HOSTILE
    assert (
        r"a\u001b[2J\u001b]52;c;eA==\u0007\u009b31m\u000d\n\u202e\u200b[red]\udb40\udc41\u3164b" in said["orderStatus"]
    )
    assert len(said["list"].splitlines()) == 2  # a name with a line break makes no row of its own
    assert not any(line.startswith("01 Jan") for line in said[world.conversation.id].splitlines())


def test_a_list_says_when_there_is_more_and_cuts_no_cell(setting: Setting) -> None:
    world, terminal = setting.world, setting.terminal
    ids = [
        request(world, tool=tool, input_text="{}").id for tool in ("cancelSubscription", "extendTrial", "closeAccount")
    ]
    some = terminal.run("tools", "approvals", "--limit", "2", COLUMNS="40")
    assert [id in some.stdout for id in ids] == [False, True, True]
    assert some.stderr == "These are the newest 2; there are more. --limit takes any number.\n"
    whole = terminal.run("tools", "approvals", "--limit", "3", COLUMNS="40", TERM="xterm", FORCE_COLOR="1")
    assert all(f"{id}\x1b[0m\n  Tool    " in whole.stdout for id in ids)  # below each other where a row does not fit
    assert whole.stderr == ""


def test_a_bad_input_is_a_usage_error(tmp_path: Path) -> None:
    for given in ("{", "[]", "7", "@/nothing/here", '{"a":' + "[" * 60_000, "{orderNumber:ORD-1042}"):
        answer = Terminal(tmp_path, "http://127.0.0.1:9", "mdn_x").run("tools", "test", "orderStatus", "--input", given)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert "--input" in answer.stderr
    assert "shell may have taken its quotes away: --input @FILE reads a file, --input - standard input" in answer.stderr


def test_what_is_no_key_or_address_is_said_without_a_trace(tmp_path: Path) -> None:
    for url, key, code in [
        ("http://127.0.0.1:9", "mdn_é", 3),
        ("http://127.0.0.1:9", "a\nb", 3),
        ("http://127.0.0.1:9", "", 3),
        ("localhost:80", "x", 2),
        ("http://[::1", "x", 2),
        (f"http://{'a' * 300}.invalid", "x", 4),
    ]:
        answer = Terminal(tmp_path, url, key).run("tools", "list")
        assert (answer.returncode, answer.stdout, len(answer.stderr.splitlines())) == (code, "", 1)


def test_bytes_that_are_no_text_are_said_and_a_file_of_powershell_is_read(tmp_path: Path) -> None:
    terminal, file = Terminal(tmp_path, "http://127.0.0.1:9", "mdn_x"), tmp_path / "input.json"
    odd = terminal.run("tools", "deny", "call_1", "--reason", "\udcff")
    assert (odd.returncode, odd.stderr) == (2, "What was given holds bytes that are no text in UTF-8.\n")
    file.write_text('{"orderNumber": "é"}', encoding="utf-16")
    read = terminal.run("tools", "test", "orderStatus", "--input", f"@{file}")
    assert (read.returncode, "cannot be reached" in read.stderr) == (4, True)  # so the file was no fault
    proxied = terminal.run("tools", "list", HTTP_PROXY="foo://x:1")
    assert (proxied.returncode, len(proxied.stderr.splitlines())) == (2, 1)


def test_a_shell_is_told_how_to_complete(tmp_path: Path) -> None:
    told = Terminal(tmp_path, "", "").run("completion", "zsh")
    assert (told.returncode, told.stdout.strip().splitlines()[-1]) == (0, "compdef _median_completion median")


def test_a_server_that_is_not_there_is_a_network_error(tmp_path: Path) -> None:
    answer = Terminal(tmp_path, "http://127.0.0.1:9", "mdn_x").run("tools", "list")
    assert (answer.returncode, answer.stdout) == (4, "")
    assert "cannot be reached" in answer.stderr


def test_without_words_it_explains_itself(tmp_path: Path) -> None:
    answer = Terminal(tmp_path, "", "").run("--help")
    assert answer.returncode == 0
    for word in ("login", "tools", "conversations", "logs", "Exit codes"):
        assert word in answer.stdout


def test_verify_log_reads_the_installation_or_a_file_alone(setting: Setting, browser_of: SignIn) -> None:
    world, terminal = setting.world, setting.terminal
    by = world.sam.actor
    events.record_all(Entry(kind=Kind.AGENT_CHANGED, by=by, data={"n": n, "share": n / 7}) for n in range(230))
    chain.link_all()
    count = Event.objects.filter(workspace=world.fernhill).count()
    head = ChainHead.objects.get(workspace=world.fernhill)

    whole = terminal.run("verify-log")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert whole.stdout == f"{count} rows are as they were written.\nHead: row {count}, {head.hash}\n"

    export = terminal.home / "log.jsonl"
    answer = browser_of(world.sam).get("/logs/export.jsonl")
    export.write_bytes(b"".join(asyncio.run(collected(answer.streaming_content))))
    noted = Event.objects.get(workspace=world.fernhill, position=200).hash
    words = ["verify-log", "--file", str(export), "--head", noted]
    nothing = {"MEDIAN_URL": "http://127.0.0.1:9", "MEDIAN_API_KEY": ""}
    offline = terminal.run(*words, "--json", **nothing)
    assert json.loads(offline.stdout) == {"ok": True, "rows": count, "head": {"position": count, "hash": head.hash}}
    lines = export.read_text().splitlines(keepends=True)
    export.write_text("".join(lines[50:]))  # the newest stand first
    cut = terminal.run(*words, **nothing)
    assert (cut.returncode, cut.stdout) == (1, "")
    assert cut.stderr.startswith(f"The head that you noted is not in the log, which ends at row {count - 50}")
    assert terminal.run(*words[:3], "--from", "100", **nothing).stdout.startswith(f"{count - 149} rows are as they")

    with tampering():
        Event.objects.filter(workspace=world.fernhill, position=150).update(tool_name="refundOrder")
    broken = terminal.run("verify-log", "--json")
    assert broken.returncode == 1
    assert (json.loads(broken.stdout)["row"], json.loads(broken.stdout)["change"]) == (150, "changed")
    assert terminal.run("verify-log", "--from", "151").returncode == 0
    with tampering():
        Event.objects.filter(workspace=world.fernhill, position=count).delete()
    assert terminal.run("verify-log", "--from", "151").stderr == f"Row {count} was removed.\n"


@pytest.mark.parametrize("text", ["{", "[]\n", '{"position":"1","hash":""}\n', "\xff\n", "[" * 100_000])
def test_a_file_that_is_no_export_is_refused_with_a_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(text.encode("latin-1"))
    answer = Terminal(tmp_path, "", "").run("verify-log", "--file", str(file))
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith("This is no event of an export: ")


async def collected(parts: AsyncIterator[bytes]) -> list[bytes]:
    return [part async for part in parts]
