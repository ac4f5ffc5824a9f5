"""A small ASGI application for the tests of the web server: answers as slow as the test wants, and WebSockets."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await converse(receive, send)
        return
    body = b""
    more = True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    if scope["path"] == "/slow":
        folder = Path(scope["query_string"].decode())
        (folder / "begun").touch()
        while not (folder / "go-on").exists():
            await asyncio.sleep(0.01)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"finished " + body})


async def converse(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": "heard"})
