"""A company's endpoint in tests: the example shop's tools over a real socket, with a log of what came."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from typing import Any

from median_tools.server import Server

from examples.shop.records import fernhill
from examples.shop.tools import shop_tools

PATIENCE_S = 30


@dataclass(frozen=True)
class Received:
    """One request as it arrived: the raw body and the headers, names in lower case."""

    method: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass
class Endpoint:
    """`url` is the endpoint's; `calls` are the tool calls that arrived, oldest first; `syncs` counts manifests.

    A tool named in `held` answers only once its event is set.
    """

    url: str = ""
    calls: list[Received] = field(default_factory=list)
    syncs: int = 0
    held: dict[str, threading.Event] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def hold(self, tool: str) -> threading.Event:
        return self.held.setdefault(tool, threading.Event())

    def calls_of(self, tool: str) -> list[Received]:
        return [call for call in self.calls if call.body["tool"] == tool]

    def wait_for(self, tool: str, count: int = 1) -> Received:
        """Block until that many calls of the tool have arrived; raises TimeoutError after 10 s."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.calls_of(tool)) >= count, PATIENCE_S):
                raise TimeoutError(f"{len(self.calls_of(tool))} calls of {tool} arrived, {count} were awaited")
        return self.calls_of(tool)[count - 1]

    def wrap(self, app: Callable[..., Any]) -> Callable[..., Any]:
        """The WSGI app with the log and the holds before it."""

        def logged(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            raw = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = BytesIO(raw)
            headers = {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key[:5] == "HTTP_"}
            received = Received(environ["REQUEST_METHOD"], headers, raw)
            with self._changed:
                if received.method == "POST":
                    self.calls.append(received)
                else:
                    self.syncs += 1
                self._changed.notify_all()
            if received.method == "POST" and (held := self.held.get(received.body["tool"])):
                held.wait(PATIENCE_S)
            return app(environ, start_response)

        return logged


@contextmanager
def shop_endpoint(secret: str) -> Iterator[Endpoint]:
    """The shop's endpoint on a free port of this machine. On leaving, nothing is held."""
    endpoint = Endpoint()
    tools = shop_tools(fernhill(date(2026, 6, 3)), secret=secret, issuer=None)
    with Server(endpoint.wrap(tools.wsgi)) as server:
        server.start()
        endpoint.url = f"{server.url}/tools"
        try:
            yield endpoint
        finally:
            for event in endpoint.held.values():
                event.set()
