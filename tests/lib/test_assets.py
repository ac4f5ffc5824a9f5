"""Static files: whole and packed, kept for good at their own address, and never missing at another."""

import gzip

import brotli
import httpx
import pytest
from django.conf import settings
from django.templatetags.static import static

from median_site.asgi import application

SOURCE = settings.BASE_DIR / "static"
FOR_GOOD = "public, max-age=31536000, immutable"


async def ask(address: str, *, method: str = "GET", **headers: str) -> httpx.Response:
    """The answer with its body as it came: httpx unpacks only what it was told of."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://testserver") as client:
        client.headers.pop("accept-encoding")
        return await client.request(method, address, headers={name.replace("_", "-"): v for name, v in headers.items()})


async def test_a_pages_own_address_is_kept_for_good_and_packed() -> None:
    address = static("js/keys.js")
    plain = await ask(address)
    packed = [await ask(address, accept_encoding=coding) for coding in ("gzip, deflate", "gzip, br", "br;q=0")]

    assert plain.headers["Cache-Control"] == FOR_GOOD
    assert (plain.headers["Content-Type"], plain.headers["Vary"]) == (
        "text/javascript; charset=utf-8",
        "Accept-Encoding",
    )
    assert [answer.headers.get("Content-Encoding") for answer in packed] == ["gzip", "br", None]
    assert [answer.content for answer in packed] == [plain.content] * 3
    assert [int(answer.headers["Content-Length"]) for answer in packed] == [
        len(gzip.compress(plain.content, mtime=0)), len(brotli.compress(plain.content)), len(plain.content)
    ]  # fmt: skip


async def test_styles_and_scripts_come_in_one_piece() -> None:
    styles, scripts = (await ask(static("css/app.css"))).text, (await ask(static("js/app.js"))).text
    assert "@import" not in styles
    assert "/*" not in styles
    assert "import " not in scripts
    assert styles.index("@layer tokens,reset,base,layout,components;") < styles.index(".qrow")
    for name in ("js/page.js", "django_htmx/htmx-2.min.js"):
        assert (await ask(static(name))).text.strip() in scripts


@pytest.mark.parametrize("prefix", ["", "0123456789ab/"])
async def test_any_other_address_gives_the_file_for_a_minute(prefix: str) -> None:
    answer = await ask(f"/static/{prefix}icons/mark.svg")
    again = await ask(f"/static/{prefix}icons/mark.svg", if_none_match=answer.headers["ETag"])
    assert answer.content == (SOURCE / "icons" / "mark.svg").read_bytes()
    assert answer.headers["Cache-Control"] == again.headers["Cache-Control"] == "public, max-age=60"
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("method", "name", "status"),
    [
        ("GET", "css/none.css", 404),
        ("GET", "%2E%2E%2Fmanage.py", 404),
        ("POST", "js/app.js", 405),
        ("HEAD", "js/app.js", 200),
    ],
)
async def test_what_is_not_there_and_what_nobody_may(method: str, name: str, status: int) -> None:
    answer = await ask(f"/static/{name}", method=method)
    assert answer.status_code == status
    assert len(answer.content) < 10
