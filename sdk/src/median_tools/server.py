"""A small HTTP/1.1 server for one WSGI app: keep-alive, chunked requests, a clean stop. For development and demos."""

import io
import logging
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType, TracebackType
from typing import Any
from urllib.parse import unquote

from median_tools import framing, wsgi

IDLE = 30  # seconds that a connection may be silent
GRACE = 10  # seconds that requests in flight have when the server stops

log = logging.getLogger("median_tools")


class Server(ThreadingHTTPServer):
    """Serves an app once entered or run; one thread a connection. Port 0 takes any free one.

    Raises OSError when the address cannot be had.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, app: wsgi.App, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.app = app
        self.stopping = False
        self._served = False
        self._connections: dict[threading.Thread, socket.socket] = {}
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        host = f"[{self.server_address[0]!s}]" if self.address_family == socket.AF_INET6 else self.server_address[0]
        return f"http://{host!s}:{self.server_address[1]}"

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self) -> None:
        """Serves until SIGINT or SIGTERM. Call it in the main thread."""

        def stop(number: int, frame: FrameType | None) -> None:
            # shutdown() waits for the loop that this signal interrupted, so another thread must call it.
            threading.Thread(target=self.shutdown, daemon=True).start()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        self._served = True
        try:
            self.serve_forever(poll_interval=0.2)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start(self) -> "Server":
        """Serves in a thread of its own until `close`."""
        self._served = True
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def close(self) -> None:
        """Takes no more requests, lets those in flight finish, closes every connection."""
        self.stopping = True
        if self._served:
            self.shutdown()  # waits for a loop that has run, for ever for one that has not
        self.server_close()
        open_now = list(self._connections.items())
        for _, connection in open_now:
            with suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RD)  # an idle connection reads its end; one at work can still write
        deadline = time.monotonic() + GRACE
        for thread, _ in open_now:
            thread.join(max(0.0, deadline - time.monotonic()))

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # socketserver's own types
        self._connections[threading.current_thread()] = request
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.pop(threading.current_thread(), None)

    def handle_error(self, request: Any, client_address: Any) -> None:  # socketserver's own types
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            log.exception("A connection broke.")


class _Handler(BaseHTTPRequestHandler):
    """One connection: reads a request, gives it to the app, writes the answer, and again."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "median-tools"
    sys_version = ""
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"
    timeout = IDLE
    wbufsize = -1  # headers and body leave in one packet
    disable_nagle_algorithm = True

    def handle_one_request(self) -> None:
        if self.server.stopping:
            self.close_connection = True
        else:
            super().handle_one_request()

    def handle_expect_100(self) -> bool:
        told = super().handle_expect_100()
        self.wfile.flush()  # the client waits for this before it sends the body
        return told

    def _serve(self) -> None:
        try:
            body = framing.body(self.headers, self.rfile)
        except framing.BadFrameError as error:
            self.close_connection = True
            self.send_error(error.status, str(error))
            return
        try:
            self._respond(body)
        except Exception:  # the app is at fault, and the next request must still be served
            log.exception("The app failed on %s %s", self.command, self.path)
            self.close_connection = True
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve

    def _respond(self, body: bytes) -> None:
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, headers: list[tuple[str, str]]) -> None:
            started.append((status, headers))

        content = b"".join(self.server.app(self._environ(body), start_response))
        status, headers = started[-1]
        self.send_response(int(status.split(" ")[0]))
        names = {name.lower() for name, _ in headers}
        for name, value in headers:
            self.send_header(name, value)
        if "content-length" not in names and status[:3] not in ("204", "304"):
            self.send_header("Content-Length", str(len(content)))
        if self.server.stopping:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _environ(self, body: bytes) -> wsgi.Environ:
        path, _, query = self.path.partition("?")
        environ: wsgi.Environ = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote(path, "latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": str(self.server.server_address[0]),
            "SERVER_PORT": str(self.server.server_address[1]),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": str(self.client_address[0]),
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            key = f"HTTP_{name.upper().replace('-', '_')}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value
        return environ

    def log_message(self, format: str, *args: object) -> None:
        log.info("%s %s", self.client_address[0], format % args)
