"""Reads the body of an HTTP/1.1 request off a stream, as its headers frame it. Strict where leniency is smuggling."""

from email.message import Message
from http import HTTPStatus
from typing import Protocol

MAX_BODY = 1024 * 1024  # bytes; an app behind it may allow less
MAX_LINE = 1024


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def readline(self, size: int, /) -> bytes: ...


class BadFrameError(Exception):
    """The request cannot be read any further, so its connection must close after this status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def body(headers: Message, stream: Stream) -> bytes:
    """The whole body. Raises BadFrameError, and OSError from the stream."""
    if headers.defects:  # behind a broken line stand more headers, which others would read
        raise _bad("a header line is broken")
    lengths = headers.get_all("content-length", [])
    codings = headers.get_all("transfer-encoding", [])
    if codings:
        if lengths:
            raise _bad("both Content-Length and Transfer-Encoding")
        if [coding.strip(" \t").lower() for coding in codings] != ["chunked"]:
            raise BadFrameError(HTTPStatus.NOT_IMPLEMENTED, "only chunked transfer coding is known")
        return _chunked(stream)
    if not lengths:
        return b""
    if len(lengths) > 1 or not _is_number(lengths[0], "0123456789"):
        raise _bad("Content-Length is not one number")
    return _exactly(stream, _allowed(int(lengths[0])))


def _chunked(stream: Stream) -> bytes:
    whole = bytearray()
    while size := _chunk_size(stream):
        _allowed(len(whole) + size)
        whole += _exactly(stream, size)
        if _line(stream):
            raise _bad("a chunk does not end where it said")
    for _ in range(100):  # trailers, which nobody here reads
        if not _line(stream):
            return bytes(whole)
    raise _bad("too many trailers")


def _chunk_size(stream: Stream) -> int:
    text = _line(stream).split(b";")[0].strip().decode("latin-1")
    if not _is_number(text, "0123456789abcdefABCDEF"):
        raise _bad("a chunk has no size")
    return int(text, 16)


def _is_number(text: str, digits: str) -> bool:
    return 0 < len(text) <= 12 and all(character in digits for character in text)


def _line(stream: Stream) -> bytes:
    line = stream.readline(MAX_LINE)
    if not line.endswith(b"\r\n"):
        raise _bad("a line of the body is cut off")
    return line[:-2]


def _exactly(stream: Stream, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise _bad("the body is cut off")
    return found


def _allowed(size: int) -> int:
    if size > MAX_BODY:
        raise BadFrameError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large")
    return size


def _bad(message: str) -> BadFrameError:
    return BadFrameError(HTTPStatus.BAD_REQUEST, message)
