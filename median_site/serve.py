"""The web server process: daphne, taught to leave politely. `python -m median_site.serve --help`.

Several processes may serve one listening socket, handed to each as a file descriptor.
"""

import argparse
import importlib
import logging
import math
import os
import signal
import sys
from typing import Any

from daphne.endpoints import build_endpoint_description_strings
from daphne.http_protocol import WebRequest
from daphne.server import Server, twisted_loop
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import reactor as installed_reactor
from twisted.internet.tcp import Server as Transport

DRAIN = 10.0  # seconds that requests under way have after SIGTERM
LOOK = 0.05  # seconds between two looks at what is still under way
SERVICE_RESTART = 1012  # the WebSocket close code that asks a client to come back
LARGEST_MESSAGE = 64 * 1024  # bytes from a browser in one WebSocket message; a request's body is Django's to limit

reactor: Any = installed_reactor  # it is declared as an interface, whose methods have no self

logger = logging.getLogger(__name__)


class DrainingServer(Server):  # type: ignore[misc]  # daphne has no types
    """On SIGTERM or SIGINT stops listening, finishes the requests under way, closes WebSockets with 1012, and ends."""

    def __init__(self, application: Any, *, endpoint: str) -> None:  # an ASGI application, as daphne takes it
        super().__init__(
            application,
            endpoints=[endpoint],
            signal_handlers=False,
            ready_callable=self._listen_to_signals,
            server_name="",  # no Server header
            websocket_max_message_size=LARGEST_MESSAGE,
            websocket_max_frame_size=LARGEST_MESSAGE,
        )
        self._ports: list[Any] = []
        self._give_up_at = math.inf  # the loop's time; a finite one once draining

    def listen_success(self, port: Any) -> None:  # twisted's IListeningPort
        super().listen_success(port)
        self._ports.append(port)

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            twisted_loop.add_signal_handler(number, self._drain)

    def _drain(self) -> None:
        if self._give_up_at < math.inf:
            return
        self._give_up_at = twisted_loop.time() + DRAIN
        for port in self._ports:
            port.stopListening()
        self._leave_when_done()

    def _leave_when_done(self) -> None:
        """Ends the server once nothing is under way, or the time is up; until then lets go of what is idle."""
        for protocol in self.connections:
            if isinstance(protocol, WebSocketProtocol) and protocol.state == protocol.STATE_OPEN:
                protocol.sendCloseFrame(code=SERVICE_RESTART)  # sendClose takes private codes only
            elif isinstance(protocol, WebRequest) and getattr(protocol, "channel", None):
                protocol.channel.persistent = False  # no further request on this connection
                protocol.setHeader(b"connection", b"close")
        connections = _open_connections()
        for connection in connections:
            if _is_idle(connection):
                connection.loseConnection()  # type: ignore[no-untyped-call]  # partly typed
        running = [task for each in self.connections.values() if (task := each.get("application_instance"))]
        busy = sum(not task.done() for task in running)
        if not connections and not busy:
            self.connections.clear()
            self.stop()
        elif twisted_loop.time() < self._give_up_at:
            twisted_loop.call_later(LOOK, self._leave_when_done)
        else:
            logger.warning("Leaving %d connections and %d calls of the application unfinished", len(connections), busy)
            logging.shutdown()
            os._exit(0)  # an ordinary exit would wait for their threads


def _open_connections() -> list[Transport]:
    """Those that are being read or written. Twisted pauses reading while the application works on a request."""
    return [each for each in {*reactor.getReaders(), *reactor.getWriters()} if isinstance(each, Transport)]


def _is_idle(connection: Transport) -> bool:
    """Whether this is an HTTP connection with no request on it, not even one that is still arriving."""
    channel = getattr(connection.protocol, "_channel", None)  # absent once it became a WebSocket
    return channel is not None and not channel.requests


def load(path: str) -> Any:
    """The object that `module:name` names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m median_site.serve", description="Serves the web application.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (8000)")
    parser.add_argument("--fd", type=int, help="a listening TCP socket to serve instead, as a file descriptor")
    parser.add_argument("--app", default="median_site.asgi:application", help="the ASGI application, as module:name")
    options = parser.parse_args()
    where = {"host": options.host, "port": options.port} if options.fd is None else {"file_descriptor": options.fd}
    (endpoint,) = build_endpoint_description_strings(**where)
    server = DrainingServer(load(options.app), endpoint=endpoint)
    server.run()
    return 0 if server.listening_addresses else 1  # daphne has said why not


if __name__ == "__main__":
    sys.exit(main())
