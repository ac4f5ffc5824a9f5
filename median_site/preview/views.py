"""The preview's pages, which median_site.urls has only while DEBUG is on. They show made-up rows, so they ask for no
sign-in."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from median_site.lib import errors
from median_site.lib.errors import DomainError
from median_site.preview import cards, threads
from median_site.preview.cards import Specimen


class Group(NamedTuple):
    """Specimens under one title; `frame` is what stands around them on the product's page."""

    title: str
    specimens: Callable[[], Iterable[Specimen]]
    frame: str = "div"


GROUPS: Final = {
    "waiting": Group("Requests that wait", cards.waiting),
    "approved": Group("Requests that were approved", cards.decided),
    "closed": Group("Requests that never ran", cards.closed),
    "runs": Group("Runs", cards.runs),
    "asks": Group("The bar above the composer", cards.asks),
    "messages": Group("Messages and notes", threads.messages),
    "lines": Group("Lines", threads.events),
    "queue": Group("Rows of the queue", threads.queue, frame="ul"),
    "empty": Group("Empty places", threads.empty),
    "toasts": Group("Toasts", threads.toasts),
}
# Pages of their own, made as the product makes them.
ERRORS: Final[dict[int, Callable[[HttpRequest], HttpResponse]]] = {
    401: lambda request: errors.answer(request, DomainError("Sign in again to go on.", status=401)),
    403: errors.csrf_failure,
    404: lambda request: errors.page_not_found(request, Http404()),
    409: lambda request: errors.answer(request, DomainError()),
    500: errors.server_error,
}


@require_safe
def page(request: HttpRequest, group: str = next(iter(GROUPS))) -> HttpResponse:
    """One group of specimens, and the way to the others."""
    if group not in GROUPS:
        raise errors.NotFound
    context = {"groups": GROUPS, "current": group, "statuses": ERRORS}
    return render(request, "preview/page.html", context, using="jinja2")


@require_safe
def error(request: HttpRequest, status: int) -> HttpResponse:
    """The page of an error, with its status."""
    if status not in ERRORS:
        raise errors.NotFound
    return ERRORS[status](request)
