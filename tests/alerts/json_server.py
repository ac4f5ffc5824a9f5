"""A web API in tests, over a real socket: JSON in, with a file if it comes as a form; JSON out, or bytes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Json = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    data: bytes | None = None


@contextmanager
def serving(answer: Callable[[str, str, str, Json], Reply]) -> Iterator[str]:
    """Its address, while it is there. `answer` is given the method, the path, the Authorization and the body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = _body(self.headers["Content-Type"] or "", self.rfile.read(int(self.headers["Content-Length"] or 0)))
            path = self.path.removeprefix("/api/")
            reply = answer(self.command, path, self.headers.get("Authorization", ""), body)
            data = json.dumps(reply.body).encode() if reply.data is None else reply.data
            self.send_response(reply.status)
            sent = {"Content-Type": "application/json", "Content-Length": str(len(data)), **reply.headers}
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_PATCH = do_POST

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


def _body(content_type: str, data: bytes) -> Json:
    """The JSON; of a form that of its part payload_json, with the bytes of its files under their names."""
    if not content_type.startswith("multipart/form-data"):
        return json.loads(data) if data else {}
    form = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + data)
    payload, *files = form.get_payload()
    body = json.loads(payload.get_payload(decode=True))
    return body | {"files": {file.get_filename(): file.get_payload(decode=True) for file in files}}
