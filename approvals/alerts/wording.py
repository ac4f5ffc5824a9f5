"""What an alert says of its request, for Slack and Discord alike. It says nothing that the card would not, and nothing
of the input looks like something else: each field is one line, hidden characters are written out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from approvals.fragments import UNVERIFIED, Heed, shown_state
from approvals.models import DECIDABLE, State, ToolApproval
from median_site.lib import text, times
from median_site.lib.actors import Actor, ActorKind
from tools import values
from tools.characters import plain, written
from tools.models import Risk, ToolRun
from tools.values import Row

SHORTENED: Final = "The input is too long for a message. Read and approve it in Median."
TEST: Final = "Median is set up here: requests that need a teammate are announced in this channel."
REASON: Final = "Reason (optional, only for the team)"
REASON_LIMIT: Final = 1_000
_REASON: Final = 500  # characters of the reviewer's


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Plain texts, nothing escaped. `outcome` is empty while somebody can decide."""

    approval_id: str
    link: str
    title: str
    about: str
    lines: tuple[str, ...]
    heeds: tuple[str, ...]
    outcome: str

    @property
    def decidable(self) -> bool:
        return not self.outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the form for a reason to deny says. Plain texts, nothing escaped."""

    approval_id: str
    title: str
    about: str


def denial(approval: ToolApproval) -> Asked:
    """Of a request that has its conversation, customer and workspace at hand."""
    label, held = plain(approval.tool_label), approval.conversation
    about = f"{plain(held.workspace.agent_name)} wants to run {label} for {plain(held.customer.display_name)}."
    return Asked(approval_id=approval.id, title=f"Deny {label}?", about=about)


def of(approval: ToolApproval, *, run: ToolRun | None, warnings: Iterable[Heed], link: str) -> Shown:
    """The alert of a request in its present state; it has its conversation, customer and workspace at hand."""
    conversation, state = approval.conversation, shown_state(approval)
    decidable = state in DECIDABLE
    risk = "High risk" if approval.risk == Risk.HIGH else "Reviewed"
    asked = f"asked at {times.clock(approval.requested_at)}"
    expires = [f"expires {times.deadline(approval.expires_at)}"] if decidable else []
    heeds = [warning.text for warning in warnings] if decidable else []
    if not conversation.customer.verified:
        heeds.append(UNVERIFIED.text)
    if decidable and approval.review:
        who = "The reviewer passed this to the team"
        heeds.append(
            f"{who if approval.review == 'passed' else 'The reviewer could not check this'}: {_reason(approval)}"
        )
    return Shown(
        approval_id=approval.id,
        link=link,
        title=f"{plain(conversation.workspace.agent_name)} {'wants' if decidable else 'asked'} to run"
        f" {plain(approval.tool_label)}",
        about=" · ".join([risk, f"for {plain(conversation.customer.display_name)}", asked, *expires]),
        lines=tuple(_lines(values.rows_of(approval.input).rows)),
        heeds=tuple(heeds),
        outcome="" if decidable else _outcome(approval, state, run),
    )


def fit(lines: Iterable[str], *, room: int, escape: Callable[[str], str]) -> tuple[str, bool]:
    """The lines, escaped, in at most `room` characters, and whether that is all of them."""
    whole = "\n".join(map(escape, lines))
    if len(whole) <= room:
        return whole, True
    return cut("\n".join(lines), room=room, escape=escape), False


def cut(line: str, *, room: int, escape: Callable[[str], str]) -> str:
    """As much of the text as fits when escaped; an ellipsis stands for the rest. No escape is cut in two."""
    if len(escape(line)) <= room:
        return escape(line)
    left, kept = room - 1, []
    for character in line[:room]:
        part = escape(character)
        left -= len(part)
        if left < 0:
            break
        kept.append(part)
    return "".join(kept) + "…"


def _lines(rows: Iterable[Row], above: str = "") -> Iterator[str]:
    for row in rows:
        label = f"{above}{f'“{written(row.key)}”' if row.key else row.label}"
        if row.rows:
            yield f"{label}: {row.count}"
            yield from _lines(row.rows, f"{label} › ")
        else:
            yield f"{label}: {_value(row)}"


def _value(row: Row) -> str:
    if row.none:
        return f"({row.none})"
    notes = ["text"] if row.is_text else []
    if row.mixture:
        notes.append(f"{row.mixture.words}: {written(row.mixture.codes)}")
    return written(row.pieces) + (f" ({', '.join(notes)})" if notes else "")


def _reason(approval: ToolApproval) -> str:
    return text.excerpt(plain(approval.review_reason), _REASON)


def _outcome(approval: ToolApproval, state: State, run: ToolRun | None) -> str:
    by = Actor(ActorKind(approval.decided_by_kind or "system"), approval.workspace_id, name=approval.decided_by_name)
    who = {"reviewer": "the reviewer", "api": "the API"}.get(by.kind, plain(by.short_name))
    at = f" · {times.clock(approval.decided_at)}" if approval.decided_at else ""
    why = {
        "conversation_ended": "because the conversation ended",
        "endpoint_removed": "because its endpoint was removed",
    }
    said = {
        State.EXECUTING: f"Approved by {who} · running now",
        State.COMPLETED: f"Approved by {who}{at}",
        State.FAILED: f"Approved by {who}, but it did not run",
        State.DENIED: f"Denied by {who}{at}",
    }.get(state, f"Expired {why.get(approval.expired_because, 'unanswered')}")
    if run and run.refusal:
        return f"{said}, and the tool refused"
    return f"{said}. {text.excerpt(plain(run.error), _REASON)}" if run and run.error else said
