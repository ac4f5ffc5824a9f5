"""/v1/tool-approvals: read requests and decide them, as "the API"."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final

from django.http import HttpResponse
from ninja import Query, Router

from approvals import access, decisions
from approvals.models import State, ToolApproval
from median_site.api import answers, gate, inputs, listing, shapes
from median_site.api.gate import KeyRequest
from median_site.lib import clock
from median_site.lib import rows as lib_rows
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError
from median_site.lib.statement import fetch
from tools.models import ToolRun

router = Router()

_RUN: Final = f"select {lib_rows.columns(ToolRun, of='run')} from tools_toolrun run where run.id = %s"  # noqa: S608  # names in the code

# An answer that was written already, and its shape.
Decided = Annotated[HttpResponse, answers.Approval]


@router.get("", auth=gate.Scope("read"), summary="List requests, the newest first")
def index(
    request: KeyRequest,
    status: Annotated[State | None, Query()] = None,
    conversation: Annotated[str | None, Query(max_length=32)] = None,
    tool: Annotated[str | None, Query(max_length=64)] = None,
    cursor: inputs.Cursor = None,
    limit: inputs.Limit = 50,
) -> answers.Page[answers.Approval]:
    rows = ToolApproval.objects.filter(workspace_id=request.key.workspace_id)
    if status:
        rows = rows.filter(state=status)
    if status in {State.PENDING, State.REVIEWING}:
        rows = rows.filter(expires_at__gt=clock.now())  # past its time it reads as expired, written down or not
    if conversation:
        rows = rows.filter(conversation_id=conversation)
    if tool:
        rows = rows.filter(tool_name=tool)
    return listing.page(rows, by="requested_at", shape=_shapes, cursor=cursor, limit=limit)


@router.get("/{approval_id}", auth=gate.Scope("read"), summary="Read one request")
def read(request: KeyRequest, approval_id: str, wait: inputs.Wait = None) -> answers.Approval:
    """With `?wait=30` the answer is held, up to so many seconds, until the request changes; waiting decides nothing."""
    return shape(access.approval(gate.actor(request.key), approval_id))


@router.post("/{approval_id}/approve", auth=gate.Scope("decide"), summary="Approve and run, once")
def approve(request: KeyRequest, approval_id: str) -> Decided:
    """Lets exactly the input that the request shows leave. 409, with the request, when it has been decided before."""
    by = gate.actor(request.key)
    return _decided(approval_id, partial(decisions.approve, approval_id, by=by), by=by)


@router.post("/{approval_id}/deny", auth=gate.Scope("decide"), summary="Deny")
def deny(request: KeyRequest, approval_id: str, payload: inputs.Deny | None = None) -> Decided:
    """Nothing leaves. 409, with the request, when it has been decided before."""
    by = gate.actor(request.key)
    reason = payload.reason if payload else ""
    return _decided(approval_id, partial(decisions.deny, approval_id, by=by, reason=reason), by=by)


def shape(approval: ToolApproval) -> answers.Approval:
    found = fetch(_RUN, approval.id)
    return shapes.approval(approval, lib_rows.load(ToolRun, found[0]) if found else None)


def _shapes(approvals: list[ToolApproval]) -> list[answers.Approval]:
    runs = ToolRun.objects.in_bulk([row.id for row in approvals])
    return [shapes.approval(row, runs.get(row.id)) for row in approvals]


def _decided(approval_id: str, decide: Callable[[], ToolApproval], *, by: Actor) -> Decided:
    """200 with the request as it is now. A program learns that it was second, even after itself: 409."""
    try:
        return gate.answer(shape(decide()))
    except DomainError as error:
        refusal = {**error.as_json(), "approval": shape(access.approval(by, approval_id))}
        return gate.answer(refusal, status=error.status)
