"""Errors that people read: a DomainError owns its code, its sentence and its HTTP status; one middleware turns it into
a toast (htmx), JSON (API, widget) or a page. Views have no try."""

import json
from typing import Final, TypeVar

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from median_site.lib.strict_json import Json

T = TypeVar("T")
HTML_SWAP_NONE: Final = {"HX-Reswap": "none"}


class DomainError(Exception):
    """Something a person or a program asked for and cannot have. `field` names the input at fault, if one is.

    `retry_after`: in so many seconds it can be had, for the header of that name.
    """

    code: str = "refused"
    message: str = "That is not possible."
    status: int = 409

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        status: int | None = None,
        field: str | None = None,
        retry_after: int = 0,
    ) -> None:
        self.message = message or type(self).message
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.field = field
        self.retry_after = retry_after
        super().__init__(self.message)

    def as_json(self) -> dict[str, Json]:
        return {"error": {"code": self.code, "message": self.message, "field": self.field}}


class NotFound(DomainError):
    """Absent and forbidden look alike."""

    code = "not_found"
    message = "Nothing is here, or it is not yours to see."
    status = 404


def existing(found: T | None) -> T:
    """What was looked for. Raises NotFound where there is none."""
    if found is None:
        raise NotFound
    return found


class Unusable(DomainError):
    """Something typed that cannot be kept; `field` says what."""

    code = "invalid"
    status = 400


class DomainErrorMiddleware(MiddlewareMixin):
    """Answers a DomainError in the form the asker reads.

    Sync only and innermost on purpose: it keeps the whole chain and the view in one thread, one hop from the loop.
    """

    async_capable = False

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        """No id holds a NUL, and PostgreSQL would not even compare one that does."""
        return answer(request, NotFound()) if "\0" in request.path_info else None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return answer(request, error) if isinstance(error, DomainError) else None


def answer(request: HttpRequest, error: DomainError) -> HttpResponse:
    """One shape for every surface; see DomainError.as_json for programs."""
    response = _shaped(request, error)
    if error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _shaped(request: HttpRequest, error: DomainError) -> HttpResponse:
    if wants_json(request):
        return JsonResponse(error.as_json(), status=error.status)
    if request.headers.get("HX-Request"):
        toast = {"toast": {"code": error.code, "message": error.message, "field": error.field}}
        headers = HTML_SWAP_NONE | {"HX-Trigger": json.dumps(toast)}
        return HttpResponse(
            error.message, status=error.status, headers=headers, content_type="text/plain; charset=utf-8"
        )
    return render(request, "site/error.html", {"error": error}, status=error.status)


def wants_json(request: HttpRequest) -> bool:
    """Programs ask under /v1/; the widget's script asks for JSON by name."""
    return request.path.startswith("/v1/") or request.headers.get("Accept") == "application/json"


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that was opened under another sign-in: nothing was done."""
    message = "This page is from an earlier sign-in. Reload it and press again; nothing was done."
    return answer(request, DomainError(message, code="stale_page", status=403))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """More fields or more text than one request may have, or a host that is not ours."""
    message = "This was too large, or nothing that a page of ours sends. Nothing was done."
    return answer(request, DomainError(message, code="bad_request", status=400))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer(request, NotFound())


def server_error(request: HttpRequest) -> HttpResponse:
    message = "Something broke on our side. It was logged; what you typed is still in the page you came from."
    return answer(request, DomainError(message, code="server_error", status=500))
