"""/mcp: what every MCP request passes before the protocol is spoken: where it is from, its key, and the rate limit.

The protocol's package takes a second to import, so it is loaded with the first request that has a key.
"""

import importlib
from dataclasses import dataclass
from typing import Final

from asgiref.typing import (
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPResponseBodyEvent,
    HTTPResponseStartEvent,
    HTTPScope,
)
from django.conf import settings
from django.http import JsonResponse
from django.http.request import split_domain_port, validate_host

from median_site.lib import strict_json
from median_site.lib.db import in_thread
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json, JsonError
from team import api_limits
from team.api_limits import Allowance, RateLimited
from team.models import ApiKey

PATH: Final = "/mcp"
BODY_LIMIT: Final = 1_000_000
# JSON-RPC's codes.
INVALID_REQUEST: Final = -32600
PARSE_ERROR: Final = -32700


@dataclass(frozen=True, slots=True)
class Entered:
    """What a request that may go on came with: its key, and its message as it is read everywhere here."""

    key: ApiKey
    message: Json


async def serve(scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answer one request. Nothing is kept between two of them, so any web process may answer the next."""
    try:
        _check_where_from(scope)
        # A request counts as one read; a function that changes something counts its write itself.
        key, allowance = await in_thread(api_limits.admit, _header(scope, b"authorization"), writes=False)
    except DomainError as error:
        await _refuse(error, send)
        return
    send = _telling(allowance, send)
    try:
        if allowance.is_used_up:
            raise RateLimited
        body = await _body(receive)
        message = strict_json.loads_unique(body)
    except DomainError as error:
        await _refuse(error, send)
    except JsonError as error:
        await _refuse(DomainError(f"The body is not JSON: {error}", code="not_json", status=400), send, PARSE_ERROR)
    else:
        server = await in_thread(importlib.import_module, "median_site.mcp.server")
        scope["state"] = {"entered": Entered(key, message)}
        await server.answer(scope, _replay(body, receive), send)


def _check_where_from(scope: HTTPScope) -> None:
    """Refuses methods that nothing answers, and pages of other origins, which may have rebound a name."""
    if scope["method"] != "POST":
        raise DomainError("Send a POST: no stream is kept open here.", code="method_not_allowed", status=405)
    if not validate_host(split_domain_port(_header(scope, b"host"))[0], settings.ALLOWED_HOSTS):
        raise DomainError("This installation has another name.", code="wrong_host", status=421)
    if _header(scope, b"origin") not in {"", settings.MEDIAN_URL}:
        raise DomainError("A page of another origin may not ask here.", code="wrong_origin", status=403)


def _header(scope: HTTPScope, wanted: bytes) -> str:
    return next((value for name, value in scope["headers"] if name == wanted), b"").decode("latin-1")


async def _body(receive: ASGIReceiveCallable) -> bytes:
    held = bytearray()
    more = True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            break  # whoever asked has gone
        held += event["body"]
        more = event["more_body"]
        if len(held) > BODY_LIMIT:
            raise DomainError("The body is larger than is read here.", code="too_large", status=413)
    return bytes(held)


def _replay(body: bytes, receive: ASGIReceiveCallable) -> ASGIReceiveCallable:
    events: list[ASGIReceiveEvent] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> ASGIReceiveEvent:
        return events.pop() if events else await receive()

    return again


def _telling(allowance: Allowance, send: ASGISendCallable) -> ASGISendCallable:
    """`send`, with the rate limit's headers on the answer."""
    told = [(name.encode(), value.encode()) for name, value in allowance.headers().items()]

    async def telling(event: ASGISendEvent) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event["headers"], *told]}
        await send(event)

    return telling


async def _refuse(error: DomainError, send: ASGISendCallable, code: int = INVALID_REQUEST) -> None:
    """The sentence where clients of the protocol look for one, and the error as REST gives it."""
    fault = {"code": code, "message": error.message, "data": error.as_json()["error"]}
    response = JsonResponse({"jsonrpc": "2.0", "id": None, "error": fault})
    headers = [(name.encode(), value.encode()) for name, value in response.items()]
    headers += {401: [(b"WWW-Authenticate", b"Bearer")], 405: [(b"Allow", b"POST")]}.get(error.status, [])
    start: HTTPResponseStartEvent = {
        "type": "http.response.start", "status": error.status, "headers": headers, "trailers": False,
    }  # fmt: skip
    end: HTTPResponseBodyEvent = {"type": "http.response.body", "body": response.content, "more_body": False}
    await send(start)
    await send(end)
