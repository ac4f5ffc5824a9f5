"""The ASGI mount: reads a request off the wire, bounded, and writes the answer."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from median_tools.admission import MAX_BODY, Request, too_large
from median_tools.answers import Answer

Message: TypeAlias = MutableMapping[str, Any]  # ASGI's own untyped messages
Scope: TypeAlias = Message
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


async def serve(answer: Callable[[Request], Awaitable[Answer]], scope: Scope, receive: Receive, send: Send) -> None:
    """Handles one ASGI scope: http, lifespan, and a websocket by closing it."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    elif scope["type"] == "http":
        body = await _body(receive)
        if body is None:
            return  # the client went away before it had said everything
        headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
        request = Request(scope["method"], headers, body)
        answered = too_large().answer() if len(body) > MAX_BODY else await answer(request)
        await _send(answered, send, head=scope["method"] == "HEAD")


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or as much of it as shows that it is too large; None when the client went away."""
    body = b""
    while len(body) <= MAX_BODY:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


async def _send(answer: Answer, send: Send, *, head: bool) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.wire_headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
