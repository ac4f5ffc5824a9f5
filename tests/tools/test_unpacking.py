"""Bodies that are small on the wire and huge unpacked: reading stops early, and memory stays flat."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from tools.unpacking import TooMuch, Unpacking, UnpackingError

MEGABYTE = 1_000_000
ZEROS = bytes(MEGABYTE)
LIMIT = 100_000


def wrapped(window: int) -> bytes:
    stream = zlib.compressobj(9, wbits=window)
    return b"".join(stream.compress(ZEROS) for _ in range(40)) + stream.flush()


def brotlied() -> bytes:
    stream = brotli.Compressor(quality=1)
    return b"".join(stream.process(ZEROS) for _ in range(40)) + stream.finish()


def zstandarded() -> bytes:
    stream = zstandard.ZstdCompressor().compressobj()
    return b"".join(stream.compress(ZEROS) for _ in range(40)) + stream.flush()


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: wrapped(31),
    "deflate": lambda: wrapped(15),
    "br": brotlied,
    "zstd": zstandarded,
    "gzip, gzip": lambda: gzip.compress(wrapped(31)),
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_body_of_40_mb_is_read_to_the_limit_in_little_memory(encoding: str) -> None:
    wire = BOMBS[encoding]()
    tracemalloc.start()
    unpacking, read = Unpacking(encoding, limit=LIMIT), 0
    for piece in unpacking.feed(wire):
        read += len(piece)
        if read > LIMIT:
            break
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert LIMIT < read < 2 * MEGABYTE
    assert most < 2 * MEGABYTE


def test_what_passes_between_two_encodings_is_bounded() -> None:
    empty_members = gzip.compress(gzip.compress(b"") * 50_000)
    with pytest.raises(TooMuch):
        list(Unpacking("gzip, gzip", limit=LIMIT).feed(empty_members))


@pytest.mark.parametrize("size", [1, 7, 1_000, MEGABYTE])
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstandard.compress)],
)
def test_how_the_wire_cuts_a_body_makes_no_difference(encoding: str, pack: Callable[[bytes], bytes], size: int) -> None:
    body = bytes(range(256)) * 500 + ZEROS[:200_000]
    wire, unpacking = pack(body), Unpacking(encoding, limit=LIMIT)
    pieces = [piece for at in range(0, len(wire), size) for piece in unpacking.feed(wire[at : at + size])]
    unpacking.finish()
    assert b"".join(pieces) == body


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_members_one_after_another_are_one_body(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    unpacking = Unpacking(encoding, limit=LIMIT)
    assert b"".join(unpacking.feed(pack(b"one ") + pack(b"two"))) == b"one two"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("zstd", zstandard.compress)],
)
def test_a_packed_body_that_stops_half_way_is_noticed(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    unpacking = Unpacking(encoding, limit=LIMIT)
    list(unpacking.feed(pack(b"a whole sentence, cut")[:-2]))
    with pytest.raises(UnpackingError, match="broke off"):
        unpacking.finish()


def test_a_zstd_window_may_not_claim_a_gigabyte() -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=27)
    stream = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    with pytest.raises(UnpackingError, match="not packed as it says"):
        list(Unpacking("zstd", limit=LIMIT).feed(stream.compress(ZEROS) + stream.flush()))
