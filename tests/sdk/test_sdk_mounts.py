"""The tools mounted elsewhere: ASGI under a real server, a Django view, rare ASGI messages."""

import asyncio
import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory, override_settings
from median_tools import Tools, define

from tests.sdk.world import SECRET, call_body, signed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where daphne serves the example app."""
    process = subprocess.Popen(
        [sys.executable, "-m", "daphne", "-e", "tcp:port=0:interface=127.0.0.1", "tests.sdk.asgi_example:app"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "sdk" / "src"), "TEST_SECRET": SECRET},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "Listening on TCP address" in line:
            yield int(line.rsplit(":", 1)[1])
            break
    process.terminate()
    process.communicate(timeout=10)
    assert "Listening" in "".join(lines)


def test_asgi_over_a_socket(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/", headers=signed(b""))
    manifest = connection.getresponse()
    tag = str(manifest.getheader("etag"))
    assert (manifest.status, manifest.read().count(b'"name"')) == (200, 2)
    connection.request("GET", "/", headers=signed(b"") | {"If-None-Match": tag})
    unchanged = connection.getresponse()
    assert (unchanged.status, unchanged.read()) == (304, b"")
    for tool in ("echo", "echo_later"):
        body = call_body(tool, {"text": "Zoë"}, call_id=tool)
        connection.request("POST", "/", body, signed(body, call_id=tool))
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, '"Zoë"'.encode())
    connection.request("POST", "/", body, {"Webhook-Id": "x"})
    refused = connection.getresponse()
    assert (refused.status, refused.read()) == (
        401, b'{"error":{"code":"unauthorized","message":"webhook-timestamp is missing."}}',
    )  # fmt: skip
    connection.close()


@pytest.fixture
def tools() -> Tools:
    tools = define(secret=SECRET)

    @tools.tool(description="Says what it was given.")
    def echo(text: str) -> str:
        return text

    return tools


def asgi(tools: Tools, scope: dict[str, Any], *received: dict[str, Any]) -> list[dict[str, Any]]:
    """What the app sends for these messages."""
    waiting, sent = list(received), []

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(tools(scope, receive, send))
    return sent


def test_asgi_lifespan_and_websockets(tools: Tools) -> None:
    started, stopped = {"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}
    assert asgi(tools, {"type": "lifespan"}, started, stopped) == [
        {"type": "lifespan.startup.complete"},
        {"type": "lifespan.shutdown.complete"},
    ]
    assert asgi(tools, {"type": "websocket"}) == [{"type": "websocket.close", "code": 1008}]


def test_asgi_body_in_parts_too_large_or_cut_off(tools: Tools) -> None:
    body = call_body("echo", {"text": "hello"})
    headers = [(name.encode(), value.encode()) for name, value in signed(body).items()]
    scope = {"type": "http", "method": "POST", "headers": headers}
    first = {"type": "http.request", "body": body[:5], "more_body": True}
    assert asgi(tools, scope, first, {"type": "http.disconnect"}) == []
    start, sent = asgi(tools, scope, first, {"type": "http.request", "body": body[5:]})
    assert (start["status"], sent["body"]) == (200, b'"hello"')
    start, _ = asgi(tools, scope, *[{"type": "http.request", "body": b" " * 40_000, "more_body": True}] * 2)
    assert start["status"] == 413


def test_a_django_view(tools: Tools) -> None:
    client = RequestFactory()
    body = call_body("echo", {"text": "Zoë"})
    answer = tools.django_view(client.post("/median", body, content_type="application/json", headers=signed(body)))
    assert (answer.status_code, answer.content, answer["content-type"]) == (200, '"Zoë"'.encode(), "application/json")
    manifest = tools.django_view(client.get("/median", headers=signed(b"")))
    assert (manifest.status_code, manifest["etag"][0]) == (200, '"')
    assert tools.django_view(client.post("/median", body, content_type="application/json")).status_code == 401
    assert tools.django_view.csrf_exempt is True
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert tools.django_view(client.post("/median", body, content_type="text/plain")).status_code == 413
