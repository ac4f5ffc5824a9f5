"""The web server process leaves politely: over real sockets, with a real signal."""

import http.client
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import network
from runtime.project import Project
from tests.waiting import until

ROOT = Project.here().root
APP = "tests.runtime.draining_app:application"


class Running:
    """A server process that serves a listening socket of ours, of which we keep no copy unless asked."""

    def __init__(self, log: Path) -> None:
        self.door = network.listen(0)
        self.port = network.port_of(self.door)
        fd = self.door.fileno()
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "median_site.serve", "--fd", str(fd), "--app", APP],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                pass_fds=[fd],
                stdout=output,
                stderr=output,
            )

    def connect(self) -> socket.socket:
        return socket.create_connection((network.HOST, self.port), timeout=20)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path / "web.log")
    with running.connect() as first:  # waits in the queue until the server is there
        assert get(first, "/").startswith(b"HTTP/1.1 200")
    running.door.close()
    yield running
    running.process.kill()
    running.process.wait()


def get(connection: socket.socket, path: str) -> bytes:
    """Asks once and reads until the connection closes."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return read_all(connection)


def read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def refuses(server: Running) -> bool:
    """Whether nobody listens any more while the process is still there."""
    try:
        server.connect().close()
    except ConnectionRefusedError:
        return server.process.poll() is None
    return False


def test_a_slow_request_under_way_is_finished_and_new_connections_are_refused(server: Running, tmp_path: Path) -> None:
    with server.connect() as connection:
        connection.sendall(f"GET /slow?{tmp_path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        until((tmp_path / "begun").exists)
        server.stop()
        until(lambda: refuses(server))
        (tmp_path / "go-on").touch()
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"\r\nconnection: close" in head.lower()
    assert b"finished" in body
    assert server.process.wait(5) == 0


def test_a_request_whose_body_is_still_arriving_is_finished(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        server.stop()
        until(lambda: refuses(server))
        connection.sendall(b"halves")
        assert b"finished halves" in read_all(connection)
    assert server.process.wait(5) == 0


def test_an_idle_connection_is_closed_and_holds_nothing_up(server: Running) -> None:
    with server.connect() as idle:
        connection = http.client.HTTPConnection(network.HOST, server.port, timeout=20)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"finished "
        server.stop()
        assert idle.recv(1) == b""
        assert server.process.wait(5) == 0
        connection.close()


def test_a_websocket_is_closed_with_1012_and_its_application_ends(server: Running) -> None:
    with server.connect() as connection:
        upgrade(connection)
        server.stop()
        opcode, payload = read_frame(connection)
        assert (opcode, payload) == (8, struct.pack("!H", 1012))
        connection.sendall(b"\x88\x82" + bytes(4) + payload)  # the reply that a browser sends
        assert server.process.wait(5) == 0


def test_a_websocket_that_never_replies_to_the_close_does_not_hold_the_server_up(server: Running) -> None:
    with server.connect() as connection:
        upgrade(connection)
        server.stop()
        assert server.process.wait(8) == 0


def test_answers_do_not_name_the_server(server: Running) -> None:
    with server.connect() as connection:
        assert b"\r\nserver:" not in get(connection, "/").lower()
    with server.connect() as connection:
        assert b"\r\nserver:" not in upgrade(connection).lower()


def test_the_socket_of_the_supervisor_outlives_a_server(tmp_path: Path) -> None:
    first = Running(tmp_path / "web.log")
    with first.connect() as connection:
        get(connection, "/")
    first.process.kill()
    first.process.wait()
    with first.connect() as waiting, first.door:  # accepted by the kernel while nobody serves
        fd = first.door.fileno()
        command = [sys.executable, "-m", "median_site.serve", "--fd", str(fd), "--app", APP]
        second = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, pass_fds=[fd])
        assert get(waiting, "/").startswith(b"HTTP/1.1 200")
        second.terminate()
        assert second.wait(5) == 0


def upgrade(connection: socket.socket) -> bytes:
    """Makes it a WebSocket; returns the head of the answer."""
    connection.sendall(
        b"GET /live HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    assert head.startswith(b"HTTP/1.1 101")
    return head


def read_frame(connection: socket.socket) -> tuple[int, bytes]:
    """One short unmasked frame: its opcode and payload."""
    first, length = connection.recv(2, socket.MSG_WAITALL)
    return first & 0x0F, connection.recv(length, socket.MSG_WAITALL)
