"""A company's receiver of webhooks over a real socket, which misbehaves by script."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE_S = 30


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(frozen=True)
class Reply:
    """`hold`: the answer comes once this is set."""

    status: int = 200
    body: bytes = b"ok"
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None


@dataclass
class Receiver:
    """`url` is where it listens. Answers what `replies` says, in turn, then 200; `got` is what came."""

    url: str = ""
    got: list[Received] = field(default_factory=list)
    replies: deque[Reply] = field(default_factory=deque)
    held: list[threading.Event] = field(default_factory=list)

    def hold(self, *, times: int = 1) -> threading.Event:
        event = threading.Event()
        self.held.append(event)
        self.replies.extend(Reply(hold=event) for _ in range(times))
        return event


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append(Received(self.path, {name.lower(): v for name, v in self.headers.items()}, body))
            reply = receiver.replies.popleft() if receiver.replies else Reply()
            if reply.hold:
                reply.hold.wait(PATIENCE_S)
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:  # whoever asked is gone
                self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        for event in receiver.held:
            event.set()
        server.shutdown()
        thread.join(10)
        server.server_close()
