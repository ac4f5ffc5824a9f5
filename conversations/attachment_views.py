"""A file as a download, a picture as a picture: for teammates of its workspace, and for its customer with a key."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from conversations import attachment_links, attachments
from conversations.models import Attachment
from median_site.lib.errors import DomainError
from team.access import TeammateRequest, teammate_required

# Whatever is in a file, a browser that opens it runs nothing of it, and no page of ours is its origin.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}


class LinkOver(DomainError):
    code = "link_over"
    message = "This link no longer works. Reload the chat and open the file from there."
    status = 404


@require_safe
def show(request: HttpRequest, attachment_id: str, file_name: str) -> HttpResponseBase:
    """The file, or with `?small=1` a picture's thumbnail. The name in the address is for people alone."""
    key = request.GET.get("key")
    if key is None:
        return _for_teammate(request, attachment_id)
    if not attachment_links.is_good(key, attachment_id=attachment_id):
        raise LinkOver
    return _answer(request, attachments.for_customers(attachment_id))


def answer(attachment: Attachment) -> HttpResponse:
    """Pictures that were written anew here may show in place; anything else is only ever saved."""
    is_picture = attachment.file.is_picture
    kind = attachment.content_type if is_picture else "application/octet-stream"
    return _response(attachment, attachments.data_of(attachment), kind, is_saved=not is_picture)


@teammate_required
def _for_teammate(request: TeammateRequest, attachment_id: str) -> HttpResponse:
    return _answer(request, attachments.for_team(request.teammate.actor, attachment_id))


def _answer(request: HttpRequest, attachment: Attachment) -> HttpResponse:
    if "small" in request.GET:
        return _response(attachment, attachments.thumbnail_of(attachment), "image/webp", is_saved=False)
    return answer(attachment)


def _response(attachment: Attachment, data: bytes, content_type: str, *, is_saved: bool) -> HttpResponse:
    response = HttpResponse(data, content_type=content_type, headers=_HEADERS)
    response["Content-Disposition"] = content_disposition_header(is_saved, attachment.name) or "inline"
    return response
