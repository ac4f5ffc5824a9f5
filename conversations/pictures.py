"""Pictures from outside: told by their bytes, measured before anything is decoded, and written anew without what else
is in the file (where it was taken, with what, by whom). Pure, and the only place that decodes pictures."""

from dataclasses import dataclass
from io import BytesIO
from threading import BoundedSemaphore
from typing import Final

from PIL import (
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from conversations.files import THUMBNAIL_SIDE

MOST_PIXELS: Final = 40_000_000
# What a model reads is no larger: more costs tokens and shows it nothing more.
READING_SIDE: Final = 1024
READING_TYPE: Final = "image/jpeg"

_TYPES: Final = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
# These register themselves; naming them here keeps every other decoder out.
_FORMATS: Final = [
    plugin.format
    for plugin in (
        GifImagePlugin.GifImageFile,
        JpegImagePlugin.JpegImageFile,
        PngImagePlugin.PngImageFile,
        WebPImagePlugin.WebPImageFile,
    )
]
_BEGINNINGS: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_ORIENTATION: Final = 0x0112
# A decoded picture may take 160 MB; a process has the memory for two at once.
_decoding: Final = BoundedSemaphore(2)

Image.MAX_IMAGE_PIXELS = None  # `examine` measures first, and refuses at its own limit


class Broken(Exception):
    """It begins as a picture does, and cannot be decoded."""


class TooManyPixels(Exception):
    """It would decode to more than MOST_PIXELS."""

    def __init__(self, pixels: int) -> None:
        self.pixels = pixels
        super().__init__(f"{pixels} pixels")


@dataclass(frozen=True, slots=True)
class Picture:
    """`data` is the picture as it is kept; `thumbnail` a WebP of at most 480 pixels a side, `reading` a JPEG of at most
    1,024. The first frame stands for a moving one."""

    content_type: str
    width: int
    height: int
    data: bytes
    thumbnail: bytes
    reading: bytes


def examine(data: bytes) -> Picture | None:
    """The picture that a file is, upright; None when it is something else. Raises Broken, TooManyPixels."""
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise TooManyPixels(image.width * image.height)
            with _decoding:
                return _written_anew(image, data)
    except UnidentifiedImageError:
        if data.startswith(_BEGINNINGS):
            raise Broken from None
        return None
    except TooManyPixels:
        raise
    except Exception as error:  # whatever a decoder does with bytes that were made to break it
        raise Broken from error


def _written_anew(image: Image.Image, data: bytes) -> Picture:
    image.load()
    upright = ImageOps.exif_transpose(image)
    small = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    small.thumbnail((READING_SIDE, READING_SIDE))
    reading = _flat(small)
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    return Picture(
        content_type=_TYPES[image.format or ""],
        width=upright.width,
        height=upright.height,
        data=_kept(image, upright, data),
        thumbnail=_saved(small, "WEBP", quality=80),
        reading=_saved(reading, "JPEG", quality=80),
    )


def _kept(image: Image.Image, upright: Image.Image, data: bytes) -> bytes:
    """The pixels and the colour profile, and nothing else. A GIF, which has no place for EXIF, stays as it moves."""
    profile = image.info.get("icc_profile")
    if image.format == "GIF":
        return data
    if image.format == "PNG":
        return _saved(upright, "PNG", icc_profile=profile)
    if image.format == "WEBP":
        return _saved(upright, "WEBP", quality=90, icc_profile=profile)
    if image.format == "JPEG" and image.getexif().get(_ORIENTATION, 1) == 1:
        return _saved(image, "JPEG", quality="keep", icc_profile=profile)  # no second loss
    return _saved(upright, "JPEG", quality=90, icc_profile=profile)


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    image.info = {key: value for key, value in image.info.items() if key == "transparency"}
    made = BytesIO()
    image.save(made, form, **options)
    return made.getvalue()


def _flat(image: Image.Image) -> Image.Image:
    """On white, where it lets something through."""
    if image.mode == "RGB":
        return image.copy()
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground
