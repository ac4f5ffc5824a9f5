"""Which addresses may be reached: as they are written, as names resolve, and as the client dials them."""

import ipaddress
import socket
from collections.abc import Callable

import pytest

from median_site.lib.errors import DomainError
from tests.socket_server import SocketServer, answer, says
from tools import addresses
from tools.addresses import BlockedAddress
from tools.client import Answer, Client, Failure, Limit, Outbound

LOOPBACK = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")]
TEN = [ipaddress.ip_network("10.0.0.0/8")]
NOT_PUBLIC = "The address of this host is not public."

Names = Callable[..., list[str]]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """A resolver of our own: each call gives one host its addresses, and the hosts that were asked for."""
    table: dict[str, list[str]] = {}
    asked: list[str] = []
    real = socket.getaddrinfo

    def lookup(host: str, port: int, *args: int, **kwargs: int) -> list[tuple[object, ...]]:
        if host not in table:
            return real(host, port, *args, **kwargs)
        asked.append(host)
        if not table[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [row for address in table[host] for row in real(address, port, type=socket.SOCK_STREAM)]

    def names(host: str, *found: str) -> list[str]:
        table[host] = list(found)
        return asked

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return names


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "192.167.1.1", "198.20.0.1", "100.128.0.1",
     "2606:4700::1111", "2001:4860::8888", "2a00::1"],
)  # fmt: skip
def test_public_addresses(address: str) -> None:
    assert addresses.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    ["0.0.0.1", "10.0.0.5", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
     "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "203.0.113.10", "224.0.0.1", "240.0.0.1",
     "255.255.255.255", "168.63.129.16", "100.100.100.200",
     "::", "::1", "::7f00:1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
     "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "3fff::1", "fc00::1",
     "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "4000::1"],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not addresses.is_public(ipaddress.ip_address(address))


ODD_HOSTS = [
    "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1",
    "[::]", "0.0.0.0", "localhost", "10.0.0.5", "169.254.169.254", "[fe80::1]",  # noqa: S104  # nothing is bound
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ODD_HOSTS)
def test_an_endpoint_at_home_is_refused_when_it_is_saved(host: str, scheme: str) -> None:
    with pytest.raises(DomainError) as refused:
        addresses.check_url(f"{scheme}://{host}/tools", allowed_networks=[])
    assert refused.value.field == "url"
    assert refused.value.message in {NOT_PUBLIC, "This is not a URL that can be called."}


@pytest.mark.parametrize("host", ODD_HOSTS)
async def test_an_endpoint_at_home_is_refused_when_it_is_called(host: str) -> None:
    with SocketServer(says(answer(b"{}"))) as server:
        async with Client() as client:
            got = await client.send(Outbound("POST", f"http://{host}:{server.port}/", {}), limit=Limit(bytes=10))
    assert isinstance(got, Failure)
    assert got.kind in {"blocked_address", "unreachable"}
    assert not got.sent
    assert (server.connections, server.requests) == (0, [])


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_the_operator_may_allow_a_network(host: str) -> None:
    with SocketServer(says(answer(b"{}"))) as server:
        url = f"http://{host}:{server.port}/"
        assert addresses.check_url(url, allowed_networks=LOOPBACK) == url
        async with Client(allowed_networks=LOOPBACK) as client:
            got = await client.send(Outbound("POST", url, {}), limit=Limit(bytes=10))
    assert isinstance(got, Answer)
    assert len(server.requests) == 1


def test_a_name_is_judged_by_what_it_resolves_to(names: Names) -> None:
    names("shop.example", "10.0.0.5")
    with pytest.raises(BlockedAddress, match=NOT_PUBLIC):
        addresses.check_url("https://shop.example/tools", allowed_networks=[])
    assert addresses.check_url("https://shop.example/tools", allowed_networks=TEN) == "https://shop.example/tools"


@pytest.mark.parametrize("other", ["::1", "10.0.0.5", "::ffff:127.0.0.1"])
async def test_every_address_of_a_name_must_be_public(names: Names, other: str) -> None:
    names("both.example", "8.8.8.8", other)
    with pytest.raises(BlockedAddress):
        addresses.check_url("https://both.example/", allowed_networks=[])
    async with Client() as client:
        got = await client.send(Outbound("POST", "https://both.example/", {}), limit=Limit(bytes=10))
    assert isinstance(got, Failure)
    assert (got.kind, got.sent, got.detail) == ("blocked_address", False, NOT_PUBLIC)


async def test_the_checked_address_is_the_one_that_is_dialled(names: Names) -> None:
    asked = names("home.example", "127.0.0.1")
    with SocketServer(says(answer(b"{}"))) as server:
        async with Client(allowed_networks=LOOPBACK) as client:
            for _ in range(2):
                got = await client.send(
                    Outbound("POST", f"http://home.example:{server.port}/", {}), limit=Limit(bytes=10)
                )
                assert isinstance(got, Answer)
    assert asked == ["home.example"]
    assert [request.headers["host"] for request in server.requests] == [f"home.example:{server.port}"] * 2


async def test_the_next_address_is_tried(names: Names) -> None:
    names("two.example", "127.0.0.2", "127.0.0.1")
    with SocketServer(says(answer(b"{}"))) as server:
        async with Client(allowed_networks=LOOPBACK) as client:
            got = await client.send(Outbound("POST", f"http://two.example:{server.port}/", {}), limit=Limit(bytes=10))
    assert isinstance(got, Answer)
    assert len(server.requests) == 1


async def test_plain_http_reaches_allowed_networks_only(names: Names) -> None:
    names("plain.example", "8.8.8.8")
    with pytest.raises(DomainError, match="^The URL must start with https://.$"):
        addresses.check_url("http://plain.example/", allowed_networks=LOOPBACK)
    async with Client(allowed_networks=LOOPBACK) as client:
        got = await client.send(Outbound("POST", "http://plain.example/", {}), limit=Limit(bytes=10))
    assert isinstance(got, Failure)
    assert got.kind == "blocked_address"


async def test_a_name_that_does_not_resolve(names: Names) -> None:
    names("gone.example")
    assert addresses.check_url("https://gone.example/", allowed_networks=[]) == "https://gone.example/"
    with pytest.raises(DomainError, match="^The host of the URL could not be found.$"):
        addresses.check_url("http://gone.example/", allowed_networks=LOOPBACK)
    async with Client() as client:
        got = await client.send(Outbound("POST", "https://gone.example/", {}), limit=Limit(bytes=10))
    assert isinstance(got, Failure)
    assert (got.kind, got.sent) == ("unreachable", False)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "The URL must start with https://."),
        ("shop.example/tools", "The URL must start with https://."),
        ("ftp://shop.example/", "The URL must start with https://."),
        ("https://sam:secret@shop.example/", "The URL must not hold a user name or password."),
        ("https://shop.example/#tools", "The URL must not have a part after #."),
        ("https://shop.example/#", "The URL must not have a part after #."),
        ("https://", "This is not a URL that can be called."),
        ("https://shop example/", "This is not a URL that can be called."),
        ("https://shop.example:99999/", "This is not a URL that can be called."),
        ("https://shop.example:0/", "This is not a URL that can be called."),
        ("https://[fe80::1%25lo]/", "This is not a URL that can be called."),
        ("https://shop.example/" + "x" * 2_000, "This is not a URL that can be called."),
    ],
)
def test_urls_that_cannot_be_called(url: str, message: str) -> None:
    with pytest.raises(DomainError) as refused:
        addresses.check_url(url, allowed_networks=LOOPBACK)
    assert (refused.value.message, refused.value.field) == (message, "url")
