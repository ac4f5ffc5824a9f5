"""The state of a request, and the only place that moves it.

Every move is one conditional UPDATE under the conversation's lock, decided by the database's clock. Whoever comes
second gets the published sentence; the row, the line, the run and the push are one transaction.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from approvals import access, alarm, errors, reviews
from approvals.models import ExpiredBecause, ReviewOutcome, State, ToolApproval, ToolApprovalQuerySet
from approvals.signals import left_to_team, outcome_known
from conversations import bulk, threads
from conversations.bulk import Mark
from conversations.models import Conversation, ItemKind
from median_site.lib import canonical_json, clock, ids, strict_json
from median_site.lib.actors import Actor, ActorKind, reviewer, system
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from team import events
from team.events import Entry, Kind
from tools import runs
from tools.models import Risk, RunState, Starter, Tool, ToolRun

LIFETIME: Final = timedelta(hours=24)
OPEN_LIMIT: Final = 3


def request(conversation: Conversation, *, tool: Tool, input_text: str, turn_id: str, by: Actor) -> ToolApproval:
    """Park a call of the agent, in a locked conversation: a reviewed one for the reviewer, a high one for the team.

    `input_text` is the exact JSON that will leave. Raises StillWaiting, TooManyOpen or DeniedBefore, which the model is
    told.
    """
    _check_caps(conversation, tool_name=tool.name, input_text=input_text)
    now, is_reviewed = clock.now(), tool.risk == Risk.REVIEWED
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
        state=State.REVIEWING if is_reviewed else State.PENDING,
        requested_at=now,
        expires_at=now + LIFETIME,
    )
    _record(Kind.APPROVAL_REVIEWING if is_reviewed else Kind.APPROVAL_REQUESTED, approval, by=by)
    threads.add(conversation, kind=ItemKind.APPROVAL, by=by, ref=approval.id)
    _mark(conversation)
    if is_reviewed:
        reviews.queue(approval)
    alarm.set_for(now + reviews.LIMIT if is_reviewed else approval.expires_at)
    return approval


def approve(approval_id: str, *, by: Actor, reason: str = "") -> ToolApproval:
    """Let exactly this call leave, once. The same person's second press gives the decided request and changes nothing.

    `reason` is the reviewer's. Raises NotFound, AlreadyReviewed, ExpiredUnanswered, ExpiredEnded, ExpiredRemoved.
    """
    with transaction.atomic():
        conversation = _lock(by, approval_id)
        if not _decide(approval_id, to=State.EXECUTING, by=by, reason=reason):
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


def pass_on(approval_id: str, *, workspace_id: str, reason: str) -> bool:
    """The reviewer leaves it to the team. False when the request is not the reviewer's any more."""
    return _leave_to_team(approval_id, workspace_id=workspace_id, reason=reason, outcome=ReviewOutcome.PASSED)


def unchecked(approval_id: str, *, workspace_id: str, reason: str) -> bool:
    """There is no verdict and will be none, so the team decides. False when it is not the reviewer's any more."""
    return _leave_to_team(approval_id, workspace_id=workspace_id, reason=reason, outcome=ReviewOutcome.UNCHECKED)


def expire_with_conversation(conversation: Conversation) -> None:
    """The conversation, locked by the caller, has ended: its decidable requests end with it."""
    if not _expire(ToolApproval.objects.filter(conversation=conversation), because=ExpiredBecause.CONVERSATION_ENDED):
        _mark(conversation)


def expire_all(approval_ids: Collection[str], *, because: ExpiredBecause) -> int:
    """Expire those that can still be decided and, if unanswered, are past their time, in one transaction.

    Gives how many: of any number of callers with the same requests, each request counts for one.
    """
    with transaction.atomic():
        asked = ToolApproval.objects.filter(id__in=approval_ids)
        bulk.lock(asked.values_list("conversation_id", flat=True))
        return _expire(asked, because=because)


def settle(run: ToolRun, conversation: Conversation) -> None:
    """The run of an approved call has ended, under the conversation's lock: the request follows it."""
    to = State.COMPLETED if run.state == RunState.COMPLETED else State.FAILED
    moved = ToolApproval.objects.filter(id=run.id, state=State.EXECUTING).update(state=to)
    if moved:
        approval = ToolApproval.objects.get(id=run.id)
        _mark(conversation, failed=approval.tool_label if to == State.FAILED else "")
        outcome_known.send(sender=ToolApproval, approval=approval, conversation=conversation)


def _lock(by: Actor, approval_id: str) -> Conversation:
    return threads.lock(access.conversation_id_of(by, approval_id))


def _decide(approval_id: str, *, to: State, by: Actor, reason: str = "") -> bool:
    """The one statement that decides. The deadline is the database's; an ended conversation has none to decide.

    The reviewer decides only what it still has, and within its five minutes.
    """
    is_reviewer = by.kind == ActorKind.REVIEWER
    decidable = ToolApproval.objects.decidable().filter(
        id=approval_id, workspace_id=by.workspace_id, expires_at__gt=Now(), conversation__status="open"
    )
    if is_reviewer:
        decidable = decidable.filter(state=State.REVIEWING, requested_at__gt=Now() - reviews.LIMIT)
    decided = decidable.update(
        state=to, decided_at=clock.now(), decided_by_kind=by.kind, decided_by_id=by.id, decided_by_name=by.name,
        told_in_turn="", **{"review_reason" if is_reviewer else "reason": reason},
    )  # fmt: skip
    if decided:
        own = ReviewOutcome.DENIED if to == State.DENIED else ReviewOutcome.APPROVED
        reviews.close(approval_id, outcome=own if is_reviewer else ReviewOutcome.DROPPED)
    return bool(decided)


def _leave_to_team(approval_id: str, *, workspace_id: str, reason: str, outcome: ReviewOutcome) -> bool:
    by = reviewer(workspace_id)
    with transaction.atomic():
        conversation = _lock(by, approval_id)
        held = ToolApproval.objects.filter(id=approval_id, state=State.REVIEWING, conversation__status="open")
        if outcome == ReviewOutcome.PASSED:
            held = held.filter(requested_at__gt=Now() - reviews.LIMIT)
        if not held.update(state=State.PENDING, review=outcome, review_reason=reason):
            return False
        approval = access.approval(by, approval_id)
        passed = outcome == ReviewOutcome.PASSED
        _record(Kind.APPROVAL_PASSED_ON if passed else Kind.APPROVAL_UNCHECKED, approval, by=by)
        _changed(conversation, approval)
        reviews.close(approval_id, outcome=outcome)
        alarm.set_for(approval.expires_at)
        left_to_team.send(sender=ToolApproval, approval=approval, conversation=conversation)
    return True


def _second(approval_id: str, *, by: Actor, wanted: bool) -> ToolApproval:
    """Nothing moved: say why, except to the person who already gave this very answer."""
    approval = access.approval(by, approval_id)
    if approval.decided_at:
        approved = approval.state != State.DENIED
        same_person = (approval.decided_by_kind, approval.decided_by_id) == (by.kind, by.id)
        if same_person and approved == wanted:
            return approval
        raise errors.AlreadyReviewed
    if by.kind == ActorKind.REVIEWER and approval.is_decidable:
        raise errors.AlreadyReviewed
    reasons: dict[str, type[DomainError]] = {
        ExpiredBecause.CONVERSATION_ENDED: errors.ExpiredEnded,
        ExpiredBecause.ENDPOINT_REMOVED: errors.ExpiredRemoved,
    }
    raise reasons.get(approval.expired_because, errors.ExpiredUnanswered)


def _expire(asked: ToolApprovalQuerySet, *, because: ExpiredBecause) -> int:
    """Expire requests whose conversations are locked, so that nobody decides them between these statements.

    One whose time was over already went unanswered, whatever came after.
    """
    rows, late = asked.decidable(), 0
    if because == ExpiredBecause.UNANSWERED:
        rows = rows.filter(expires_at__lte=Now())
    else:
        late = _expire(asked, because=ExpiredBecause.UNANSWERED)
    expired = list(rows.order_by("conversation_id", "id"))
    if expired:
        moving = ToolApproval.objects.decidable().filter(id__in=[row.id for row in expired])
        moving.update(state=State.EXPIRED, expired_because=because, told_in_turn="")
        in_review = [row.id for row in expired if row.state == State.REVIEWING]
        reviews.close(*in_review, outcome=ReviewOutcome.DROPPED)
        events.record_all(_entry(Kind.EXPIRED, row, by=system(row.workspace_id), because=because) for row in expired)
        bulk.mark(_marks({row.conversation_id for row in expired}), cards=[row.id for row in expired])
    return late + len(expired)


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


def _changed(conversation: Conversation, approval: ToolApproval) -> None:
    """The card of a request in a locked conversation has changed, and perhaps what the queue's row says."""
    bulk.mark(_marks([conversation.id]), cards=[approval.id])


def _mark(conversation: Conversation, *, failed: str = "") -> None:
    bulk.mark(_marks([conversation.id], failed=failed), cards=[])


def _marks(conversation_ids: Collection[str], *, failed: str = "") -> dict[str, Mark]:
    """What the queue's rows say: what waits for the team, else what is being checked, else what did not run."""
    decidable: dict[str, list[tuple[str, str]]] = {id: [] for id in conversation_ids}
    rows = ToolApproval.objects.decidable().filter(conversation_id__in=conversation_ids).order_by("-requested_at")
    for id, state, label in rows.values_list("conversation_id", "state", "tool_label"):
        decidable[id].append((state, label))
    return {id: _mark_of(waiting, failed=failed) for id, waiting in decidable.items()}


def _mark_of(decidable: Sequence[tuple[str, str]], *, failed: str) -> Mark:
    pending = [label for state, label in decidable if state == State.PENDING]
    if pending:
        return Mark(len(pending), "waiting", pending[0])
    if decidable:
        return Mark(0, "reviewing", decidable[0][1])
    return Mark(0, "failed" if failed else "", failed)


def _record(kind: Kind, approval: ToolApproval, *, by: Actor) -> None:
    events.record_all([_entry(kind, approval, by=by)])


def _entry(kind: Kind, approval: ToolApproval, *, by: Actor, because: str = "") -> Entry:
    data: dict[str, Json] = {"label": approval.tool_label, "risk": approval.risk}
    return Entry(
        kind=kind,
        by=by,
        conversation_id=approval.conversation_id,
        subject_id=approval.id,
        tool_name=approval.tool_name,
        data=data | {"because": because} if because else data,
    )
