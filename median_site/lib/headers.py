"""The security headers of every answer. A view may loosen one by setting it itself; the middleware never overwrites."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_only_middleware

POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}


def policy(**changes: str) -> str:
    """The Content-Security-Policy with some directives replaced, written with underscores: `frame_ancestors="…"`."""
    directives = POLICY | {name.replace("_", "-"): value for name, value in changes.items()}
    return "; ".join(f"{name} {value}" for name, value in directives.items())


@sync_only_middleware
def security_headers(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        headers = response.headers
        headers.setdefault("Content-Security-Policy", policy())
        headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        if "frame-ancestors 'none'" in headers["Content-Security-Policy"]:
            headers.setdefault("X-Frame-Options", "DENY")
        # Pages hold customers' data: nothing of them stays on a shared computer, and a fragment never stands in for
        # a page.
        headers.setdefault("Cache-Control", "no-store")
        if "no-store" in headers["Cache-Control"]:
            patch_vary_headers(response, ["HX-Request", "Cookie"])
        return response

    return middleware
