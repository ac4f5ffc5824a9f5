"""Origins, the sites that may show a workspace's chat: what people type, and how a browser's policy has it. Pure."""

import re
from typing import Final
from urllib.parse import urlsplit

from median_site.lib import text
from median_site.lib.errors import Unusable

MOST: Final = 50
_LABEL: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*")


def listed(typed: str) -> list[str]:
    """The origins of a text with one a line, as browsers write them, each once. Raises Unusable naming the line."""
    found: dict[str, None] = {}
    for number, line in enumerate(text.clean(typed)[0].splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found[_origin(line.strip())] = None
        except ValueError as error:
            shown = line.strip()[:80]
            raise Unusable(f"Line {number}, “{shown}”: {error}", field="origins") from None
    if len(found) > MOST:
        raise Unusable(f"{MOST} origins are the most. *.shop.example stands for all its subdomains.", field="origins")
    return list(found)


def ancestors(stored: str) -> str:
    """The same as `frame-ancestors` of a Content-Security-Policy has them. What is no origin is left out."""
    valid = []
    for line in stored.splitlines():
        try:
            valid.append(_origin(line.strip()))
        except ValueError:
            continue
    return " ".join(valid) or "'none'"


def _origin(line: str) -> str:
    """One origin: a scheme, a host (whose first label may be a star) and a port. Raises ValueError with a sentence."""
    scheme, separator, rest = line.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in {"https", "http"}:
        raise ValueError("An origin starts with https://.")
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port
    except ValueError:
        raise ValueError("That is not an address.") from None
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"Only the origin, without what follows it: {scheme}://{parts.netloc.lower()}.")
    host = _host(parts.hostname or "", is_whole="@" not in parts.netloc)
    default = {"https": 443, "http": 80}[scheme]
    return f"{scheme}://{host}" + (f":{port}" if port and port != default else "")


def _host(written: str, *, is_whole: bool) -> str:
    star, name = ("*.", written[2:]) if written.startswith("*.") else ("", written)
    if star and "." not in name:
        raise ValueError("A star stands for the subdomains of one domain, as in https://*.shop.example.")
    try:
        host = name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        host = ""
    if not is_whole or len(host) > 253 or not _HOST.fullmatch(host):
        raise ValueError("That is not the name of a host.")
    return star + host
