"""Content-Encoding undone a piece at a time: no piece is large, however much a few bytes unpack to. Pure."""

import zlib
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types
import zstandard

ACCEPTED: Final = "gzip, deflate, br, zstd"
MAX_ENCODINGS: Final = 2
PIECE: Final = 65_536  # bytes; a piece of zstd may be larger, see there


class UnpackingError(ValueError):
    """An encoding that is not read here, or bytes that are not in the encoding they claim."""


class _Unpacker(Protocol):
    """One encoding. `feed` yields what the bytes unpack to; `is_complete` says whether the data has come to its end."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def is_complete(self) -> bool: ...


class TooMuch(ValueError):
    """More came than is read."""


class Unpacking:
    """All encodings of one body, undone. Between two of them at most `limit` bytes may pass."""

    def __init__(self, content_encoding: str, *, limit: int) -> None:
        """For the value of a Content-Encoding header. Raises UnpackingError when it names what is not read here."""
        parts = (part.strip().lower() for part in content_encoding.split(","))
        names = [name for name in parts if name not in {"", "identity"}]
        if len(names) > MAX_ENCODINGS:
            raise UnpackingError("The answer is packed more than twice.")
        for name in names:
            if name not in _UNPACKERS:
                raise UnpackingError(f"The answer is packed as {name[:40]}, which is not read here.")
        self._stages = [_UNPACKERS[name]() for name in reversed(names)]
        self._left = limit

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of what the bytes unpack to. Raises UnpackingError and TooMuch."""
        try:
            yield from self._through(data, self._stages)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise UnpackingError("The answer is not packed as it says.") from error

    def finish(self) -> None:
        """Raises UnpackingError when the body ended before what it packs did; an empty body packs nothing."""
        if not all(stage.is_complete for stage in self._stages):
            raise UnpackingError("The answer broke off in the middle of what it packs.")

    def _through(self, data: bytes, stages: Sequence[_Unpacker]) -> Iterator[bytes]:
        if not stages:
            yield data
            return
        for piece in stages[0].feed(data):
            if len(stages) > 1:
                self._left -= len(piece)
                if self._left < 0:
                    raise TooMuch
            yield from self._through(piece, stages[1:])


class _Zlib:
    """gzip and deflate, and any number of gzip members one after another."""

    def __init__(self, *, window: int) -> None:
        self._window = window
        self._stream = zlib.decompressobj(window)

    @property
    def is_complete(self) -> bool:
        return self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._stream.eof:
                self._stream = zlib.decompressobj(self._window)
            yield self._stream.decompress(data, PIECE)
            data = self._stream.unused_data or self._stream.unconsumed_tail


class _Deflate(_Zlib):
    """RFC 9110 means zlib by it; some servers send a bare deflate stream, which never begins as zlib does."""

    def __init__(self) -> None:
        super().__init__(window=zlib.MAX_WBITS)
        self._head: bytes | None = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._head is not None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head = self._head, None
            if data[0] & 0x0F != 8 or int.from_bytes(data[:2]) % 31:
                self._window = -zlib.MAX_WBITS
                self._stream = zlib.decompressobj(self._window)
        yield from super().feed(data)


class _Gzip(_Zlib):
    def __init__(self) -> None:
        super().__init__(window=zlib.MAX_WBITS | 16)


class _Brotli:
    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._stream.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        while piece := self._stream.process(data, output_buffer_limit=PIECE):
            yield piece
            data = b""  # it is taken; what is left comes of asking again


class _Zstd:
    """Python's binding has no bound on what one call unpacks to, so a call gets few bytes: at most 1 MB comes of 32."""

    SLICE: Final = 32
    WINDOW: Final = 8 * 1024 * 1024  # what RFC 9659 allows on the web

    def __init__(self) -> None:
        self._frames = zstandard.ZstdDecompressor(max_window_size=self.WINDOW)
        self._stream = self._frames.decompressobj()

    @property
    def is_complete(self) -> bool:
        return self._stream.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), self.SLICE):
            rest = data[at : at + self.SLICE]
            while rest:
                if self._stream.eof:
                    self._stream = self._frames.decompressobj()
                yield self._stream.decompress(rest)
                rest = self._stream.unused_data


_UNPACKERS: Final[dict[str, type[_Gzip | _Deflate | _Brotli | _Zstd]]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
