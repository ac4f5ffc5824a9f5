"""A company's endpoint whose manifest a test changes at will, over a real socket, with a log of what came."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.socket_server import Connection, Request, SocketServer, answer

PATIENCE_S = 10
_CLOSE = "Connection: close"  # what a test opens in passing is not left open


@dataclass
class ManifestServer:
    """Answers a GET with `tools`, and with `raw` instead where a test sets it. `held` answers wait for their event.

    `requests` are those that came; a POST is answered with `result`.
    """

    tools: list[dict[str, Any]] = field(default_factory=list)
    etag: str = ""
    raw: bytes = b""
    result: bytes = b'{"left":3}'
    held: list[threading.Event] = field(default_factory=list)
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    _events: list[threading.Event] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def body(self) -> bytes:
        return json.dumps({"version": 1, "sdk": "median-tools/1.0 (python)", "tools": self.tools}).encode()

    def hold(self) -> threading.Event:
        """Keep the next answer back until the event is set. What it says is what is served now."""
        event = threading.Event()
        self.held.append(event)
        self._events.append(event)
        return event

    def release_all(self) -> None:
        for event in self._events:
            event.set()

    def respond(self, connection: Connection, request: Request) -> None:
        with self._lock:
            held = self.held.pop(0) if self.held else None
            said = self.raw or self._answer(request)
            self.requests.append(request)
        if held:
            held.wait(PATIENCE_S)
        connection.send(said)
        connection.close()

    def _answer(self, request: Request) -> bytes:
        if request.method == "POST":
            return answer(self.result, "Content-Type: application/json", _CLOSE)
        if self.etag and request.headers.get("if-none-match") == self.etag:
            return answer(b"", _CLOSE, status="304 Not Modified")
        return answer(self.body, _CLOSE, *([f"ETag: {self.etag}"] if self.etag else []))


@contextmanager
def manifest_server(*tools: dict[str, Any]) -> Iterator[ManifestServer]:
    """The server on a free port of this machine."""
    served = ManifestServer(list(tools))
    with SocketServer(served.respond) as listening:
        served.url = listening.url
        try:
            yield served
        finally:
            served.release_all()
