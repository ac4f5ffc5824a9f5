"""The state of a request, and the only place that moves it.

Every move is one conditional UPDATE under the conversation's lock, decided by the database's clock. Whoever comes
second gets the published sentence; the row, the line, the run and the push are one transaction.
"""

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from approvals import access, alarm, errors
from approvals.models import DECIDABLE, ExpiredBecause, State, ToolApproval
from approvals.signals import outcome_known
from conversations import threads
from conversations.models import Conversation, ItemKind
from median_site.lib import canonical_json, clock, ids, strict_json
from median_site.lib.actors import Actor, system
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import runs
from tools.models import RunState, Starter, Tool, ToolRun

LIFETIME: Final = timedelta(hours=24)
OPEN_LIMIT: Final = 3


def request(conversation: Conversation, *, tool: Tool, input_text: str, turn_id: str, by: Actor) -> ToolApproval:
    """Park a call of the agent, in a locked conversation. `input_text` is the exact JSON that will leave.

    Raises StillWaiting, TooManyOpen or DeniedBefore, which the model is told.
    """
    _check_caps(conversation, tool_name=tool.name, input_text=input_text)
    now = clock.now()
    approval = ToolApproval.objects.create(
        workspace_id=conversation.workspace_id,
        id=ids.call_id(),
        conversation=conversation,
        tool=tool,
        endpoint_id=tool.served_by,
        tool_name=tool.name,
        tool_label=tool.label,
        description=tool.description,
        risk=tool.risk,
        schema_hash=tool.content_hash,
        input=input_text,
        turn_id=turn_id,
        state=State.PENDING,
        requested_at=now,
        expires_at=now + LIFETIME,
    )
    _record(Kind.APPROVAL_REQUESTED, approval, by=by)
    threads.add(conversation, kind=ItemKind.APPROVAL, by=by, ref=approval.id)
    _mark(conversation)
    alarm.set_for(approval.expires_at)
    return approval


def approve(approval_id: str, *, by: Actor) -> ToolApproval:
    """Let exactly this call leave, once. The same person's second press gives the decided request and changes nothing.

    Raises NotFound, AlreadyReviewed, ExpiredUnanswered, ExpiredEnded, ExpiredRemoved.
    """
    with transaction.atomic():
        conversation = _lock(by, approval_id)
        if not _decide(approval_id, to=State.EXECUTING, by=by):
            return _second(approval_id, by=by, wanted=True)
        approval = access.approval(by, approval_id)
        _record(Kind.APPROVED, approval, by=by)
        _changed(conversation, approval)
        runs.queue(
            conversation,
            tool_name=approval.tool_name,
            tool_label=approval.tool_label,
            tool_id=approval.tool_id,
            endpoint_id=approval.endpoint_id,
            risk=approval.risk,
            input_text=approval.input,
            started_by=Starter.AGENT,
            call_id=approval.id,
            turn_id=approval.turn_id,
            approval={"kind": by.kind, "name": by.approver_name, "at": int(clock.now().timestamp())},
        )
    return approval


def deny(approval_id: str, *, by: Actor, reason: str = "") -> ToolApproval:
    """Refuse the call; `reason` is for the team alone. Second presses and errors as in `approve`."""
    with transaction.atomic():
        conversation = _lock(by, approval_id)
        if not _decide(approval_id, to=State.DENIED, by=by, reason=reason):
            return _second(approval_id, by=by, wanted=False)
        approval = access.approval(by, approval_id)
        _record(Kind.DENIED, approval, by=by)
        _changed(conversation, approval)
        outcome_known.send(sender=ToolApproval, approval=approval, conversation=conversation)
    return approval


def expire_with_conversation(conversation: Conversation) -> None:
    """The conversation, locked by the caller, has ended: its decidable requests end with it."""
    for approval in ToolApproval.objects.decidable().filter(conversation=conversation).order_by("id"):
        _expire(approval, conversation, because=ExpiredBecause.CONVERSATION_ENDED)
    _mark(conversation)


def expire_with_endpoint(endpoint_id: str, *, workspace_id: str) -> int:
    """The endpoint was removed: requests that wait on it expire, each in a transaction of its own. Gives how many."""
    waiting = ToolApproval.objects.decidable().filter(workspace_id=workspace_id, endpoint_id=endpoint_id)
    return sum(expire_one(row.id, because=ExpiredBecause.ENDPOINT_REMOVED) for row in waiting.order_by("id"))


def expire_one(approval_id: str, *, because: ExpiredBecause) -> bool:
    """Expire one request, if it can still be decided and, for an unanswered one, is past its time."""
    with transaction.atomic():
        row = ToolApproval.objects.only("conversation_id").get(id=approval_id)
        conversation = threads.lock(row.conversation_id)
        expired = _expire(ToolApproval.objects.get(id=approval_id), conversation, because=because)
        if expired:
            _mark(conversation)
    return expired


def settle(run: ToolRun, conversation: Conversation) -> None:
    """The run of an approved call has ended, under the conversation's lock: the request follows it."""
    to = State.COMPLETED if run.state == RunState.COMPLETED else State.FAILED
    moved = ToolApproval.objects.filter(id=run.id, state=State.EXECUTING).update(state=to)
    if moved:
        approval = ToolApproval.objects.get(id=run.id)
        _mark(conversation, failed=approval.tool_label if to == State.FAILED else "")
        outcome_known.send(sender=ToolApproval, approval=approval, conversation=conversation)


def _lock(by: Actor, approval_id: str) -> Conversation:
    return threads.lock(access.approval(by, approval_id).conversation_id)


def _decide(approval_id: str, *, to: State, by: Actor, reason: str = "") -> bool:
    """The one statement that decides. The deadline is the database's; an ended conversation has none to decide."""
    decidable = ToolApproval.objects.decidable().filter(
        id=approval_id, workspace_id=by.workspace_id, expires_at__gt=Now(), conversation__status="open"
    )
    return bool(
        decidable.update(
            state=to, decided_at=clock.now(), decided_by_kind=by.kind, decided_by_id=by.id,
            decided_by_name=by.name, reason=reason,
        )
    )  # fmt: skip


def _second(approval_id: str, *, by: Actor, wanted: bool) -> ToolApproval:
    """Nothing moved: say why, except to the person who already gave this very answer."""
    approval = access.approval(by, approval_id)
    if approval.decided_at:
        approved = approval.state != State.DENIED
        same_person = (approval.decided_by_kind, approval.decided_by_id) == (by.kind, by.id)
        if same_person and approved == wanted:
            return approval
        raise errors.AlreadyReviewed
    reasons: dict[str, type[DomainError]] = {
        ExpiredBecause.CONVERSATION_ENDED: errors.ExpiredEnded,
        ExpiredBecause.ENDPOINT_REMOVED: errors.ExpiredRemoved,
    }
    raise reasons.get(approval.expired_because, errors.ExpiredUnanswered)


def _expire(approval: ToolApproval, conversation: Conversation, *, because: ExpiredBecause) -> bool:
    rows = ToolApproval.objects.decidable().filter(id=approval.id)
    if because == ExpiredBecause.UNANSWERED:
        rows = rows.filter(expires_at__lte=Now())
    if not rows.update(state=State.EXPIRED, expired_because=because):
        return False
    by = system(approval.workspace_id)
    _record(Kind.EXPIRED, approval, by=by, because=because.value)
    _changed(conversation, approval, marks=False)
    return True


def _check_caps(conversation: Conversation, *, tool_name: str, input_text: str) -> None:
    open_names = list(ToolApproval.objects.open().filter(conversation=conversation).values_list("tool_name", flat=True))
    if tool_name in open_names:
        raise errors.StillWaiting
    if len(open_names) >= OPEN_LIMIT:
        raise errors.TooManyOpen
    newest = conversation.items.filter(kind=ItemKind.CUSTOMER).order_by("-number").values_list("created_at", flat=True)
    wrote_at = newest.first()
    denied = ToolApproval.objects.filter(conversation=conversation, tool_name=tool_name, state=State.DENIED)
    if wrote_at and any(_same(row.input, input_text) for row in denied.filter(decided_at__gt=wrote_at)):
        raise errors.DeniedBefore


def _same(one: str, other: str) -> bool:
    """Whether two inputs are one value, in whatever order their keys stand."""
    return canonical_json.dumps(strict_json.loads(one)) == canonical_json.dumps(strict_json.loads(other))


def _changed(conversation: Conversation, approval: ToolApproval, *, marks: bool = True) -> None:
    threads.touch(conversation, kind=ItemKind.APPROVAL, ref=approval.id)
    if marks:
        _mark(conversation)


def _mark(conversation: Conversation, *, failed: str = "") -> None:
    """Keep what the queue's row says: what waits for the team, else what is being checked, else what did not run."""
    rows = ToolApproval.objects.filter(conversation=conversation, state__in=DECIDABLE).order_by("-requested_at")
    decidable = list(rows.values_list("state", "tool_label"))
    pending = [label for state, label in decidable if state == State.PENDING]
    if pending:
        threads.mark(conversation, waiting=len(pending), mark="waiting", label=pending[0])
    elif decidable:
        threads.mark(conversation, waiting=0, mark="reviewing", label=decidable[0][1])
    else:
        threads.mark(conversation, waiting=0, mark="failed" if failed else "", label=failed)


def _record(kind: Kind, approval: ToolApproval, *, by: Actor, because: str = "") -> None:
    data: dict[str, Json] = {"label": approval.tool_label, "risk": approval.risk}
    if because:
        data["because"] = because
    events.record(
        kind, by=by, conversation_id=approval.conversation_id, subject_id=approval.id,
        tool_name=approval.tool_name, data=data,
    )  # fmt: skip
