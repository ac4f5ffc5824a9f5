"""The Django mount. Imported only when `Tools.django_view` is asked for, so that nobody else needs Django."""

from collections.abc import Callable

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from median_tools.admission import Request, too_large
from median_tools.answers import Answer


def view(answer: Callable[[Request], Answer]) -> Callable[[HttpRequest], HttpResponse]:
    """A view that answers with these tools. A signature, not a cookie, says who calls: CSRF checks do not apply."""

    @csrf_exempt
    def median_tools(request: HttpRequest) -> HttpResponse:
        headers = tuple((name.lower(), value) for name, value in request.headers.items())
        try:
            answered = answer(Request(request.method or "GET", headers, request.body))
        except RequestDataTooBig:
            answered = too_large().answer()
        return HttpResponse(answered.body, status=answered.status, headers=dict(answered.wire_headers))

    return median_tools
