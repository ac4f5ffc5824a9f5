"""The HTTP client over TLS, speaking HTTP/2: whom it trusts, and what one bad answer does to the calls after it."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, WindowUpdated

from tests import certificates
from tools.client import Answer, Client, Failure, Limit, Outbound

HOME = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")]
LIMIT = Limit(bytes=100_000)
HUGE = 20_000_000  # more than the window of a connection, 16 MB


@dataclass
class Http2Server:
    """Answers each request with the bytes its path asks for; asked for less than none, it says first that it goes away.

    Asked for none, it goes away, saying it read nothing.
    """

    tls: ssl.SSLContext
    requests: list[str] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    _handlers: list[asyncio.Task[None]] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Http2Server"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self
            await asyncio.gather(*self._handlers)

    def url(self, size: int, *, host: str = "localhost") -> str:
        return f"https://{host}:{self.port}/{size}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._handlers.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        http2 = H2Connection(H2Configuration(client_side=False))
        http2.initiate_connection()
        sizes: dict[int, int] = {}
        owed: dict[int, int] = {}
        writer.write(http2.data_to_send())
        while data := await _or_nothing(reader):
            for event in http2.receive_data(data):
                if isinstance(event, RequestReceived):
                    self.requests.append(dict(event.headers)[b":path"].decode())
                    sizes[event.stream_id] = int(self.requests[-1][1:])
                elif isinstance(event, DataReceived):
                    http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded) and not sizes[event.stream_id]:
                    http2.close_connection(last_stream_id=event.stream_id - 2)
                elif isinstance(event, StreamEnded):
                    if sizes[event.stream_id] < 0:
                        writer.write(_goaway(event.stream_id))  # after which the library would write nothing
                    http2.send_headers(event.stream_id, [(":status", "200")])
                    owed[event.stream_id] = abs(sizes[event.stream_id])
                if isinstance(event, StreamEnded | WindowUpdated):
                    _pour(http2, owed)
            writer.write(http2.data_to_send())
            if http2.state_machine.state == ConnectionState.CLOSED:
                break
        writer.close()


async def _or_nothing(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(65_536)
    except OSError:
        return b""


def _goaway(last_stream: int) -> bytes:
    return b"".join(number.to_bytes(size) for number, size in ((8, 3), (7, 1), (0, 5), (last_stream, 4), (0, 4)))


def _pour(http2: H2Connection, owed: dict[int, int]) -> None:
    """Send what the windows allow of everything that is owed."""
    for stream, left in list(owed.items()):
        while left and (room := min(left, http2.local_flow_control_window(stream), http2.max_outbound_frame_size)):
            http2.send_data(stream, b"x" * room)
            left -= room
        owed[stream] = left
        if not left:
            http2.end_stream(stream)
            del owed[stream]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.localhost(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def server(certificate: Path) -> AsyncIterator[Http2Server]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    tls.set_alpn_protocols(["h2"])
    async with Http2Server(tls).running() as running:
        yield running


def client_of(certificate: Path | None, *, deadline_s: float = 5) -> Client:
    trust = ssl.create_default_context(cafile=certificate) if certificate else None
    return Client(allowed_networks=HOME, deadline_s=deadline_s, ssl_context=trust)


async def test_calls_share_one_connection(certificate: Path, server: Http2Server) -> None:
    async with client_of(certificate) as client:
        first = await client.send(Outbound("POST", server.url(10), {}, b"{}"), limit=LIMIT)
        calls = [client.send(Outbound("POST", server.url(100_000), {}, b"{}"), limit=LIMIT) for _ in range(8)]
        got = [first, *await asyncio.gather(*calls)]
    assert [len(each.body) for each in got if isinstance(each, Answer)] == [10, *[100_000] * 8]
    assert (len(server.requests), server.connections) == (9, 1)


async def test_an_answer_left_unread_does_not_starve_the_next_calls(certificate: Path, server: Http2Server) -> None:
    async with client_of(certificate) as client:
        for _ in range(2):
            big = await client.send(Outbound("POST", server.url(HUGE), {}, b"{}"), limit=LIMIT)
            assert isinstance(big, Failure)
            assert (big.kind, big.status) == ("too_big", 200)
        small = await client.send(Outbound("POST", server.url(100_000), {}, b"{}"), limit=LIMIT)
    assert isinstance(small, Answer)
    assert (len(server.requests), server.connections) == (3, 3)


async def test_a_call_the_server_says_it_did_not_read_is_not_sent_again(certificate: Path, server: Http2Server) -> None:
    async with client_of(certificate) as client:
        for size in (1, 0):
            got = await client.send(Outbound("POST", server.url(size), {}, b"{}"), limit=LIMIT)
    assert isinstance(got, Failure)
    assert (got.kind, got.sent) == ("broken_answer", True)
    assert server.requests == ["/1", "/0"]


async def test_a_server_that_goes_away_still_answers_what_it_took(certificate: Path, server: Http2Server) -> None:
    async with client_of(certificate) as client:
        got = [
            await client.send(Outbound("POST", server.url(size), {}, b"{}"), limit=LIMIT) for size in (1, -90_000, 2)
        ]
    assert [len(each.body) for each in got if isinstance(each, Answer)] == [1, 90_000, 2]
    assert (server.requests, server.connections) == (["/1", "/-90000", "/2"], 2)


async def test_the_certificate_must_be_trusted_and_name_the_host(certificate: Path, server: Http2Server) -> None:
    for trusted, host in ((None, "localhost"), (certificate, "127.0.0.1")):
        async with client_of(trusted) as client:
            got = await client.send(Outbound("POST", server.url(1, host=host), {}, b"{}"), limit=LIMIT)
        assert isinstance(got, Failure)
        assert (got.kind, got.sent) == ("unreachable", False)
        assert "certificate verify failed" in got.detail
    assert server.requests == []


async def test_a_certificate_without_alternative_names_is_for_nobody(tmp_path: Path) -> None:
    bare = certificates.localhost(tmp_path, named=False)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(bare)
    async with Http2Server(tls).running() as server, client_of(bare) as client:
        got = await client.send(Outbound("POST", server.url(1), {}, b"{}"), limit=LIMIT)
    assert isinstance(got, Failure)
    assert (got.kind, server.requests) == ("unreachable", [])


async def test_a_server_that_hangs_up_at_once() -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client_of(None) as client:
            got = await client.send(Outbound("POST", f"https://127.0.0.1:{port}/", {}, b"{}"), limit=LIMIT)
    assert isinstance(got, Failure)
    assert (got.kind, got.detail, got.sent) == ("unreachable", "The connection was closed.", False)
