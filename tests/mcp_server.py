"""A company's MCP server that says exactly what a test gives it, over a real socket, with a log of what came."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.socket_server import Connection, Request, Responder, SocketServer, answer

Message = dict[str, Any]
READS: Message = {"readOnlyHint": True}
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class McpServer:
    """Lists `tools` and calls them with `result`. What stands in `says`, by method, is answered instead.

    `asked` are the methods that came, a DELETE among them, and `requests` what they came with.
    """

    tools: list[Message] = field(default_factory=list)
    result: Message = field(default_factory=lambda: {"content": [{"type": "text", "text": "Done."}]})
    version: str = "2025-11-25"
    session: str = ""
    says: dict[str, Responder] = field(default_factory=dict)
    url: str = ""
    asked: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def respond(self, connection: Connection, request: Request) -> None:
        message = json.loads(request.body) if request.body else {}
        method = message.get("method", request.method)
        self.asked.append(method)
        self.requests.append(request)
        if other := self.says.get(method):
            other(connection, request)
            return
        results: dict[str, Message] = {
            "initialize": {"protocolVersion": self.version, "capabilities": {}, "serverInfo": {"name": "s"}},
            "tools/list": {"tools": self.tools},
            "tools/call": self.result,
        }
        if method in results:
            connection.send(self.reply(request, results[method]))
        else:
            connection.send(answer(status="202 Accepted"))

    def reply(self, request: Request, result: Message) -> bytes:
        headers = ["Content-Type: application/json"]
        headers += [f"Mcp-Session-Id: {self.session}"] if self.session else []
        return answer(response(request, result=result), *headers)


def tool(name: str = "findStock", **more: Any) -> Message:
    """A tool that only reads, unless told otherwise."""
    schema = {"type": "object", "properties": {"sku": {"type": "string"}}}
    return {"name": name, "description": "How many.", "inputSchema": schema, "annotations": READS} | more


def response(request: Request, **outcome: Any) -> bytes:
    """A response of JSON-RPC to this request, with its id unless told otherwise."""
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(request.body)["id"]} | outcome).encode()


def event(data: bytes, end: bytes = b"\n\n") -> bytes:
    return b"event: message\ndata: " + data + end


def streams(*before: bytes, result: Message) -> Responder:
    """Sends these pieces and the result as events, and then keeps the stream open."""

    def respond(connection: Connection, request: Request) -> None:
        for piece in (STREAM, *before, event(response(request, result=result))):
            connection.send(piece)
        connection.wait_for_hang_up()

    return respond


def says_json(text: bytes | Callable[[Request], bytes], *headers: str) -> Responder:
    """Answers with a body that is called JSON, whatever it is."""

    def respond(connection: Connection, request: Request) -> None:
        body = text if isinstance(text, bytes) else text(request)
        connection.send(answer(body, "Content-Type: application/json", *headers))

    return respond


@contextmanager
def mcp_server(*tools: Message) -> Iterator[McpServer]:
    """The server on a free port of this machine."""
    served = McpServer(list(tools))
    with SocketServer(served.respond) as listening:
        served.url = listening.url
        yield served
