"""The WSGI mount: reads a request off the environ, bounded, and writes the answer."""

from collections.abc import Callable, Iterable
from http.client import responses
from typing import Any, TypeAlias

from median_tools.admission import MAX_BODY, Request, too_large
from median_tools.answers import Answer
from median_tools.headers import Headers

Environ: TypeAlias = dict[str, Any]  # WSGI's own untyped dictionary
StartResponse: TypeAlias = Callable[[str, list[tuple[str, str]]], object]
App: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]


def serve(answer: Callable[[Request], Answer], environ: Environ, start_response: StartResponse) -> list[bytes]:
    """Handles one WSGI request."""
    method = environ["REQUEST_METHOD"]
    body = _body(environ)
    request = Request(method, _headers(environ), body)
    answered = too_large().answer() if len(body) > MAX_BODY else answer(request)
    start_response(f"{answered.status} {responses.get(answered.status, 'Error')}", list(answered.wire_headers))
    return [] if method == "HEAD" else [answered.body]


def _body(environ: Environ) -> bytes:
    """The whole body, or one byte more than is allowed."""
    declared = environ.get("CONTENT_LENGTH") or ""
    if declared.isdecimal():
        body: bytes = environ["wsgi.input"].read(min(int(declared), MAX_BODY + 1))
        return body
    # Without a length a body is only there when the server ends the stream itself (chunked requests).
    return environ["wsgi.input"].read(MAX_BODY + 1) if environ.get("wsgi.input_terminated") else b""


def _headers(environ: Environ) -> Headers:
    return tuple(
        (name.removeprefix("HTTP_").replace("_", "-").lower(), value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    )
