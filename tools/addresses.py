"""Which addresses outbound tool traffic may reach: all of a name's are checked, and the checked one is dialled."""

import asyncio
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final

import httpcore
import httpx

from median_site.lib.env import Network
from median_site.lib.errors import DomainError
from tools.goaway import SparingStream

Address = IPv4Address | IPv6Address

MAX_LENGTH: Final = 2_000
LOOKUP_S: Final = 5  # for a form that waits
NEXT_ADDRESS_S: Final = 3  # until the next address of a name is tried

# IANA's special-purpose registries, whatever this Python knows of them. The last one is Azure's wire server.
_NOT_PUBLIC_4: Final = [
    ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
    )
]  # fmt: skip
# Global unicast is 2000::/3. Outside it are loopback, link-local, multicast, NAT64 and the IPv4 forms; within it these:
# Teredo and its like, documentation, 6to4.
_GLOBAL_6: Final = ip_network("2000::/3")
_NOT_PUBLIC_6: Final = [ip_network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]

_HOST: Final = re.compile(rb"[A-Za-z0-9._:-]+")

# Not the event loop's own threads: names that take for ever to resolve must hold up nothing else.
_resolvers: Final = ThreadPoolExecutor(32, thread_name_prefix="resolve")


class BlockedAddress(DomainError):
    """A host with an address that outbound traffic may not reach."""

    code = "blocked_address"
    message = "The address of this host is not public."
    status = 422


class BadUrl(DomainError):
    """A URL that calls cannot go to."""

    code = "bad_url"
    status = 422


def is_public(address: Address) -> bool:
    """Whether the address is one of the public internet. IPv4 in IPv6 clothes never is."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    return address in _GLOBAL_6 and not any(address in network for network in _NOT_PUBLIC_6)


async def resolve(
    host: str, port: int, *, allowed_networks: Iterable[Network], private_only: bool = False
) -> list[Address]:
    """The addresses of a host, asked once; with `private_only` none may be outside the allowed networks.

    Raises BlockedAddress unless every one may be reached, OSError when the name cannot be resolved.
    """
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(_resolvers, _lookup, host, port)
    return _checked(found, allowed_networks=list(allowed_networks), private_only=private_only)


def look_up(host: str, port: int, *, allowed_networks: Iterable[Network], private_only: bool = False) -> list[Address]:
    """The same for code that waits, at most 5 s; a TimeoutError is an OSError."""
    found = _resolvers.submit(_lookup, host, port).result(LOOKUP_S)
    return _checked(found, allowed_networks=list(allowed_networks), private_only=private_only)


def check_url(url: str, *, allowed_networks: Iterable[Network]) -> str:
    """The URL as it is stored. Raises BadUrl or BlockedAddress with field "url".

    Asks for the host's addresses, at most 5 s. An https host that cannot be resolved now passes: the sync will say so.
    """
    parsed = _parsed(url.strip())
    is_plain = parsed.scheme == "http"
    try:
        found = _resolvers.submit(_lookup, parsed.raw_host.decode(), parsed.port or 443).result(LOOKUP_S)
    except OSError:  # TimeoutError is one
        if is_plain:
            raise BadUrl("The host of the URL could not be found.", field="url") from None
        return str(parsed)
    if is_plain and all(map(is_public, found)):
        raise BadUrl("The URL must start with https://.", field="url")
    _checked(found, allowed_networks=list(allowed_networks), private_only=is_plain)
    return str(parsed)


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a host itself and dials only addresses that were checked. TLS still checks the host's name."""

    def __init__(self, *, allowed_networks: Sequence[Network], private_only: bool, leaves: Callable[[], None]) -> None:
        """`leaves` is called when a server begins to close a connection that still has calls of ours."""
        self._allowed = allowed_networks
        self._leaves = leaves
        self._private_only = private_only
        self._dialler = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            found = await resolve(host, port, allowed_networks=self._allowed, private_only=self._private_only)
        except OSError as error:
            raise httpcore.ConnectError("The host could not be found.") from error
        stream = await self._dial(list(map(str, found)), port, timeout, local_address, socket_options)
        return SparingStream(stream, leaves=self._leaves)

    async def sleep(self, seconds: float) -> None:
        await self._dialler.sleep(seconds)

    async def _dial(self, found: Sequence[str], port: int, *how: Any) -> httpcore.AsyncNetworkStream:
        for address in found[:-1]:
            try:
                async with asyncio.timeout(NEXT_ADDRESS_S):
                    return await self._dialler.connect_tcp(address, port, *how)
            except (httpcore.ConnectError, TimeoutError):
                continue
        return await self._dialler.connect_tcp(found[-1], port, *how)


def _lookup(host: str, port: int) -> list[Address]:
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that is too long
        raise OSError("The host could not be found.") from error
    return [ip_address(row[4][0]) for row in rows]


def _checked(found: list[Address], *, allowed_networks: Sequence[Network], private_only: bool) -> list[Address]:
    for address in found:
        plain = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
        allowed = any(plain in network for network in allowed_networks)
        if not allowed and (private_only or not is_public(address)):
            raise BlockedAddress(field="url")
    return found


def _parsed(url: str) -> httpx.URL:
    """A URL with a host that can be looked up, and with nothing in it that would not be sent."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        raise BadUrl("This is not a URL that can be called.", field="url") from None
    if parsed.scheme not in {"https", "http"}:
        raise BadUrl("The URL must start with https://.", field="url")
    port = 443 if parsed.port is None else parsed.port
    if not _HOST.fullmatch(parsed.raw_host) or not 0 < port < 65_536 or len(url) > MAX_LENGTH:
        raise BadUrl("This is not a URL that can be called.", field="url")
    if parsed.userinfo:
        raise BadUrl("The URL must not hold a user name or password.", field="url")
    if "#" in url:
        raise BadUrl("The URL must not have a part after #.", field="url")
    return parsed
