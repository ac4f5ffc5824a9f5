"""The development server over real sockets: framing, keep-alive, a clean stop."""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from median_tools import Tools, define
from median_tools.server import Server

from tests.sdk.world import SECRET, call_body, signed


def echo_app(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
    if environ["PATH_INFO"] == "/breaks":
        raise RuntimeError("the app is at fault")
    start_response("200 OK", [("Content-Type", "application/octet-stream"), ("X-Path", environ["PATH_INFO"])])
    return [environ["wsgi.input"].read()]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(echo_app).start() as server:
        yield server


def talk(server: Server, sent: bytes) -> bytes:
    """Everything that comes back until the server closes the connection."""
    host, port = server.server_address[:2]
    with socket.create_connection((str(host), int(port)), timeout=5) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def statuses(answer: bytes) -> list[int]:
    return [int(part[:3]) for part in answer.split(b"HTTP/1.1 ")[1:]]


HEAD = b"POST /a%20b HTTP/1.1\r\nHost: x\r\n"


def test_a_body_with_a_length_and_one_in_chunks_on_one_connection(server: Server) -> None:
    plain = HEAD + b"Content-Length: 5\r\n\r\nhello"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;note=x\r\nwor\r\n2\r\nld\r\n0\r\nTrailer: x\r\n\r\n"
    answer = talk(server, plain + chunked + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert statuses(answer) == [200, 200, 200]
    assert (answer.count(b"\r\n\r\nhello"), answer.count(b"\r\n\r\nworld"), answer.count(b"X-Path: /a b\r\n")) == (
        1,
        1,
        2,
    )


@pytest.mark.parametrize(
    ("framing", "status"),
    [
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
        (b"Content-Length: +5\r\n\r\nhello", 400),
        (b"Content-Length: 5, 5\r\n\r\nhello", 400),
        (b"Content-Length: 500\r\n\r\nhello", 400),
        (b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
        (b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 501),
        (b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", 400),
        (b"Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", 400),
        (b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413),
        (b"Content-Length: 99999999\r\n\r\n", 413),
    ],
)
def test_a_body_that_cannot_be_read_ends_the_connection(server: Server, framing: bytes, status: int) -> None:
    answer = talk(server, HEAD + framing + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert statuses(answer) == [status]


def test_a_client_that_waits_for_100_continue_is_told(server: Server) -> None:
    host, port = server.server_address[:2]
    with socket.create_connection((str(host), int(port)), timeout=5) as connection:
        connection.sendall(HEAD + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(1024).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"hello")
        assert connection.recv(1024).startswith(b"HTTP/1.1 200 ")


def test_head_has_no_body_and_a_broken_app_is_a_plain_500(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=5)
    connection.request("HEAD", "/")
    assert connection.getresponse().read() == b""
    connection.request("GET", "/breaks")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (500, b"500 Internal Server Error\n")
    connection.close()
    assert [record.message for record in caplog.records] == ["The app failed on GET /breaks"]


def test_a_stop_lets_the_request_in_flight_finish_and_closes_idle_connections() -> None:
    entered, leave = threading.Event(), threading.Event()

    def app(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        if environ["PATH_INFO"] == "/slow":
            entered.set()
            leave.wait(5)
        start_response("200 OK", [])
        return [b"done"]

    server = Server(app).start()
    idle = http.client.HTTPConnection(*server.server_address[:2], timeout=5)
    idle.request("GET", "/")
    assert idle.getresponse().read() == b"done"
    busy = http.client.HTTPConnection(*server.server_address[:2], timeout=5)
    busy.request("GET", "/slow")
    assert entered.wait(5)
    closing = threading.Thread(target=server.close)
    closing.start()
    assert idle.sock.recv(1) == b""  # closed while the other request is still at work
    leave.set()
    answer = busy.getresponse()
    assert (answer.status, answer.read(), answer.getheader("connection")) == (200, b"done", "close")
    closing.join(5)
    assert not closing.is_alive()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.server_address[:2], timeout=1)
    idle.close()
    busy.close()


def test_a_server_that_never_ran_closes_at_once() -> None:
    with Server(echo_app) as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_tools_over_a_socket_as_wsgi() -> None:
    tools: Tools = define(secret=SECRET)

    @tools.tool(description="Says what it was given.")
    async def echo(text: str) -> str:
        return text

    body = call_body("echo", {"text": "Zoë"})
    with Server(tools.wsgi).start() as server:
        connection = http.client.HTTPConnection(*server.server_address[:2], timeout=5)
        connection.request("GET", "/", headers=signed(b""))
        manifest = connection.getresponse()
        tag = manifest.getheader("etag")
        manifest.read()
        connection.request("GET", "/", headers=signed(b"") | {"If-None-Match": str(tag)})
        unchanged = connection.getresponse()
        assert (manifest.status, unchanged.status, unchanged.read()) == (200, 304, b"")
        connection.request("POST", "/", body, signed(body))
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("content-type"), answer.read()) == (
            200,
            "application/json",
            '"Zoë"'.encode(),
        )
        chunked = call_body("echo", {"text": "in chunks"}, call_id="call_2")
        connection.request("POST", "/", iter([chunked[:9], chunked[9:]]), signed(chunked, call_id="call_2"))
        assert connection.getresponse().read() == b'"in chunks"'
        large = b" " * (64 * 1024 + 1)
        connection.request("POST", "/", large, signed(large))
        refused = connection.getresponse()
        assert (refused.status, refused.read()) == (
            413, b'{"error":{"code":"too_large","message":"The body may have 65536 bytes."}}',
        )  # fmt: skip
        connection.close()
