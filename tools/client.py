"""All outbound tool traffic: one request, one answer or failure, in one deadline. Nothing is followed or sent twice.

httpcore, the engine under httpx, is used bare: it has no cookies, redirects, netrc or proxies that would need switching
off, and takes our network backend by argument.
"""

import asyncio
import itertools
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal, Self

import httpcore
import httpx

from median_site.lib.env import Network
from median_site.lib.text import excerpt
from tools import unpacking
from tools.addresses import BlockedAddress
from tools.bodies import Body, Limit
from tools.origins import CONNECTIONS, IDLE_S, Key, Origin
from tools.unpacking import TooMuch, UnpackingError

__all__ = ["Answer", "Client", "Failure", "Limit", "Outbound"]

DEADLINE_S: Final = 10.0
MAX_DETAIL: Final = 300  # characters; what the server sent may stand in it
NOTHING_SENT: Final = "Nothing was sent."
_RATE: Final = ("x-ratelimit-remaining", "x-ratelimit-reset-after")
KEPT_HEADERS: Final = {"content-type", "etag", "retry-after", "mcp-session-id", *_RATE}

_BROKEN: Final = (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError)

IsWhole = Callable[[str, bytes], bool]

FailureKind = Literal[
    "blocked_address", "unreachable", "timed_out", "redirected", "too_big", "broken_answer", "bad_encoding"
]


@dataclass(frozen=True, slots=True)
class Outbound:
    """One request. `headers` need no Host, Content-Length or Accept-Encoding."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer, whatever its status; only that of an error status may be cut short.

    `headers` has those of KEPT_HEADERS, in lower case. `text` is the body in the charset it declares, else
    UTF-8, without a byte order mark; `replaced` says that bytes in it did not fit and stand as U+FFFD.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    text: str
    replaced: bool
    truncated: bool
    elapsed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No answer that can be used. `sent` says whether any of the request may have reached the server."""

    kind: FailureKind
    status: int | None
    detail: str
    sent: bool
    elapsed_s: float


class Client:
    """Sends requests, one client for each process and event loop. Connections are kept for each origin apart."""

    def __init__(
        self,
        *,
        allowed_networks: Iterable[Network] = (),
        deadline_s: float = DEADLINE_S,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """`allowed_networks` may be reached though they are not public. `deadline_s` is for a whole call."""
        self._allowed = list(allowed_networks)
        self._deadline_s = deadline_s
        self._ssl = ssl_context or httpx.create_ssl_context(trust_env=False)
        self._ssl.hostname_checks_common_name = False  # what names its host there alone no browser takes either
        self._loop: asyncio.AbstractEventLoop | None = None
        self._origins: dict[Key, Origin] = {}  # the longest unused first

    async def send(
        self, request: Outbound, *, limit: Limit, within_s: float = DEADLINE_S, is_whole: IsWhole | None = None
    ) -> Answer | Failure:
        """Send it, at most once, and read what comes back up to the limit. Nothing the server does raises.

        `within_s` shortens the deadline, for one of several requests that share one. `is_whole` is given
        the content type and each unpacked piece of a success, and says when nothing more of it is awaited.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._origins = loop, {}  # what belonged to another loop cannot be closed from here
        call = _Call(request, limit, began=loop.time(), is_whole=is_whole)
        try:
            async with asyncio.timeout(min(self._deadline_s, within_s)):
                return await self._exchange(call)
        except TimeoutError:
            detail = "The request was sent; the action may have happened." if call.sent else NOTHING_SENT
            return call.failure("timed_out", detail)
        except BlockedAddress as error:
            return call.failure("blocked_address", error.message)
        except UnpackingError as error:
            return call.failure("bad_encoding", str(error))
        except _BROKEN as error:
            said = str(error) or "The connection was closed."
            if call.sent:
                return call.failure("broken_answer", excerpt(f"The answer broke off: {said}", MAX_DETAIL))
            return call.failure("unreachable", excerpt(said, MAX_DETAIL))

    async def aclose(self) -> None:
        """Close every connection. The client may be used again."""
        origins, self._origins = self._origins, {}
        for origin in origins.values():
            await origin.pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _exchange(self, call: "_Call") -> Answer | Failure:
        try:
            url = httpx.URL(call.request.url)
        except httpx.InvalidURL as error:
            return call.failure("unreachable", f"The URL cannot be used: {error}")
        if url.scheme not in {"http", "https"}:
            return call.failure("unreachable", "The URL is neither http nor https.")
        origin = await self._origin(url)
        origin.calls += 1
        complete = False
        try:
            response = await origin.respond(call.on_wire(url))
            try:
                answer = await call.read(response)
            finally:
                await response.aclose()
            complete = isinstance(answer, Answer) and call.ended
            return answer
        finally:
            origin.calls -= 1
            if call.is_http2 and not complete:
                # What an HTTP/2 server still sends for a call that is over uses up the window of the others.
                self._retire(origin)
            if origin.calls == 0 and self._origins.get(origin.key) is not origin:
                await origin.pool.aclose()
            await origin.drop_leftovers()

    async def _origin(self, url: httpx.URL) -> Origin:
        now = asyncio.get_running_loop().time()
        for old in list(self._origins.values()):
            if now - old.used_at < IDLE_S:
                break
            if not old.calls:
                self._origins.pop(old.key, None)
                await old.pool.aclose()
        keys = ((url.raw_scheme, url.raw_host, url.port, number) for number in itertools.count())
        key = next(key for key in keys if key not in self._origins or self._origins[key].calls < CONNECTIONS)
        origin = self._origins.pop(key, None) or Origin(key, self._ssl, self._allowed, retire=self._retire)
        origin.used_at = now
        self._origins[key] = origin
        return origin

    def _retire(self, origin: Origin) -> None:
        """No new call uses it; it is closed with its last one."""
        if self._origins.get(origin.key) is origin:
            del self._origins[origin.key]


class _Call:
    """One request on its way."""

    def __init__(self, request: Outbound, limit: Limit, *, began: float, is_whole: IsWhole | None) -> None:
        self.request = request
        self.sent = False
        self.is_http2 = False
        self.ended = False
        self._is_whole = is_whole
        self._limit = limit
        self._began = began

    def on_wire(self, url: httpx.URL) -> httpcore.Request:
        body = self.request.body
        headers = {name.lower(): value for name, value in self.request.headers.items()}
        headers = {"accept": "*/*", "user-agent": "Median"} | headers
        headers |= {"host": url.netloc.decode(), "accept-encoding": unpacking.ACCEPTED}
        if body or self.request.method in {"POST", "PUT", "PATCH"}:
            headers["content-length"] = str(len(body))
        return httpcore.Request(
            self.request.method,
            httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=list(headers.items()),
            content=body,
            extensions={"trace": self._trace},
        )

    async def read(self, response: httpcore.Response) -> Answer | Failure:
        """The answer, read to its end or to the limit."""
        status = response.status
        if 300 <= status < 400 and status != 304:
            return self.failure("redirected", f"It answered {status}.", status=status)
        if not 200 <= status < 600:
            return self.failure("broken_answer", f"It answered with status {status}, which is none.", status=status)
        headers = _joined(response.headers)
        body, truncated = Body(headers, limit=self._limit), False
        try:
            async for data in response.aiter_stream():
                body.feed(data)
                if self._is_whole and status < 300 and self._is_whole(headers.get("content-type", ""), body.take()):
                    break
            else:
                body.finish()
                self.ended = True
        except TooMuch:
            if status < 300:
                return self.failure("too_big", "More came than is read.", status=status)
            truncated = True
        except (UnpackingError, *_BROKEN):
            if status < 300:
                raise
            truncated = True
        text, replaced = body.text()
        return Answer(
            status=status,
            headers={name: value for name, value in headers.items() if name in KEPT_HEADERS},
            body=body.held,
            text=text,
            replaced=replaced,
            truncated=truncated,
            elapsed_s=self._elapsed(),
        )

    def failure(self, kind: FailureKind, detail: str, *, status: int | None = None) -> Failure:
        return Failure(kind=kind, status=status, detail=detail, sent=self.sent, elapsed_s=self._elapsed())

    def _elapsed(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    async def _trace(self, event: str, info: Mapping[str, object]) -> None:
        """httpcore tells what it does. It would send again what an HTTP/2 server says it did not read; we never do."""
        if event.endswith(".send_request_headers.started"):
            if self.sent:
                raise httpcore.RemoteProtocolError("The server refused the request after it was sent.")
            self.sent = True
            self.is_http2 = event.startswith("http2.")


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case; of one that came more than once, the values between commas."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
