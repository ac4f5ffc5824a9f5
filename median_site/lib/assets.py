"""The static files as browsers get them: in few pieces, compressed, at addresses that change with what is in them.

No build step stands between a change and a page: a process reads the files when it first needs one. Pages ask for
`/static/<digest of all of them>/<name>`, which is kept for good; any other address of a file, such as the one in a
company's script tag or in a page that an older process made, gives it as it is now.
"""

import asyncio
import gzip
import hashlib
import mimetypes
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import brotli  # type: ignore[import-untyped]  # it ships no types
from asgiref.typing import (
    ASGIReceiveCallable,
    ASGISendCallable,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
)
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import StaticFilesStorage

FOR_GOOD: Final = b"public, max-age=31536000, immutable"
FOR_NOW: Final = b"public, max-age=60"

_DIGEST: Final = re.compile(r"^[0-9a-f]{12}/")
# Lines that stand for another file, by the way to it from this one, in a style sheet and in a script.
_IMPORT: Final = re.compile(rb'^(?:@import url\("|import ")([\w./-]+)(?:"\)|");$', re.MULTILINE)
# Comments, and what else is there for those who read the source: a style sheet's breaks, a script's indents. No text in
# quotes needs them: the only one of several lines is a style sheet itself.
_SPARE: Final = {
    ".css": re.compile(rb"/\*.*?\*/\s*|(?<=[{};,])\s+", re.DOTALL),
    ".js": re.compile(rb"^\s+(?://.*\n)?|^//.*\n", re.MULTILINE),
}
_PACKED_ALREADY: Final = (".woff2", ".png")


@dataclass(frozen=True)
class Asset:
    """A file's bytes and how they travel; packing waits until a browser asks."""

    name: str
    plain: bytes

    @cached_property
    def kind(self) -> bytes:
        """Its Content-Type."""
        kind = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        return f"{kind}; charset=utf-8".encode() if kind.startswith("text/") else kind.encode()

    @cached_property
    def etag(self) -> bytes:
        return f'W/"{hashlib.sha256(self.plain).hexdigest()[:12]}"'.encode()

    @cached_property
    def brotli(self) -> bytes:
        return bytes(brotli.compress(self.plain))

    @cached_property
    def gzip(self) -> bytes:
        return gzip.compress(self.plain, mtime=0)

    def packed(self, accepted: bytes) -> tuple[bytes, bytes]:
        """The body for an `Accept-Encoding`, and its `Content-Encoding`, which may be none."""
        if not self.name.endswith(_PACKED_ALREADY):
            codings = {part.strip() for part in accepted.split(b",")}
            if b"br" in codings:
                return self.brotli, b"br"
            if b"gzip" in codings:
                return self.gzip, b"gzip"
        return self.plain, b""


class Addresses(StaticFilesStorage):
    """What `static()` asks: the address of a file for a page that is made now."""

    def url(self, name: str | None) -> str:
        return f"{settings.STATIC_URL}{'' if settings.DEBUG else digest()}{name}"


async def serve(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer a request for a path below `STATIC_URL`."""
    name = scope["path"].removeprefix(settings.STATIC_URL)
    kept = not settings.DEBUG and name.startswith(digest())
    asset = _assets().get(_DIGEST.sub("", name))
    if asset is None or scope["method"] not in ("GET", "HEAD"):
        await _answer(send, 404 if asset is None else 405, {b"content-type": b"text/plain"}, b"")
        return
    asked = dict(scope["headers"])
    headers = {
        b"cache-control": FOR_GOOD if kept else FOR_NOW,
        b"etag": asset.etag,
        b"vary": b"Accept-Encoding",
        b"x-content-type-options": b"nosniff",
    }
    if asked.get(b"if-none-match") == asset.etag:
        await _answer(send, 304, headers, b"")
        return
    body, coding = await asyncio.to_thread(asset.packed, asked.get(b"accept-encoding", b""))
    headers |= {b"content-type": asset.kind, b"content-length": str(len(body)).encode()}
    if coding:
        headers[b"content-encoding"] = coding
    await _answer(send, 200, headers, b"" if scope["method"] == "HEAD" else body)


async def _answer(send: ASGISendCallable, status: int, headers: Mapping[bytes, bytes], body: bytes) -> None:
    await send(
        HTTPResponseStartEvent(type="http.response.start", status=status, headers=headers.items(), trailers=False)
    )
    await send(HTTPResponseBodyEvent(type="http.response.body", body=body, more_body=False))


@cache
def digest() -> str:
    """Of all files together, with a slash: style sheets name fonts beside them, so one change moves every address."""
    total = hashlib.sha256()
    for name, asset in sorted(_assets().items()):
        total.update(f"{name} {len(asset.plain)}\n".encode() + asset.plain)
    return total.hexdigest()[:12] + "/"


def _assets() -> Mapping[str, Asset]:
    return _read() if settings.DEBUG else _kept()


def _read() -> dict[str, Asset]:
    """Every file of every app by its name, such as `css/app.css`; of two with one name the finders' first."""
    files: dict[str, bytes] = {}
    for finder in get_finders():
        for name, storage in finder.list([]):
            if name not in files:
                with storage.open(name) as file:
                    files[name] = file.read()
    return {name: Asset(name, _whole(name, files)) for name in files}


_kept = cache(_read)


def _whole(name: str, files: Mapping[str, bytes]) -> bytes:
    """A file with those that it imports in their places, which are not fetched one by one then, and nothing spare."""
    folder, (_, ending) = posixpath.dirname(name), posixpath.splitext(name)
    if ending not in _SPARE:
        return files[name]
    whole = _IMPORT.sub(lambda found: files[posixpath.normpath(posixpath.join(folder, found[1].decode()))], files[name])
    return _SPARE[ending].sub(b"", whole)
