"""A web API in tests, over a real socket: JSON in, JSON out."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


@contextmanager
def serving(answer: Callable[[str, str, str, Json], Reply]) -> Iterator[str]:
    """Its address, while it is there. `answer` is given the method, the path, the Authorization and the body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.removeprefix("/api/")
            reply = answer(self.command, path, self.headers.get("Authorization", ""), body)
            data = json.dumps(reply.body).encode()
            self.send_response(reply.status)
            sent = {"Content-Type": "application/json", "Content-Length": str(len(data)), **reply.headers}
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_PATCH = do_POST

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/api"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
