"""The state of a request, and the only place that moves it.

Every move is one conditional UPDATE under the conversation's lock, decided by the database's clock. Whoever comes
second gets the published sentence; the row, the line, the run and the push are one statement (lib.statement).
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final, cast

from django.db import transaction

from approvals import access, alarm, errors, marks, reviews
from approvals.models import ExpiredBecause, ReviewOutcome, State, ToolApproval
from approvals.signals import left_to_team, outcome_known
from conversations import bulk, threads
from conversations.models import Conversation, ItemKind
from median_site.lib import canonical_json, clock, ids, rows, strict_json, text
from median_site.lib.actors import Actor, ActorKind, reviewer, system
from median_site.lib.errors import DomainError
from median_site.lib.statement import Row, Statement, among
from team import events
from team.events import Entry, Kind
from tools import runs
from tools.models import Risk, Tool

LIFETIME: Final = timedelta(hours=24)
OPEN_LIMIT: Final = 3
REASON_LIMIT: Final = 2_000

_LOCK: Final = """
    select from conversations_conversation where id in (select conversation_id from approvals_toolapproval a where {})
     order by id for no key update
"""
_READING: Final = "a.state = 'reviewing'"
_STILL_READING: Final = (
    f"{_READING} and a.requested_at > clock_timestamp() - interval '{reviews.LIMIT.total_seconds()} seconds'"
)


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
    events.record(
        Kind.APPROVAL_REVIEWING if is_reviewed else Kind.APPROVAL_REQUESTED, by=by, conversation_id=conversation.id,
        subject_id=approval.id, tool_name=tool.name, data={"label": tool.label, "risk": tool.risk},
    )  # fmt: skip
    threads.add(conversation, kind=ItemKind.APPROVAL, by=by, ref=approval.id)
    marks.refresh(conversation)
    if is_reviewed:
        reviews.queue(approval)
    alarm.set_for(now + reviews.LIMIT if is_reviewed else approval.expires_at)
    return approval


def approve(approval_id: str, *, by: Actor, reason: str = "") -> ToolApproval:
    """Let exactly this call leave, once. The same person's second press gives the decided request and changes nothing;
    a program's is refused like anyone else's.

    `reason` is the reviewer's. Raises NotFound, AlreadyReviewed, ExpiredUnanswered, ExpiredEnded, ExpiredRemoved.
    """
    statement = Statement()
    runs.queue_approved(by=by, to=statement)
    decided = _decide(approval_id, to=State.EXECUTING, kind=Kind.APPROVED, by=by, reason=reason, statement=statement)
    return decided or _second(approval_id, by=by, wanted=True)


def deny(approval_id: str, *, by: Actor, reason: str = "") -> ToolApproval:
    """Refuse the call; `reason` is for the team alone. Second presses and errors as in `approve`, and ReasonTooLong."""
    reason, _ = text.clean(reason)
    if len(reason) > REASON_LIMIT:
        raise errors.ReasonTooLong(field="reason")
    statement = Statement()
    outcome_known.send(sender=ToolApproval, because="denied", statement=statement, source="moved")
    decided = _decide(approval_id, to=State.DENIED, kind=Kind.DENIED, by=by, reason=reason, statement=statement)
    return decided or _second(approval_id, by=by, wanted=False)


def pass_on(approval_id: str, *, workspace_id: str, reason: str) -> bool:
    """The reviewer leaves it to the team. False when the request is not the reviewer's any more."""
    return _leave_to_team(approval_id, workspace_id=workspace_id, reason=reason, outcome=ReviewOutcome.PASSED)


def unchecked(approval_id: str, *, workspace_id: str, reason: str) -> bool:
    """There is no verdict and will be none, so the team decides. False when it is not the reviewer's any more."""
    return _leave_to_team(approval_id, workspace_id=workspace_id, reason=reason, outcome=ReviewOutcome.UNCHECKED)


def expire_with_conversation(conversation: Conversation) -> None:
    """The conversation, locked by the caller, has ended: its decidable requests end with it."""
    decidable = ToolApproval.objects.decidable().filter(conversation=conversation)
    if not expire_all(list(decidable.values_list("id", flat=True)), because=ExpiredBecause.CONVERSATION_ENDED):
        marks.refresh(conversation)


def expire_all(approval_ids: Collection[str], *, because: ExpiredBecause) -> int:
    """Expire those that can still be decided and, if unanswered, are past their time, in one transaction.

    Gives how many: of any number of callers with the same requests, each request counts for one. One whose time was
    over already went unanswered, whatever came after.
    """
    late = 0
    if because != ExpiredBecause.UNANSWERED:
        late = expire_all(approval_ids, because=ExpiredBecause.UNANSWERED)
    set_to = {"state": State.EXPIRED.value, "expired_because": because.value, "told_in_turn": ""}
    where = "a.expires_at <= clock_timestamp()" if because == ExpiredBecause.UNANSWERED else "true"
    entry = Entry(kind=Kind.EXPIRED, by=system(""), data={"because": because.value})
    statement = Statement()
    reviews.close(ReviewOutcome.DROPPED, to=statement)
    # One row, whatever their number: each would carry the doorbells of all.
    ((count,),) = _move(approval_ids, set_to, where=where, entry=entry, statement=statement, give="count(*)")
    return late + cast(int, count)


def settle(*, failed: bool, to: Statement) -> None:
    """The run of an approved call, a statement's part `moved`, ends in it: the request follows."""
    state = State.FAILED if failed else State.COMPLETED
    to.add(
        "settled",
        "update approvals_toolapproval a set state = %s from moved where a.id = moved.id and a.state = 'executing'"
        " returning a.conversation_id, a.tool_label as label",
        state.value,
    )
    marks.add(source="settled", failed=failed, to=to)
    outcome_known.send(sender=ToolApproval, because="run_ended", statement=to, source="settled")


def _decide(
    approval_id: str, *, to: State, kind: Kind, by: Actor, reason: str, statement: Statement
) -> ToolApproval | None:
    """The one statement that decides. The deadline is the database's; an ended conversation has none to decide.

    The reviewer decides only what it still has, and within its five minutes. None when there was nothing to decide.
    """
    is_reviewer = by.kind == ActorKind.REVIEWER
    set_to: dict[str, object] = {
        "state": to.value, "decided_at": clock.now(), "decided_by_kind": by.kind.value, "decided_by_id": by.id,
        "decided_by_name": by.name, "told_in_turn": "", "review_reason" if is_reviewer else "reason": reason,
    }  # fmt: skip
    where = "c.status = 'open' and a.expires_at > clock_timestamp()"
    own = ReviewOutcome.DENIED if to == State.DENIED else ReviewOutcome.APPROVED
    if is_reviewer:
        where = f"{where} and {_STILL_READING}"
    reviews.close(own if is_reviewer else ReviewOutcome.DROPPED, to=statement)
    entry = Entry(kind=kind, by=by)
    moved = _move([approval_id], set_to, where=where, entry=entry, statement=statement, workspace_id=by.workspace_id)
    return rows.load(ToolApproval, moved[0]) if moved else None


def _leave_to_team(approval_id: str, *, workspace_id: str, reason: str, outcome: ReviewOutcome) -> bool:
    passed = outcome == ReviewOutcome.PASSED
    set_to = {"state": State.PENDING.value, "review": outcome.value, "review_reason": reason}
    where = f"c.status = 'open' and {_STILL_READING if passed else _READING}"
    entry = Entry(kind=Kind.APPROVAL_PASSED_ON if passed else Kind.APPROVAL_UNCHECKED, by=reviewer(workspace_id))
    statement = Statement()
    marks.add(still_open=True, to=statement)
    reviews.close(outcome, to=statement)
    left_to_team.send(sender=ToolApproval, statement=statement, source="moved")
    with transaction.atomic():
        moved = _move([approval_id], set_to, where=where, entry=entry, statement=statement, workspace_id=workspace_id)
        for row in moved:
            alarm.set_for(rows.load(ToolApproval, row).expires_at)
    return bool(moved)


def _move(
    approval_ids: Collection[str],
    set_to: Mapping[str, object],
    *,
    where: str,
    entry: Entry,
    statement: Statement,
    workspace_id: str = "",
    give: str = "",
) -> list[Row]:
    """Move those of these requests that can be decided, with a row of the log each and all that the statement adds.

    `where` says more about a request `a` in a conversation `c`. With a `workspace_id` those of other workspaces do not
    exist. Gives the ones that moved, for `rows.load`, or what is to be given of them.
    """
    among_them, value = among(approval_ids)
    these, values = f"a.id {among_them}", [value]
    if workspace_id:
        these, values = f"{these} and a.workspace_id = %s", [value, workspace_id]
    statement.add(
        "moved",
        f"update approvals_toolapproval a set {', '.join(f'{name} = %s' for name in set_to)}"  # noqa: S608
        f" from conversations_conversation c where {these} and c.id = a.conversation_id"
        f" and a.state in ('reviewing', 'pending') and {where} returning a.*, a.tool_label as label,"
        " 'approval' as card, jsonb_build_object('label', a.tool_label, 'risk', a.risk) as data",
        *set_to.values(), *values,
    )  # fmt: skip
    if "marks" not in statement:
        marks.add(to=statement)
    events.add(entry, to=statement)
    bulk.advance(to=statement)
    give = f"{give or rows.columns(ToolApproval, of='moved')} from moved"
    return statement.run(lock=_LOCK.format(these), values=values, give=give)


def _second(approval_id: str, *, by: Actor, wanted: bool) -> ToolApproval:
    """Nothing moved: say why, except to the person, if it is one, who already gave this very answer."""
    approval = access.approval(by, approval_id)
    if approval.decided_at:
        approved = approval.state != State.DENIED
        same = (approval.decided_by_kind, approval.decided_by_id) == (by.kind, by.id)
        if same and approved == wanted and by.kind != ActorKind.API:
            return approval
        raise errors.AlreadyReviewed
    if by.kind == ActorKind.REVIEWER and approval.is_decidable:
        raise errors.AlreadyReviewed
    reasons: dict[str, type[DomainError]] = {
        ExpiredBecause.CONVERSATION_ENDED: errors.ExpiredEnded,
        ExpiredBecause.ENDPOINT_REMOVED: errors.ExpiredRemoved,
    }
    raise reasons.get(approval.expired_because, errors.ExpiredUnanswered)


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
