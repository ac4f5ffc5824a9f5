"""Files as people send them, well made and badly: real pictures by Pillow, and bytes that only look like one."""

import struct
import zlib
from io import BytesIO

from PIL import Image

GPS = 0x8825
ORIENTATION = 0x0112


def png(width: int = 800, height: int = 600, *, mode: str = "RGB") -> bytes:
    return _saved(Image.new(mode, (width, height), "teal"), "PNG")


def jpeg_from_a_phone(width: int = 800, height: int = 600) -> bytes:
    """Held upright, with the place where it was taken and a comment."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    exif.get_ifd(GPS).update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 18.0)})
    exif[0x010F] = "Phone Maker"
    return _saved(Image.new("RGB", (width, height), "olive"), "JPEG", exif=exif, comment=b"a comment")


def moving_gif(frames: int = 3) -> bytes:
    pictures = [Image.new("RGB", (40, 30), (80 * frame, 0, 0)) for frame in range(frames)]
    return _saved(pictures[0], "GIF", save_all=True, append_images=pictures[1:])


def webp() -> bytes:
    return _saved(Image.new("RGBA", (300, 200), (10, 20, 30, 128)), "WEBP")


def huge_png(width: int = 30_000, height: int = 30_000) -> bytes:
    """A few hundred bytes that ask for gigabytes."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b""))
    )


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    made = BytesIO()
    image.save(made, form, **options)
    return made.getvalue()
