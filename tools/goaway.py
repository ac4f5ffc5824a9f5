"""HTTP/2 servers that go away in good order, as all do now and then: what they took before, they still answer.

The library below takes no frame after a GOAWAY, so one that spares our calls is kept from it. Pure but for the stream.
"""

import ssl
from collections.abc import Callable, Iterator
from typing import Any, Final

import httpcore

_PREFACE: Final = 24  # bytes that a client says before its first frame
_HEAD: Final = 9  # bytes of a frame before its payload: length, type, flags, stream
_HEADERS: Final = 0x1
_GOAWAY: Final = 0x7
_LONGEST: Final = 1_000  # bytes of a GOAWAY that is looked into


class _Frames:
    """Cuts what comes in pieces into frames."""

    def __init__(self, *, skip: int = 0) -> None:
        self._left = skip  # bytes until the next frame begins
        self._held = bytearray()

    def cut(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The type of each frame that begins and its bytes so far, a GOAWAY's all; -1 and bytes of one begun before."""
        self._held += data
        while self._held:
            kind, size = -1, self._left
            if not self._left:
                if len(self._held) < _HEAD:
                    return
                kind, size = self._held[3], _HEAD + int.from_bytes(self._held[:3])
                if kind == _GOAWAY and len(self._held) < size <= _LONGEST:
                    return
            piece = bytes(self._held[:size])
            del self._held[:size]
            self._left = size - len(piece)
            yield kind, piece


class SparingStream(httpcore.AsyncNetworkStream):
    """A dialled connection; `leaves` is called when its server begins to leave: nothing new may be sent to it then."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, *, leaves: Callable[[], None]) -> None:
        self._inner = inner
        self._leaves = leaves
        tls = inner.get_extra_info("ssl_object")
        self._is_http2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        self._sent, self._came = _Frames(skip=_PREFACE), _Frames()
        self._newest = 0  # the stream of our newest call

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while data := await self._inner.read(max_bytes, timeout):
            if not self._is_http2:
                return data
            if kept := b"".join(piece for kind, piece in self._came.cut(data) if not self._spares(kind, piece)):
                return kept
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for kind, piece in self._sent.cut(buffer) if self._is_http2 else ():
            if kind == _HEADERS:
                self._newest = int.from_bytes(piece[5:_HEAD])
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        secured = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return SparingStream(secured, leaves=self._leaves)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def _spares(self, kind: int, piece: bytes) -> bool:
        """Whether it is a GOAWAY without an error that leaves every call of ours its answer."""
        last, error = int.from_bytes(piece[9:13]), piece[13:17]
        if kind != _GOAWAY or error != bytes(4) or last < self._newest:
            return False
        self._leaves()
        return True
