"""/v1/conversations: threads, their messages and notes, who has them, and running a tool in one."""

from typing import Annotated

from django.http import HttpResponse
from ninja import File, Query, Router, Status, UploadedFile

from conversations import access, attachment_views, attachments, customers, threads
from conversations import models as rows
from conversations.models import Channel, Conversation
from median_site.api import answers, gate, inputs, listing, shapes
from median_site.api.gate import KeyRequest
from median_site.lib.errors import DomainError, NotFound
from tools import by_hand

router = Router()
ITEMS = 100
FILE_ANSWER = {"responses": {200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}}}


@router.get("", auth=gate.Scope("read"), summary="List conversations, the latest first")
def index(
    request: KeyRequest,
    status: Annotated[rows.Status | None, Query()] = None,
    cursor: inputs.Cursor = None,
    limit: inputs.Limit = 50,
) -> answers.Page[answers.Conversation]:
    found = Conversation.objects.filter(workspace_id=request.key.workspace_id).select_related("customer", "assignee")
    if status:
        found = found.filter(status=status)
    return listing.page(
        found, by="last_at", shape=lambda page: [shapes.conversation(row) for row in page], cursor=cursor, limit=limit
    )


@router.post("", auth=gate.Scope("run"), summary="Write as a customer of yours", response={201: dict})
def create(request: KeyRequest, payload: inputs.NewConversation) -> Status[answers.Conversation]:
    """Your server vouches for the customer. Their open conversation on this channel goes on, else a new one begins."""
    customer = customers.known(request.key.workspace_id, verified=True, **payload.customer.dict())
    item = threads.from_customer(customer, channel=Channel.API, body=payload.text, client_id=payload.client_id)
    return Status(201, shapes.conversation(access.conversation(gate.actor(request.key), item.conversation_id)))


@router.get("/{conversation_id}", auth=gate.Scope("read"), summary="Read one conversation")
def read(request: KeyRequest, conversation_id: str) -> answers.Conversation:
    return shapes.conversation(access.conversation(gate.actor(request.key), conversation_id))


@router.get("/{conversation_id}/items", auth=gate.Scope("read"), summary="What stands in the thread, oldest first")
def items(request: KeyRequest, conversation_id: str, after: Annotated[int, Query(ge=0, le=2**62)] = 0) -> answers.Items:
    """Up to 100 items that came or changed after the version `after`; the last one's `version` is the next `after`."""
    conversation = access.conversation(gate.actor(request.key), conversation_id)
    found = conversation.items.filter(version__gt=after).order_by("version")[:ITEMS]
    return {"data": [shapes.item(row) for row in found], "version": conversation.version}


@router.post("/{conversation_id}/attachments", auth=gate.Scope("run"), summary="Send a file up, for a message or note",
             response={201: dict})  # fmt: skip
def attach(request: KeyRequest, conversation_id: str, file: Annotated[UploadedFile, File()]) -> Status[answers.File]:
    """`multipart/form-data` with one `file` of at most 10 MB. Name its id in the `attachments` of a message or note
    within a day; after that it is deleted."""
    conversation = access.conversation(gate.actor(request.key), conversation_id)
    data = file.read(attachments.SIZE_LIMIT + 1)
    row = attachments.store(conversation, name=file.name or "", data=data, by=gate.actor(request.key))
    return Status(201, shapes.file(row.file))


@router.get("/{conversation_id}/attachments/{attachment_id}", auth=gate.Scope("read"), summary="The bytes of a file",
            openapi_extra=FILE_ANSWER)  # fmt: skip
def download(request: KeyRequest, conversation_id: str, attachment_id: str) -> HttpResponse:
    found = attachments.for_team(gate.actor(request.key), attachment_id)
    if found.conversation_id != conversation_id:
        raise NotFound
    return attachment_views.answer(found)


@router.post("/{conversation_id}/messages", auth=gate.Scope("run"), summary="The customer's next message",
             response={201: dict})  # fmt: skip
def write(request: KeyRequest, conversation_id: str, payload: inputs.NewMessage) -> Status[answers.Item]:
    conversation = access.conversation(gate.actor(request.key), conversation_id)
    if conversation.channel != Channel.API:
        raise DomainError("Customers write here on another channel.", code="wrong_channel", status=409)
    item = threads.customer_wrote(
        conversation.id, body=payload.text, client_id=payload.client_id, files=payload.attachments,
        files_by=gate.actor(request.key),
    )  # fmt: skip
    return Status(201, shapes.item(item))


@router.post(
    "/{conversation_id}/notes", auth=gate.Scope("run"), summary="Leave a note for the team", response={201: dict}
)
def note(request: KeyRequest, conversation_id: str, payload: inputs.NewNote) -> Status[answers.Item]:
    by = gate.actor(request.key)
    return Status(201, shapes.item(threads.note(conversation_id, by=by, body=payload.text, files=payload.attachments)))


@router.post("/{conversation_id}/status", auth=gate.Scope("run"), summary="Resolve, close, archive or reopen")
def status(request: KeyRequest, conversation_id: str, payload: inputs.NewStatus) -> answers.Conversation:
    by = gate.actor(request.key)
    if payload.status == rows.Status.OPEN:
        threads.reopen(conversation_id, by=by)
    else:
        threads.end(conversation_id, by=by, to=rows.Status(payload.status))
    return shapes.conversation(access.conversation(by, conversation_id))


@router.post("/{conversation_id}/hand-over", auth=gate.Scope("run"), summary="Take the thread from the agent")
def hand_over(request: KeyRequest, conversation_id: str) -> answers.Conversation:
    """Nobody has it then, until a teammate takes it; the agent's running turn stops."""
    by = gate.actor(request.key)
    threads.hand_over(conversation_id, by=by)
    return shapes.conversation(access.conversation(by, conversation_id))


@router.post("/{conversation_id}/hand-back", auth=gate.Scope("run"), summary="Give the thread to the agent")
def hand_back(request: KeyRequest, conversation_id: str) -> answers.Conversation:
    by = gate.actor(request.key)
    threads.hand_back(conversation_id, by=by)
    return shapes.conversation(access.conversation(by, conversation_id))


@router.post("/{conversation_id}/tools/run", auth=gate.Scope("run"), summary="Run a tool at once", response={202: dict})
def run(request: KeyRequest, conversation_id: str, payload: inputs.NewRun) -> Status[answers.Run]:
    """Any tool that is switched on, whatever its risk, with no sign-off; your endpoint reads approvedBy "the API"."""
    queued = by_hand.run(conversation_id, payload.tool, payload.input, by=gate.actor(request.key))
    return Status(202, shapes.tool_run(queued))
