"""A local server that speaks the chat completions wire, and misbehaves by script. Real sockets, nothing of ours in it.

with model_server() as server:
    server.script([says("Hello"), calls(("orderStatus", '{"orderNumber":"ORD-1042"}')), Reply(status=503)])
    ... server.url, server.requests
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_S = 30


@dataclass(frozen=True)
class Request:
    """What a client sent; header names in lower case, the body as its JSON object."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]


@dataclass(frozen=True)
class Reply:
    """One answer. It waits `delay_s`, or until `hold` is set before that; `drip_s` then passes between its bytes.

    `cut` closes the connection after that many bytes of the body, although all of it was announced; -1 closes it
    before a single byte of the answer.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    delay_s: float = 0
    hold: threading.Event = field(default_factory=threading.Event)
    drip_s: float = 0
    cut: int | None = None


Entry = Reply | Callable[[Request], Reply]


def message(content: object, *, finish: str | None = "stop", **more: object) -> Reply:
    """A sound answer around any content; `more` are further fields of the message, such as tool_calls."""
    return Reply(
        json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": "test-model-2025",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": content, **more},
                        "finish_reason": finish,
                    }
                ],
                "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
            }
        ).encode()
    )


def says(text: str, *, finish: str = "stop") -> Reply:
    """An answer in words."""
    return message(text, finish=finish)


def calls(*wanted: tuple[str, str], finish: str = "tool_calls", text: str | None = None) -> Reply:
    """An answer that calls tools: each a name and the raw text of its arguments."""
    tool_calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(wanted, start=1)
    ]
    return message(text, finish=finish, tool_calls=tool_calls)


class ModelServer:
    """The server as a test holds it: `url` is its API's base, `requests` what came so far, oldest first."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.requests: list[Request] = []
        self._entries: deque[Entry] = deque()
        self._given: list[Reply] = []
        self._changed = threading.Condition()
        self._is_closing = False

    def script(self, entries: Sequence[Entry]) -> None:
        """Queue answers, one a request; an entry may be a function of the request."""
        with self._changed:
            self._entries.extend(entries)

    @property
    def unused(self) -> int:
        """How many scripted answers nobody has asked for yet."""
        with self._changed:
            return len(self._entries)

    def wait_for(self, count: int) -> None:
        """Block until that many requests have come; raises TimeoutError after 10 s."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE_S):
                raise TimeoutError(f"{len(self.requests)} requests came, {count} were awaited")

    def answer(self, request: Request) -> Reply:
        """The next answer of the script; 500 for a request that nobody scripted."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            entry = self._entries.popleft() if self._entries else None
        if entry is None:
            return Reply(b'{"error": {"message": "nothing is scripted"}}', status=500)
        reply = entry if isinstance(entry, Reply) else entry(request)
        with self._changed:
            self._given.append(reply)
            if self._is_closing:
                reply.hold.set()
        return reply

    def release(self) -> None:
        """Let every answer go that still waits, and those to come."""
        with self._changed:
            self._is_closing = True
            for reply in self._given:
                reply.hold.set()


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server on a free port of 127.0.0.1. On leaving, no answer waits; a connection ends with its client."""
    with _Listener() as listener:
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listener.model
        finally:
            listener.model.release()
            listener.shutdown()
            thread.join()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 200  # many may come at once
    block_on_close = False  # a kept-alive connection lives as long as its client

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = ModelServer(self.server_port)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news in a test of deadlines."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.model.answer(Request(self.path, headers, json.loads(body)))
        if reply.delay_s:
            reply.hold.wait(reply.delay_s)
        if reply.cut == -1:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        body = reply.body[: reply.cut]
        self.close_connection = reply.cut is not None
        if not reply.drip_s:
            self.wfile.write(body)
            return
        for place in range(len(body)):
            self.wfile.write(body[place : place + 1])
            if reply.hold.wait(reply.drip_s):
                return

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""
