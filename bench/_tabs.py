"""WebSockets as cheap as they can be, so that the server's time is what is measured. No fragments, no compression."""

import asyncio
from typing import Self

_HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\nCookie: {cookie}\r\n\r\n"
)


class Tab:
    """One connection. `hear` gives the text of the next frame."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int, path: str, *, cookie: str = "") -> Self:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        writer.write(_HANDSHAKE.format(path=path, host=f"127.0.0.1:{port}", cookie=cookie).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 101"):
            raise SystemExit(f"{path} answered {head.decode()}")
        return cls(reader, writer)

    def say(self, text: str) -> None:
        """Masked with zeros: the mask is for proxies, and this costs the server what any mask does."""
        body = text.encode()
        size = bytes([0x80 | len(body)]) if len(body) < 126 else b"\xfe" + len(body).to_bytes(2, "big")
        self._writer.write(b"\x81" + size + b"\0\0\0\0" + body)

    async def hear(self) -> bytes:
        while True:
            first, length = await self._reader.readexactly(2)
            if length > 125:
                length = int.from_bytes(await self._reader.readexactly(2 if length == 126 else 8), "big")
            body = await self._reader.readexactly(length)
            if first == 0x81:
                return body
            if first == 0x88:
                raise SystemExit(f"The server closed a socket: {int.from_bytes(body[:2], 'big')}")

    def close(self) -> None:
        self._writer.close()
