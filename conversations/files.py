"""A file from outside as people and models are told of it: its name made plain, its size in words, its type by its
first bytes. Pure; nothing that a sender says about a file is believed."""

import unicodedata
from dataclasses import asdict, dataclass
from typing import Final

from median_site.lib.strict_json import Json

NAME_LIMIT: Final = 150
THUMBNAIL_SIDE: Final = 480
_LONGEST_ENDING: Final = 12
# Control, format, surrogate, private, unassigned; separators of lines and paragraphs: a name may hide behind them.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ENDINGS: Final = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
}
_SIGNATURES: Final = (
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (4, b"ftyp", "video/mp4"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
)


@dataclass(frozen=True, slots=True)
class File:
    """What is shown of an attachment. `size` in bytes; `width` and `height` in pixels, 0 for what is no picture."""

    id: str
    name: str
    content_type: str
    size: int
    width: int = 0
    height: int = 0

    @property
    def is_picture(self) -> bool:
        return self.width > 0

    @property
    def thumbnail(self) -> tuple[int, int]:
        """Width and height of a picture's thumbnail, which is never larger than the picture."""
        scale = min(1.0, THUMBNAIL_SIDE / max(self.width, self.height, 1))
        return max(1, round(self.width * scale)), max(1, round(self.height * scale))

    @property
    def size_in_words(self) -> str:
        return size_in_words(self.size)

    def as_json(self) -> dict[str, Json]:
        return asdict(self)


def size_in_words(size: int) -> str:
    """Bytes as people read them: 812 bytes, 14 KB, 1.2 MB."""
    if size < 1024:
        return f"{size} byte{'' if size == 1 else 's'}"
    if size < 1024**2:
        return f"{round(size / 1024)} KB"
    return f"{size / 1024**2:.1f} MB"


def plain_name(given: str) -> str:
    """The last part of a path, with every character that does not show written as its code: never longer than
    150 characters, never empty, never a folder, and its ending stays."""
    last = given.replace("\\", "/").rstrip("/").rpartition("/")[2]
    composed = unicodedata.normalize("NFC", last)
    shown = "".join(_visible(character) for character in composed).strip(" .")
    if len(shown) <= NAME_LIMIT:
        return shown or "file"
    stem, dot, ending = shown.rpartition(".")
    kept = dot + ending if stem and len(ending) <= _LONGEST_ENDING else ""
    return shown[: NAME_LIMIT - len(kept) - 1] + "…" + kept


def with_ending(name: str, *, content_type: str) -> str:
    """A picture's name with an ending that fits: what is saved under it never opens as a page or a program."""
    endings = _ENDINGS[content_type]
    return name if name.lower().endswith(endings) else plain_name(name + endings[0])


def type_of(data: bytes) -> str:
    """The type of a file that is no picture, by its bytes. HTML and SVG are text here, as anything readable is."""
    for start, signature, content_type in _SIGNATURES:
        if data[start : start + len(signature)] == signature:
            return content_type
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if "\0" in text else "text/plain"


def _visible(character: str) -> str:
    return f"[U+{ord(character):04X}]" if unicodedata.category(character) in _UNSEEN else character
