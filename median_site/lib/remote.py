"""From which address a request comes, when proxies stand in between."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def address(request: HttpRequest) -> str:
    """The nearest address that is no proxy of ours; empty when there is none, as on a Unix socket.

    Everybody may write an X-Forwarded-For, so it is read from its end, and only as far as MEDIAN_TRUSTED_PROXIES go.
    """
    found = _read(request.META.get("REMOTE_ADDR") or "")
    for hop in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
        if found is None or not _is_ours(found):
            break
        found = _read(hop) or found
    return str(found or "")


def network(request: HttpRequest) -> str:
    """The same for counting: of an IPv6 address the /64, which one customer of a provider has as a whole."""
    found = _read(address(request))
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found or "")


def _read(written: str) -> Address | None:
    try:
        found = ipaddress.ip_address(written.strip().strip("[]"))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _is_ours(found: Address) -> bool:
    return any(found in each for each in settings.MEDIAN_TRUSTED_PROXIES)
