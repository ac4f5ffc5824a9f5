"""The card of a request and the bar above the composer, each by one function for page, answer and push."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from approvals.models import DECIDABLE, State, ToolApproval
from conversations.fragments import place
from conversations.models import Conversation, Item
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.fragments import render
from tools import values
from tools.fragments import result_view
from tools.models import ToolRun

_NEWS: Final = {
    State.REVIEWING: "is being checked by the reviewer",
    State.PENDING: "needs approval",
    State.EXECUTING: "is running",
    State.COMPLETED: "ran",
    State.FAILED: "did not run",
    State.DENIED: "was denied",
    State.EXPIRED: "expired",
}


@dataclass(frozen=True, slots=True)
class Heed:
    """Something to heed before deciding; `symbol` is an icon."""

    text: str
    symbol: str = "warn"


UNVERIFIED: Final = Heed("The customer is not verified.", "unverified")


def card(
    approval: ToolApproval,
    *,
    item: Item,
    conversation: Conversation,
    run: ToolRun | None,
    warnings: Sequence[Heed] = (),
) -> Markup:
    """The request in its present state. `conversation` needs its customer and workspace, a request that waits its tool;
    `run` is the approved call's."""
    state = shown_state(approval)
    decidable = state in DECIDABLE
    heeded = [*warnings] if conversation.customer.verified else [*warnings, UNVERIFIED]
    return render(
        "approvals/_approval_card.html",
        approval=approval,
        item=item,
        place=place(item),
        agent=conversation.workspace.agent_name,
        state=state,
        decidable=decidable,
        who=_first_name(approval),
        customer=conversation.customer.display_name,
        values=values.rows_of(approval.input, optional=_fields(approval) if decidable else ()),
        warnings=heeded,
        run=run,
        view=result_view(run) if run else None,
        refused=bool(run and run.refusal),
        news=f"{approval.tool_label} {_NEWS[state]}",
    )


def ask(conversation: Conversation, waiting: Sequence[ToolApproval]) -> Markup:
    """The bar above the composer, for the first request that waits; empty while a person has the thread.

    It carries the buttons only when the whole input fits on its line: one approves what one sees.
    """
    seen = [row for row in waiting if shown_state(row) == State.PENDING] if conversation.agent_has_it else []
    approval = seen[0] if seen else None
    return render(
        "approvals/_ask.html",
        version=conversation.version,
        agent=conversation.workspace.agent_name,
        approval=approval,
        customer=conversation.customer.display_name,
        more=len(seen) - 1,
        line=values.rows_of(approval.input).one_line if approval else None,
        plain=True,
    )


def shown_state(approval: ToolApproval) -> State:
    """The state as people should see it: past its deadline it has expired, whether or not the sweep has been there."""
    return State(approval.state_at(clock.now()))


def _fields(approval: ToolApproval) -> Collection[str]:
    """What the tool's schema knows, as long as it is the schema that the request was made under."""
    tool = approval.tool
    if tool is None or tool.content_hash != approval.schema_hash:
        return ()
    schema = json.loads(tool.input_schema)
    return schema.get("properties", {}) if isinstance(schema, dict) else ()


def _first_name(approval: ToolApproval) -> str:
    if not approval.decided_by_kind:
        return ""
    return Actor(ActorKind(approval.decided_by_kind), approval.workspace_id, name=approval.decided_by_name).short_name
