"""Where mail is handed in over HTTP: raw, by whoever knows the token, or by a mail service. The sender tries again
unless it gets 2xx."""

from typing import IO, Final

from django.core.files.uploadedfile import SimpleUploadedFile, UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils.datastructures import MultiValueDict
from django.utils.http import parse_header_parameters
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from mail import channels, inbound, parsing
from median_site.lib.errors import NotFound

# Of a service's request: a mail in base64 and what it says of it.
_REQUEST_LIMIT: Final = 2 * parsing.SIZE_LIMIT


@csrf_exempt
@require_POST
def raw(request: HttpRequest, token: str) -> HttpResponse:
    """The body is one mail as RFC 5322 writes it; `recipient` in the query says to whom it was delivered.

    204 for a mail that is kept, also for one that was here before; 413 for one above 25 MB.
    """
    channel = channels.by_token(token)
    mail = request.read(parsing.SIZE_LIMIT + 1)  # not `body`, which has the limit of forms
    inbound.take(mail, channel=channel, recipient=request.GET.get("recipient", "")[:320])
    return HttpResponse(status=204)


@csrf_exempt
def service(request: HttpRequest, path: str) -> HttpResponseBase:
    """A mail service's webhook, which django-anymail checks and reads. A mail is larger than Django lets a form be."""
    try:
        found = resolve(f"/{path}", urlconf="anymail.urls")
    except Resolver404:
        raise NotFound from None
    body = request.read(_REQUEST_LIMIT + 1)
    if len(body) > _REQUEST_LIMIT:
        raise inbound.TooLarge
    request._body = body
    request.upload_handlers = [_Form(request)]
    answer: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
    return answer


class _Form(FileUploadHandler):
    """Reads a whole form, however large its fields are: one may be a mail."""

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, str],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> tuple[QueryDict, MultiValueDict[str, UploadedFile]]:
        fields, files = QueryDict(mutable=True), MultiValueDict[str, UploadedFile]()
        _, named = parse_header_parameters(META["CONTENT_TYPE"])
        between = b"\r\n--" + named["boundary"].encode()
        for part in (b"\r\n" + input_data.read()).split(between)[1:-1]:
            head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            lines = (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n"))
            headers = {name.strip().lower(): parse_header_parameters(value) for name, _, value in lines}
            _, given = headers.get("content-disposition", ("", {}))
            kind, _ = headers.get("content-type", ("application/octet-stream", {}))
            if "filename" in given:
                name = given["filename"] or "file"
                files.appendlist(given.get("name", ""), SimpleUploadedFile(name, data, content_type=kind.strip()))
            else:
                fields.appendlist(given.get("name", ""), data.decode("utf-8", "replace"))
        return fields, files
