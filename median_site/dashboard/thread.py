"""A thread as pages and pushes show it: its items, drawn by the apps that own them, and the parts around them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from approvals import fragments as approval_fragments
from approvals import warnings
from approvals.models import State, ToolApproval
from conversations import fragments as conversation_fragments
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import rows
from median_site.lib.statement import fetch
from tools import fragments as tool_fragments
from tools.models import Tool, ToolRun

PAGE: Final = 50
NOTES: Final = 3

_AFTER_ALL: Final = 2**63 - 1
# An Item's element_id.
_ELEMENT: Final = re.compile(r"item-(?P<number>[0-9]{1,18})|call_[0-9a-z]{1,35}")
_ITEMS: Final = f"""
    select {rows.columns(Item, of="item")} from conversations_item item
     where workspace_id = %s and conversation_id = %s"""  # noqa: S608  # made of names in the code alone
_PAGE: Final = f"{_ITEMS} and number < %s order by number desc limit {PAGE + 1}"
_NOTES: Final = f"{_ITEMS} and kind = 'note' order by number desc limit {NOTES}"
_RUNS: Final = f"""
    select {rows.columns(ToolRun, of="run")} from tools_toolrun run
     where workspace_id = %s and conversation_id = %s and id = any(%s)"""  # noqa: S608  # names in the code
_REQUESTS: Final = f"""
    select {rows.columns(ToolApproval, of="approval")}, {rows.columns(Tool, of="tool")},
           {rows.columns(ToolRun, of="run")}
      from approvals_toolapproval approval
      left join tools_tool tool on tool.id = approval.tool_id
      left join tools_toolrun run on run.id = approval.id
     where approval.workspace_id = %s and approval.conversation_id = %s
       and (approval.id = any(%s) or approval.state in ('reviewing', 'pending', 'denied'))
     order by approval.requested_at, approval.id"""  # noqa: S608  # names in the code


@dataclass(frozen=True, slots=True)
class View:
    """Items with their HTML, oldest first; what stands around them, by element id; the cursor of what came before."""

    items: list[tuple[Item, Markup]]
    parts: Mapping[str, Markup]
    earlier: int | None = None


def page(conversation: Conversation, *, before: int | None = None) -> View:
    """The newest items, or the newest before a number. At most five queries, whatever is in it."""
    found = rows.read(Item, _PAGE, *_here(conversation), _AFTER_ALL if before is None else before)
    shown = found[:PAGE][::-1]
    return view(conversation, shown, earlier=shown[0].number if len(found) > PAGE else None)


def end_around(conversation: Conversation, element_id: str) -> int | None:
    """Before which number a page ends that has this element in its middle; None if the newest page has it, or none."""
    named = _ELEMENT.fullmatch(element_id)
    items = Item.objects.filter(workspace_id=conversation.workspace_id, conversation=conversation)
    if named is None:
        return None
    it = items.filter(number=int(named["number"])) if named["number"] else items.filter(ref=element_id)
    from_there = items.filter(number__gte=it.values("number")[:1]).order_by("number")
    later = from_there.values_list("number", flat=True)[PAGE // 2 : PAGE // 2 + 1]
    return later[0] if later else None


def view(conversation: Conversation, items: Sequence[Item], *, earlier: int | None = None) -> View:
    """Draw items of a thread, and the parts around them. `conversation` needs its customer, assignee and workspace.

    One query each for requests, runs without one, notes, and earlier runs of the same while something waits.
    """
    here = _here(conversation)
    requests, runs = _requests(conversation, [item.ref for item in items if item.kind == ItemKind.APPROVAL])
    if others := [item.ref for item in items if item.kind == ItemKind.RUN]:
        runs |= {run.id: run for run in rows.read(ToolRun, _RUNS, *here, others)}
    notes = rows.read(Item, _NOTES, *here)
    draw = _pen(conversation, requests, runs)
    pending = [row for row in requests if row.state == State.PENDING]
    parts = {
        "thread-head": conversation_fragments.thread_head(conversation),
        "thread-ask": approval_fragments.ask(conversation, pending),
        "thread-hint": conversation_fragments.thread_hint(conversation),
        "thread-notes": conversation_fragments.thread_notes(notes, version=conversation.version),
    }
    return View([(item, draw(item)) for item in items], parts, earlier)


def _pen(
    conversation: Conversation, requests: Sequence[ToolApproval], runs: Mapping[str, ToolRun]
) -> Callable[[Item], Markup]:
    """What draws one item, with everything it needs at hand."""
    by_id = {row.id: row for row in requests}
    waiting = [row for row in requests if row.is_decidable]
    denied = [row for row in reversed(requests) if row.state == State.DENIED]
    heeds = warnings.for_requests(waiting, denied=denied, customers={conversation.id: conversation.customer_id})

    def draw(item: Item) -> Markup:
        if item.kind == ItemKind.APPROVAL:
            return approval_fragments.card(
                by_id[item.ref],
                item=item,
                conversation=conversation,
                run=runs.get(item.ref),
                warnings=heeds.get(item.ref, ()),
            )
        if item.kind == ItemKind.RUN:
            return tool_fragments.run(runs[item.ref], item=item, agent=conversation.workspace.agent_name)
        return conversation_fragments.item(item)

    return draw


def _requests(conversation: Conversation, ids: list[str]) -> tuple[list[ToolApproval], dict[str, ToolRun]]:
    """The requests with these ids, and all of the thread that wait or were denied, oldest first; the runs of those that
    were approved, by id."""
    requests: list[ToolApproval] = []
    runs: dict[str, ToolRun] = {}
    for values in fetch(_REQUESTS, *_here(conversation), ids):
        found: list[Any] = rows.load_all([ToolApproval, Tool, ToolRun], values)
        request, request.tool, run = found
        requests.append(request)
        if run:
            runs[run.id] = run
    return requests, runs


def _here(conversation: Conversation) -> tuple[str, str]:
    return conversation.workspace_id, conversation.id
