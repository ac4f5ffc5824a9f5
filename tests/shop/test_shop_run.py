"""The shop as it is started by hand: a process, its pages, its tools, its log, its end."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from median_tools.server import Server
from standardwebhooks.webhooks import Webhook

ROOT = Path(__file__).parents[2]
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
SHOP = [sys.executable, "-m", "examples.shop"]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("SHOP_", "MEDIAN_", "PYTHONPATH"))}


class Median:
    """What the shop needs of Median: session tokens, for the right key."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.up = True
        self.server = Server(self._app).start()

    def _app(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        self.asked.append((environ["PATH_INFO"], json.loads(environ["wsgi.input"].read())))
        right = environ.get("HTTP_AUTHORIZATION") == "Bearer mdn_test"
        if right and self.up:
            status, body = "200 OK", {"token": 'e30.<&">.sig'}
        else:
            status, body = "401 Unauthorized", {"error": {"code": "unauthorized", "message": "The key was revoked."}}
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps(body).encode()]


@pytest.fixture(scope="module")
def median() -> Iterator[Median]:
    median = Median()
    yield median
    median.server.close()


@pytest.fixture(scope="module")
def process(median: Median) -> Iterator[subprocess.Popen[str]]:
    options = ["--port", "0", "--secret", SECRET, "--median", median.server.url, "--api-key", "mdn_test"]
    with subprocess.Popen([*SHOP, *options], cwd=ROOT, env=CLEAN, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def shop(process: subprocess.Popen[str]) -> str:
    """Its host and port, from the first line that it prints."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    address = lines[0].split()[-1]
    assert lines == [
        f"Fernhill shop   {address}\n",
        f"Tool endpoint   {address}tools\n",
        f"Calls received  {address}log\n",
    ]
    return urlsplit(address).netloc


def ask(
    shop: str, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(shop, timeout=10)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def signed(body: bytes, call_id: str) -> dict[str, str]:
    now = datetime.now(UTC)
    signature = Webhook(SECRET).sign(call_id, now, body.decode())
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }


def test_calls_are_answered_and_logged_newest_first(shop: str) -> None:
    answer, text = ask(shop, "GET", "/tools", headers=signed(b"", "sync_1"))
    assert (answer.status, len(json.loads(text)["tools"])) == (200, 10)
    context = {
        "conversationId": "k57c",
        "risk": "high",
        "approvedBy": "Sam Okafor",
        "visitor": {"verified": True, "externalId": "user_123", "name": "<b>Ana</b>"},
    }
    call = {"tool": "refundOrder", "input": {"orderNumber": "ORD-1042", "reason": "damaged"}, "context": context}
    outcomes = []
    for call_id in ("call_1", "call_2"):
        body = json.dumps({**call, "toolCallId": call_id}).encode()
        answer, text = ask(shop, "POST", "/tools", body, signed(body, call_id))
        outcomes.append((answer.status, json.loads(text)))
    assert outcomes == [
        (200, {"refunded": True, "amount": 48}),
        (200, {"ok": False, "reason": "already_refunded"}),
    ]
    assert ask(shop, "POST", "/tools", body, signed(body, "call_2"))[0].status == 409
    assert ask(shop, "POST", "/tools", body)[0].status == 401
    rows = json.loads(ask(shop, "GET", "/log.json")[1])
    times = [datetime.fromisoformat(row.pop("at")) for row in rows]
    assert times == sorted(times, reverse=True)
    visitor = {"verified": True, "externalId": "user_123", "email": None, "name": "<b>Ana</b>"}
    shared = {"conversationId": "k57c", "tool": "refundOrder", "risk": "high", "input": call["input"]}
    assert rows == [
        {"toolCallId": call_id, **shared, "approvedBy": "Sam Okafor", "visitor": visitor, "status": 200, "outcome": out}
        for call_id, (_, out) in zip(("call_2", "call_1"), reversed(outcomes), strict=True)
    ]
    page = ask(shop, "GET", "/log")[1]
    assert page.index("call_2") < page.index("call_1")
    assert ("&lt;b&gt;Ana&lt;/b&gt;" in page, "<b>Ana" in page) == (True, False)


def test_the_home_page_offers_every_way_to_chat(shop: str) -> None:
    answer, text = ask(shop, "GET", "/")
    assert answer.status == 200
    for link in ('href="/chat?as=user_123"', 'href="/chat?as=user_204"', 'href="/chat"'):
        assert text.count(link) == 1
    assert "Chat without signing in" in text


def test_a_signed_in_chat_frames_the_widget_with_a_token_minted_here(shop: str, median: Median) -> None:
    median.asked.clear()
    answer, text = ask(shop, "GET", "/chat?as=user_123")
    url = median.server.url
    assert answer.status == 200
    assert f'<iframe src="{url}/widget/#token=e30.&lt;&amp;&#34;&gt;.sig" title="Chat with Fernhill">' in text
    assert median.asked == [
        (
            "/v1/session-tokens",
            {
                "subject": "user_123",
                "anonymous": False,
                "claims": {},
                "email": "ana@example.com",
                "name": "Ana Souza",
            },
        )
    ]
    assert [text.count(number) for number in ("ORD-1042", "ORD-1029", "$48.00", "ORD-1031")] == [1, 1, 1, 0]
    assert "mdn_test" not in text
    assert answer.getheader("content-security-policy") == (
        f"default-src 'none'; style-src 'self'; frame-src {url}; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert ("<script" in text, "style=" in text) == (False, False)


def test_an_anonymous_chat_has_no_token(shop: str, median: Median) -> None:
    median.asked.clear()
    answer, text = ask(shop, "GET", "/chat")
    assert (answer.status, f'src="{median.server.url}/widget/"' in text, median.asked) == (200, True, [])


def test_when_no_token_can_be_had_the_page_says_why(shop: str, median: Median) -> None:
    median.up = False
    answer, text = ask(shop, "GET", "/chat?as=user_204")
    median.up = True
    assert (answer.status, "<iframe" in text) == (502, False)
    assert "You could not be signed in to the chat. Median answered 401: The key was revoked." in text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/chat?as=user_999", 404),
        ("GET", "/../../etc/passwd", 404),
        ("POST", "/chat", 405),
        ("PUT", "/tools", 405),
        ("HEAD", "/", 200),
        ("GET", "/style.css", 200),
    ],
)
def test_other_addresses(shop: str, method: str, path: str, status: int) -> None:
    answer, text = ask(shop, method, path)
    assert (answer.status, text == "") == (status, method == "HEAD")


def test_it_ends_at_sigterm(shop: str, process: subprocess.Popen[str]) -> None:
    """Last in this file: nothing is served after it."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0
    with pytest.raises(ConnectionRefusedError):
        ask(shop, "GET", "/")


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SHOP, *options], cwd=ROOT, env={**CLEAN, **environment}, capture_output=True, text=True, timeout=20
    )


def test_help_names_every_option_and_its_variable() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for name in ("SHOP_PORT", "SHOP_SECRET", "SHOP_ISSUER", "MEDIAN_URL", "MEDIAN_API_KEY", "MEDIAN_WIDGET_URL"):
        assert shown.stdout.count(f"({name})") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give secret=, issuer= or both: without them anyone could call your tools (see --secret and --issuer)"),
        (
            ["--secret", "whsec_"],
            "secret must be whsec_ followed by base64 of 24 to 64 bytes (see --secret and --issuer)",
        ),
        (["--secret", SECRET, "--median", "http://x"], "the chat needs both --median and --api-key"),
    ],
)
def test_options_that_cannot_work_are_explained(options: list[str], message: str) -> None:
    ended = run(*options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.endswith(f"error: {message}\n")


def test_a_port_in_use_is_explained_and_the_environment_is_read() -> None:
    with Server(lambda environ, start_response: []) as taken:
        port = str(taken.server_address[1])
        ended = run(SHOP_PORT=port, SHOP_SECRET=SECRET)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"The shop cannot listen on 127.0.0.1:{port}: Address already in use\n"
