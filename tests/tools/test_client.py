"""The HTTP client against a server that says exactly what each test wants, over real sockets."""

import asyncio
import gzip
import ipaddress
import threading
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard

from tests.socket_server import Connection, Request, Responder, SocketServer, answer, says
from tools.client import Answer, Client, Failure, Limit, Outbound

HOME = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")]
BYTES = Limit(bytes=100_000)
CHARACTERS = Limit(characters=16_384)
OK = b'{"ok":true}'
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def ask(
    responder: Responder, *, limit: Limit = BYTES, deadline_s: float = 5, method: str = "POST"
) -> tuple[Answer | Failure, SocketServer]:
    """One call to a server that answers as given."""
    with SocketServer(responder) as server:
        async with Client(allowed_networks=HOME, deadline_s=deadline_s) as client:
            return await client.send(
                Outbound(method, server.url, {"X-Median-Call-Id": "call_1"}, b"{}"), limit=limit
            ), server


async def answered(*parts: bytes, limit: Limit = BYTES, close: bool = False) -> Answer:
    got, server = await ask(says(*parts, close=close), limit=limit)
    assert isinstance(got, Answer), got
    assert len(server.requests) == 1
    return got


async def failed(*parts: bytes, limit: Limit = BYTES, close: bool = False, deadline_s: float = 5) -> Failure:
    got, server = await ask(says(*parts, close=close), limit=limit, deadline_s=deadline_s)
    assert isinstance(got, Failure), got
    assert len(server.requests) == 1
    return got


# The request


async def test_the_request_arrives_as_given() -> None:
    got, server = await ask(says(answer(OK, "Content-Type: application/json", 'ETag: "1"', "Set-Cookie: a=b")))
    assert isinstance(got, Answer)
    assert (got.status, got.body, got.text, got.replaced, got.truncated) == (200, OK, '{"ok":true}', False, False)
    assert got.headers == {"content-type": "application/json", "etag": '"1"'}
    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("POST", "/tools", b"{}")
    assert request.headers == {
        "accept": "*/*",
        "user-agent": "Median",
        "x-median-call-id": "call_1",
        "host": f"127.0.0.1:{server.port}",
        "accept-encoding": "gzip, deflate, br, zstd",
        "content-length": "2",
    }


async def test_a_get_without_a_body_announces_none() -> None:
    with SocketServer(says(answer(OK))) as server:
        async with Client(allowed_networks=HOME) as client:
            await client.send(Outbound("GET", f"{server.url}/a%2Fb?q=x%20y", {}), limit=BYTES)
    assert server.requests[0].target == "/tools/a%2Fb?q=x%20y"
    assert "content-length" not in server.requests[0].headers


async def test_cookies_are_not_kept() -> None:
    with SocketServer(says(answer(OK, "Set-Cookie: session=1; Path=/"))) as server:
        async with Client(allowed_networks=HOME) as client:
            for _ in range(2):
                await client.send(Outbound("POST", server.url, {}), limit=BYTES)
    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


async def test_proxies_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "::1,[::1],fd07::/64")
    got = await answered(answer(OK))
    assert got.body == OK


# Connections


async def test_a_connection_is_reused() -> None:
    with SocketServer(says(answer(OK))) as server:
        async with Client(allowed_networks=HOME) as client:
            for _ in range(3):
                await client.send(Outbound("POST", server.url, {}), limit=BYTES)
    assert (len(server.requests), server.connections) == (3, 1)


async def test_a_connection_that_died_while_idle_is_opened_again() -> None:
    with SocketServer(says(answer(OK), close=True)) as server:
        async with Client(allowed_networks=HOME) as client:
            for _ in range(3):
                got = await client.send(Outbound("POST", server.url, {}), limit=BYTES)
                assert isinstance(got, Answer)
                await hung_up(client)
    assert (len(server.requests), server.connections) == (3, 3)


async def hung_up(client: Client) -> None:
    """Wait until the server's closing has reached the client's socket."""
    (origin,) = client._origins.values()
    while not all(connection.has_expired() or connection.is_closed() for connection in origin.pool.connections):
        await asyncio.sleep(0)


async def test_a_call_that_was_written_is_never_sent_again() -> None:
    def answers_once(connection: Connection, request: Request) -> None:
        if len(server.requests) == 1:
            connection.send(answer(OK))
        else:
            connection.close()

    with SocketServer(answers_once) as server:
        async with Client(allowed_networks=HOME) as client:
            first, second = [await client.send(Outbound("POST", server.url, {}), limit=BYTES) for _ in range(2)]
    assert isinstance(first, Answer)
    assert isinstance(second, Failure)
    assert (second.kind, second.sent) == ("broken_answer", True)
    assert (len(server.requests), server.connections) == (2, 1)


async def test_what_follows_an_answer_is_not_taken_for_the_next_one() -> None:
    with SocketServer(says(answer(OK), answer(b"not for you"))) as server:
        async with Client(allowed_networks=HOME) as client:
            got = [await client.send(Outbound("POST", server.url, {}), limit=BYTES) for _ in range(2)]
    assert [each.body for each in got if isinstance(each, Answer)] == [OK, OK]
    assert (len(server.requests), server.connections) == (2, 2)


async def test_connections_to_an_origin_that_is_called_no_more_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.client.IDLE_S", 0.0)
    hung_up = threading.Event()

    def tells_when_left(connection: Connection, request: Request) -> None:
        connection.send(answer(OK))
        connection.wait_for_hang_up()
        hung_up.set()

    with SocketServer(tells_when_left) as first, SocketServer(says(answer(OK))) as second:
        async with Client(allowed_networks=HOME) as client:
            for server in (first, second):
                await client.send(Outbound("POST", server.url, {}), limit=BYTES)
            assert await asyncio.to_thread(hung_up.wait, 5)


async def test_no_call_waits_for_another_one() -> None:
    everyone = threading.Barrier(80)  # more than fit into two pools

    def waits_for_all(connection: Connection, request: Request) -> None:
        everyone.wait(5)
        connection.send(answer(OK))

    with SocketServer(waits_for_all) as server:
        async with Client(allowed_networks=HOME) as client:
            calls = [client.send(Outbound("POST", server.url, {}), limit=BYTES) for _ in range(80)]
            got = await asyncio.gather(*calls)
    assert [each.body for each in got if isinstance(each, Answer)] == [OK] * 80


def test_a_client_goes_over_to_another_event_loop() -> None:
    client = Client(allowed_networks=HOME)

    async def once(url: str) -> Answer | Failure:
        got = await client.send(Outbound("POST", url, {}), limit=BYTES)
        await client.aclose()
        return got

    with SocketServer(says(answer(OK))) as server:
        got = [asyncio.run(once(server.url)) for _ in range(2)]
    assert [each.body for each in got if isinstance(each, Answer)] == [OK, OK]


async def test_nobody_listens() -> None:
    with SocketServer(says()) as server:
        url = server.url
    async with Client(allowed_networks=HOME) as client:
        got = await client.send(Outbound("POST", url, {}), limit=BYTES)
    assert isinstance(got, Failure)
    assert (got.kind, got.sent, got.status) == ("unreachable", False, None)


@pytest.mark.parametrize("url", ["http://[::", "http://", "ftp://127.0.0.1/", "nonsense"])
async def test_a_url_that_is_none(url: str) -> None:
    async with Client(allowed_networks=HOME) as client:
        got = await client.send(Outbound("POST", url, {}), limit=BYTES)
    assert isinstance(got, Failure)
    assert (got.kind, got.sent) == ("unreachable", False)


# The deadline


def drips_body(connection: Connection, request: Request) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while connection.pause(0.05) and connection.send(b"x"):
        pass


def drips_headers(connection: Connection, request: Request) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while connection.pause(0.05) and connection.send(b"x"):
        pass


def says_nothing(connection: Connection, request: Request) -> None:
    connection.wait_for_hang_up()


def says_hints_only(connection: Connection, request: Request) -> None:
    for _ in range(20):
        connection.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
    connection.wait_for_hang_up()


@pytest.mark.parametrize("responder", [drips_body, drips_headers, says_nothing, says_hints_only])
async def test_one_deadline_holds_for_everything(responder: Responder) -> None:
    got, server = await ask(responder, deadline_s=0.3)
    assert isinstance(got, Failure)
    assert (got.kind, got.sent, got.status) == ("timed_out", True, None)
    assert got.detail == "The request was sent; the action may have happened."
    assert 0.3 <= got.elapsed_s < 1.5
    assert len(server.requests) == 1


# Redirects, and headers that bend the rules


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308, 399])
@pytest.mark.parametrize(
    "location", ["Location: http://127.0.0.1/", "Location: /tools/", "Location: http://[", "X-None: 1"]
)
async def test_redirects_are_never_followed(status: int, location: str) -> None:
    got = await failed(answer(b"moved", location, status=f"{status} Moved"))
    assert (got.kind, got.status, got.sent) == ("redirected", status, True)


async def test_not_modified_is_an_answer() -> None:
    got = await answered(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")
    assert (got.status, got.text, got.headers) == (304, "", {"etag": "x"})


@pytest.mark.parametrize("first", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"])
async def test_what_is_said_before_the_answer_is_passed_over(first: bytes) -> None:
    assert (await answered(first, answer(OK))).body == OK


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 600 What\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 99 What\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"long" * 10_000 + b"\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nX-Big: " + b"x" * 300_000 + b"\r\n\r\n{}",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"",
    ],
)
async def test_answers_that_are_not_http(head: bytes) -> None:
    got = await failed(head, close=True)
    assert (got.kind, got.sent) == ("broken_answer", True)
    assert len(got.detail) <= 300


async def test_an_empty_header_is_allowed() -> None:
    assert (await answered(answer(OK, "Server: "))).body == OK


# Bodies


@pytest.mark.parametrize(
    "cut",
    [
        CHUNKED + b'10\r\n{"refunded":true',
        CHUNKED + b'10\r\n{"refunded":true\r\n',
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b'{"refunded":true}   ',
    ],
)
async def test_a_body_that_stops_half_way_is_no_answer(cut: bytes) -> None:
    got = await failed(cut, close=True)
    assert (got.kind, got.sent) == ("broken_answer", True)
    assert got.detail.startswith("The answer broke off")


async def test_rubbish_after_the_last_chunk_is_not_read() -> None:
    got = await answered(CHUNKED + b"2\r\n{}\r\n0\r\n\r\nrubbish", close=True)
    assert got.body == b"{}"


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    assert (await answered(b"HTTP/1.0 200 OK\r\n\r\n{}", close=True)).body == b"{}"


@pytest.mark.parametrize("head", [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
async def test_nothing_in_the_body(head: bytes) -> None:
    got = await answered(head)
    assert (got.body, got.text) == (b"", "")


def packed(body: bytes, encoding: str) -> bytes:
    bare = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    pack: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "bare deflate": lambda data: bare.compress(data) + bare.flush(),
        "br": brotli.compress,
        "zstd": zstandard.compress,
        "gzip, gzip": lambda data: gzip.compress(gzip.compress(data)),
        "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
        "identity": bytes,
    }
    return answer(pack[encoding](body), f"Content-Encoding: {encoding.removeprefix('bare ')}")


ENCODINGS = ["gzip", "deflate", "bare deflate", "br", "zstd", "gzip, gzip", "gzip, br", "identity"]


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_the_limit_in_bytes_counts_what_is_unpacked(encoding: str) -> None:
    fits = b"x" * 100_000
    assert (await answered(packed(fits, encoding))).body == fits
    got = await failed(packed(fits + b"x", encoding))
    assert (got.kind, got.status, got.sent) == ("too_big", 200, True)


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-32-be", "gb18030"])
async def test_the_limit_in_characters_counts_code_points(character: str, charset: str) -> None:
    head = f"Content-Type: text/plain; charset={charset}"
    fits = character * 16_384
    assert (await answered(answer(fits.encode(charset), head), limit=CHARACTERS)).text == fits
    got = await failed(answer((fits + "x").encode(charset), head), limit=CHARACTERS)
    assert (got.kind, got.status) == ("too_big", 200)


async def test_a_byte_order_mark_is_no_character() -> None:
    fits = "é" * 16_384
    assert (await answered(answer(b"\xef\xbb\xbf" + fits.encode()), limit=CHARACTERS)).text == fits


@pytest.mark.parametrize("encoding", ["compress", "gzip, compress", "gzip, gzip, gzip"])
async def test_other_encodings_are_refused(encoding: str) -> None:
    got = await failed(answer(OK, f"Content-Encoding: {encoding}"))
    assert (got.kind, got.sent) == ("bad_encoding", True)


@pytest.mark.parametrize(
    "body",
    [b"not packed at all", gzip.compress(b"x" * 1000)[:-9], gzip.compress(b"x") + b"more"],
    ids=["not packed", "cut", "more behind it"],
)
async def test_a_body_that_is_not_packed_as_it_says(body: bytes) -> None:
    assert (await failed(answer(body, "Content-Encoding: gzip"))).kind == "bad_encoding"


async def test_an_empty_body_packs_nothing() -> None:
    assert (await answered(answer(b"", "Content-Encoding: gzip"))).body == b""


async def test_an_error_status_is_known_however_its_body_ends() -> None:
    for body in (
        answer(b"x" * 100_001, status="500 No"),
        b"HTTP/1.1 500 No\r\nContent-Length: 500\r\n\r\nhalf",
        answer(b"rubbish", "Content-Encoding: gzip", status="500 No"),
    ):
        got = await answered(body, close=True)
        assert (got.status, got.truncated) == (500, True)
        assert len(got.body) <= 100_000


# Text


@pytest.mark.parametrize(
    ("content_type", "body", "text", "replaced"),
    [
        ("application/json", b'{"name":"Jos\xe9"}', '{"name":"Jos\ufffd"}', True),
        ("application/json; charset=iso-8859-1", b'{"name":"Jos\xe9"}', '{"name":"José"}', False),
        ("application/json; charset=utf-16", '{"name":"José"}'.encode("utf-16"), '{"name":"José"}', False),
        ("application/json; charset=nonsense", b"Jos\xc3\xa9", "José", False),
        ("application/json; charset='\"utf-8'", b"Jos\xc3\xa9", "José", False),
        ('text/plain; charset="ISO-8859-1"', b"\xe9", "é", False),
        ("text/plain; charset=zlib", b"plain", "plain", False),
        ("text/plain; charset=rot13", b"plain", "plain", False),
        ("text/plain; charset=idna", b"plain", "plain", False),
        ("text/plain; charset=unicode_escape", b"\\ud800", "\\ud800", False),
        ("text/plain; charset=undefined", b"plain", "plain", False),
        ("", b"\xef\xbb\xbf{}", "{}", False),
        ("", "{}".encode("utf-16"), "\ufffd\ufffd{\0}\0", True),
        ("", b"a\0b", "a\0b", False),
    ],
)
async def test_text_is_the_declared_charset_else_utf_8(
    content_type: str, body: bytes, text: str, replaced: bool
) -> None:
    got = await answered(answer(body, f"Content-Type: {content_type}"))
    assert (got.text, got.replaced, got.body) == (text, replaced, body)
