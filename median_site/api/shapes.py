"""Rows as the API answers them (median_site.api.answers)."""

from collections.abc import Mapping
from datetime import UTC, datetime

from approvals.models import ToolApproval
from conversations.files import File
from conversations.models import Conversation, Customer, Item, ItemKind
from median_site.api import answers
from median_site.lib import clock, strict_json
from median_site.lib.strict_json import Json
from tools import outcomes
from tools.models import Endpoint, Tool, ToolRun


def approval(row: ToolApproval, run: ToolRun | None) -> answers.Approval:
    """A request; `run` is what became of it once it was approved."""
    decided_by: answers.Decider = {"kind": row.decided_by_kind, "name": row.decided_by_name}
    return {
        "id": row.id,
        "status": str(row.state_at(clock.now())),
        "conversation_id": row.conversation_id,
        "tool": row.tool_name,
        "label": row.tool_label,
        "description": row.description,
        "risk": row.risk,
        "input": strict_json.loads(row.input),
        "requested_at": at(row.requested_at),
        "expires_at": at(row.expires_at),
        "decided_at": time(row.decided_at),
        "decided_by": decided_by if row.decided_at else None,
        "reason": row.reason or None,
        "review": row.review or None,
        "review_reason": row.review_reason or None,
        "expired_because": row.expired_because or None,
        "run": tool_run(run) if run else None,
    }


def tool_run(row: ToolRun) -> answers.Run:
    error: answers.Failure = {"code": row.code, "message": row.error, "detail": row.detail or None}
    return {
        "id": row.id,
        "status": row.state,
        "conversation_id": row.conversation_id,
        "tool": row.tool_name,
        "label": row.tool_label,
        "risk": row.risk,
        "input": strict_json.loads(row.input),
        "started_by": row.started_by,
        "approved_by": row.approver_name,
        "queued_at": at(row.queued_at),
        "started_at": time(row.started_at),
        "ended_at": time(row.ended_at),
        "error": error if row.error else None,
        "http_status": row.http_status,
        "refusal": _as_json(row.refusal),
        "result": outcomes.stored_result(row.raw) if row.is_over and not row.error else None,
        "raw": row.raw if row.is_over else None,
        "headline": row.headline or None,
    }


def tool(row: Tool) -> answers.Tool:
    return {
        "name": row.name,
        "label": row.label,
        "description": row.description,
        "risk": row.risk,
        "kind": row.endpoint.kind if row.endpoint else "http",
        "endpoint_id": row.endpoint_id,
        "enabled": row.switched_on,
        "available": row.present,
        "session_start": row.session_start,
        "requires": row.requires or None,
        "input": strict_json.loads(row.input_schema) if row.input_schema else None,
        "content_hash": row.content_hash,
    }


def endpoint(row: Endpoint, *, secret: str | None = None) -> answers.Endpoint:
    """`secret` only in the answer that made it."""
    failure: answers.SyncFailure = {"code": row.failure, "detail": row.failure_detail, "at": time(row.failed_at)}
    shown: answers.Endpoint = {
        "id": row.id,
        "kind": row.kind,
        "url": row.url,
        "sdk": row.sdk or None,
        "synced_at": time(row.synced_at),
        "failure": failure if row.failure else None,
        "refused": _as_json(row.refused),
        "old_secret_until": time(row.old_secret_until),
        "created_at": at(row.created_at),
    }
    if secret:
        shown["secret"] = secret
    return shown


def conversation(row: Conversation) -> answers.Conversation:
    return {
        "id": row.id,
        "status": row.status,
        "channel": row.channel,
        "handler": row.handler,
        "assignee": {"id": row.assignee.id, "name": row.assignee.name} if row.assignee else None,
        "customer": customer(row.customer),
        "waiting": row.waiting,
        "version": row.version,
        "last_at": at(row.last_at),
        "created_at": at(row.created_at),
    }


def customer(row: Customer) -> answers.Customer:
    return {
        "id": row.id,
        "subject": row.subject,
        "verified": row.verified,
        "name": row.name or None,
        "email": row.email or None,
    }


def item(row: Item) -> answers.Item:
    shown: answers.Item = {
        "number": row.number,
        "version": row.version,
        "kind": row.kind,
        "text": row.text or None,
        "quoted": row.quoted or None,
        "author": row.author_name or None,
        "attachments": [file(each) for each in row.sent],
        "created_at": at(row.created_at),
    }
    if row.kind == ItemKind.APPROVAL:
        shown["approval_id"] = row.ref
    elif row.kind == ItemKind.RUN:
        shown["run_id"] = row.ref
    return shown


def file(row: File) -> answers.File:
    return {
        "id": row.id,
        "name": row.name,
        "content_type": row.content_type,
        "size": row.size,
        "width": row.width or None,
        "height": row.height or None,
    }


def at(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def time(moment: datetime | None) -> str | None:
    return at(moment) if moment else None


def _as_json(stored: object) -> Json:
    """A stored JSON value, which the database gives back as it was checked when it went in."""
    if isinstance(stored, Mapping):
        return {str(key): _as_json(value) for key, value in stored.items()}
    if isinstance(stored, list):
        return [_as_json(value) for value in stored]
    return stored if isinstance(stored, bool | int | float | str) else None
