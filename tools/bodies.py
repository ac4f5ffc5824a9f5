"""The body of an answer: unpacked and counted while it arrives, so a large one costs nothing; then its text. Pure."""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tools.unpacking import TooMuch, Unpacking

# So few characters can take so many bytes only where a charset is misused.
BYTES_OF_A_CHARACTER: Final = 16

_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
# Python's own inventions, not charsets that anybody could mean; to read a long text by some takes for ever.
_NOT_CHARSETS: Final = {"idna", "punycode", "raw-unicode-escape", "unicode-escape"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much of an answer is read, after unpacking: bytes of body, or characters (code points) of its text."""

    bytes: int | None = None
    characters: int | None = None


class Body:
    """Takes the bytes of a body as they come off the wire."""

    def __init__(self, headers: Mapping[str, str], *, limit: Limit) -> None:
        """`headers` by their names in lower case. Raises UnpackingError for an encoding that is not read here."""
        self._characters = limit.characters
        self._bytes = limit.bytes if limit.bytes is not None else (limit.characters or 0) * BYTES_OF_A_CHARACTER
        self._unpacking = Unpacking(headers.get("content-encoding", ""), limit=self._bytes)
        self._charset = _charset(headers.get("content-type", ""))
        self._decoder = codecs.getincrementaldecoder(self._charset)("replace")
        self._decoded = 0
        self._held = bytearray()
        self._taken = 0
        self._is_empty = True

    def feed(self, data: bytes) -> None:
        """Raises TooMuch as soon as the limit is passed, with what fits kept, and UnpackingError."""
        self._is_empty = False
        for piece in self._unpacking.feed(data):
            room = self._bytes - len(self._held)
            self._held += piece[:room]
            if len(piece) > room or self._count(piece) > 1:  # one may be a byte order mark
                raise TooMuch

    def finish(self) -> None:
        """The body has come to its end. Raises TooMuch, and UnpackingError where what it packs has not."""
        if not self._is_empty:
            self._unpacking.finish()
        if self._characters is not None and len(self.text()[0]) > self._characters:
            raise TooMuch

    @property
    def held(self) -> bytes:
        return bytes(self._held)

    def take(self) -> bytes:
        """What has come since the last call of this."""
        taken, self._taken = self._taken, len(self._held)
        return bytes(self._held[taken:])

    def text(self) -> tuple[str, bool]:
        """What is held as text, without a byte order mark, and whether bytes of it did not fit the charset."""
        try:
            text, replaced = self.held.decode(self._charset), False
        except UnicodeError:
            text, replaced = self.held.decode(self._charset, "replace"), True
        return text.removeprefix("\ufeff"), replaced

    def _count(self, piece: bytes) -> int:
        """How many characters too many there are by now."""
        if self._characters is None:
            return 0
        self._decoded += len(self._decoder.decode(piece))
        return self._decoded - self._characters


def charset(name: str) -> str:
    """The charset that is declared by this name if Python knows it as one, else UTF-8."""
    try:
        known = codecs.lookup(name).name
        b"x".decode(known, "ignore")  # some codecs make no text
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if known in _NOT_CHARSETS else known


def _charset(content_type: str) -> str:
    found = _CHARSET.search(content_type)
    return charset(found[1]) if found else "utf-8"
