"""A server that says exactly the bytes a test gives it, for clients that must survive any. Counts what reached it."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

GIVE_UP_S = 10.0


@dataclass(frozen=True, slots=True)
class Request:
    """What came in: the request line and headers as written, and a body of Content-Length bytes."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class Connection:
    """One accepted connection, in the hands of the test's responder."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""
        self.is_open = True

    def send(self, data: bytes) -> bool:
        """Whether the client still takes it."""
        try:
            self._sock.sendall(data)
        except OSError:
            self.is_open = False
        return self.is_open

    def close(self) -> None:
        self.is_open = False

    def wait_for_hang_up(self) -> None:
        """Say nothing until the client goes."""
        self.read(1 << 30)
        self.close()

    def pause(self, seconds: float) -> bool:
        """Say nothing for a while. Whether the client is still there."""
        self._sock.settimeout(seconds)
        try:
            self.is_open = bool(self._sock.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            pass
        except OSError:
            self.is_open = False
        self._sock.settimeout(GIVE_UP_S)
        return self.is_open

    def request(self) -> Request | None:
        """The next request, None when the client has gone."""
        while b"\r\n\r\n" not in self._buffer:
            if not self.read(len(self._buffer) + 1):
                return None
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        if not self.read(length):
            return None
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        method, target, _ = first.split(" ", 2)
        return Request(method, target, headers, body)

    def read(self, length: int) -> bool:
        """Fill the buffer to that many bytes. Whether they came."""
        while len(self._buffer) < length:
            try:
                data = self._sock.recv(65_536)
            except OSError:
                data = b""
            if not data:
                return False
            self._buffer += data
        return True


Responder = Callable[[Connection, Request], None]


@dataclass
class SocketServer:
    """`responder` is called with every request; a connection stays open between requests unless it closes it.

    As a context manager it listens on a free port of 127.0.0.1 (or `host`), with TLS when given a context.
    """

    responder: Responder
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.create_server((self.host, 0), family=family)
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._socks: list[socket.socket] = []
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for sock in self._socks:
            self._cut(sock)
        for thread in self._threads:
            thread.join(GIVE_UP_S)
        self._listener.close()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}/tools"

    @staticmethod
    def _cut(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._socks.append(sock)
            thread = threading.Thread(target=self._serve, args=(sock,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(GIVE_UP_S)
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
                self._socks.append(sock)
        except OSError:
            sock.close()
            return
        with sock:
            connection = Connection(sock)
            while connection.is_open and (request := connection.request()):
                self.requests.append(request)
                self.responder(connection, request)


def says(*parts: bytes, close: bool = False) -> Responder:
    """Answers every request with these bytes, and then closes or keeps the connection."""

    def respond(connection: Connection, request: Request) -> None:
        connection.send(b"".join(parts))
        if close:
            connection.close()

    return respond


def answer(body: bytes = b"", *headers: str, status: str = "200 OK") -> bytes:
    """A whole HTTP/1.1 answer."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
