"""The customer's widget: one page, and the three requests that its script makes.

The requests carry a session token in `Authorization` and no cookie, so that the widget works in a frame without
third-party cookies. That is also why they are exempt from CSRF checks: a foreign page has nothing to ride on, it would
have to know the token.
"""

import re
from typing import Final

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from conversations import attachment_links, attachments
from conversations.channels import widget_fragments, widget_session
from conversations.channels.widget_session import Session
from conversations.models import Item
from median_site.lib import headers, ids, remote, strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import JsonError
from team import origins

PAGE: Final = 100

_CLIENT_ID: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")


class BadMessage(DomainError):
    code = "bad_request"
    status = 400


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    """The chat, empty: who is writing is known only once its script has read the token."""
    workspace = widget_session.workspace_of(slug)
    head, state = (part["html"] for part in widget_fragments.parts(workspace, None))
    context = {"workspace": workspace, "head": head, "state": state}
    context |= {"files_most": attachments.IN_A_MESSAGE, "files_limit": attachments.SIZE_LIMIT}
    response = render(request, "widget/page.html", context)
    response["Content-Security-Policy"] = headers.policy(frame_ancestors=origins.ancestors(workspace.widget_origins))
    return response


@csrf_exempt
@require_POST
def anonymous(request: HttpRequest, slug: str) -> JsonResponse:
    """A session token for a visitor whom no company's server vouches for. Nothing is stored until they write."""
    workspace = widget_session.workspace_of(slug)
    return JsonResponse(
        {"token": widget_session.anonymous_token(workspace, address=remote.network(request))}, status=201
    )


@require_safe
def thread(request: HttpRequest, slug: str) -> JsonResponse:
    """The newest items, or with `?before=<number>` those before it; `more` says whether there are earlier ones."""
    session = _session(request, slug)
    customer = widget_session.known_customer(session)
    conversation = widget_session.conversation_of(customer) if customer else None
    rows: list[Item] = []
    if conversation:
        found = widget_fragments.visible(conversation)
        if (before := ids.number(request.GET.get("before", ""))) is not None:
            found = found.filter(number__lt=before)
        rows = list(found.order_by("-number")[: PAGE + 1])
    items = widget_fragments.items(reversed(rows[:PAGE]), session.workspace)
    frame = widget_fragments.frame(session.workspace, conversation, items=items)
    return JsonResponse({**frame, "more": len(rows) > PAGE, "foot": _foot(session)})


@csrf_exempt
@require_POST
def messages(request: HttpRequest, slug: str) -> JsonResponse:
    """Send {"text", "client_id"}, and with files their ids in "files". Sent again with the same client_id it answers
    the same and changes nothing.

    The message itself comes by push, or with the thread; the answer says only where it went.
    """
    session = _session(request, slug)
    body, client_id, files = _sent(request)
    item = widget_session.write(session, body=body, client_id=client_id, files=files, address=remote.network(request))
    return JsonResponse({"id": f"item-{item.number}", "conversation": item.conversation_id}, status=201)


@csrf_exempt
@require_POST
def attach(request: HttpRequest, slug: str) -> JsonResponse:
    """Take one file in, `file`; it is sent with the message that names its id."""
    session = _session(request, slug)
    given = request.FILES.get("file")
    if not isinstance(given, UploadedFile):
        raise BadMessage("Choose a file first.", field="file", status=422)
    data = given.read(attachments.SIZE_LIMIT + 1)
    row = widget_session.attach(session, name=given.name or "", data=data, address=remote.network(request))
    return JsonResponse(attachment_links.for_customer(row.file).as_json(), status=201)


def _session(request: HttpRequest, slug: str) -> Session:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise widget_session.SessionInvalid
    return widget_session.open_session(token.strip(), slug=slug)


def _sent(request: HttpRequest) -> tuple[str, str, list[str]]:
    try:
        sent = strict_json.loads(request.body)
    except JsonError as error:
        raise BadMessage(f"The body must be JSON. {error.message}") from None
    sent = sent if isinstance(sent, dict) else {}
    body, client_id, files = sent.get("text"), sent.get("client_id"), sent.get("files", [])
    if not isinstance(body, str):
        raise BadMessage("A message needs a text.", field="text", status=422)
    if not (isinstance(client_id, str) and _CLIENT_ID.fullmatch(client_id)):
        raise BadMessage("client_id has 8 to 64 letters, digits, - or _.", field="client_id", status=422)
    if not isinstance(files, list):
        raise BadMessage("files is a list of ids.", field="files", status=422)
    return body, client_id, [each for each in files if isinstance(each, str)]


def _foot(session: Session) -> str:
    said = session.said
    if said.anonymous:
        return "Not signed in"
    return f"Signed in as {said.email or said.name or said.subject}"
