"""A thread as pages and pushes show it: its items, drawn by the apps that own them, and the parts around them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q
from markupsafe import Markup

from approvals import fragments as approval_fragments
from approvals import warnings
from approvals.models import DECIDABLE, State, ToolApproval
from conversations import fragments as conversation_fragments
from conversations.models import Conversation, Item, ItemKind
from tools import fragments as tool_fragments
from tools.models import ToolRun

PAGE: Final = 50
NOTES: Final = 3


@dataclass(frozen=True, slots=True)
class View:
    """Items with their HTML, oldest first; what stands around them, by element id; the cursor of what came before."""

    items: list[tuple[Item, Markup]]
    parts: Mapping[str, Markup]
    earlier: int | None = None


def page(conversation: Conversation, *, before: int | None = None) -> View:
    """The newest items, or the newest before a number. At most five queries, whatever is in it."""
    items = conversation.items.filter(workspace_id=conversation.workspace_id)
    if before is not None:
        items = items.filter(number__lt=before)
    found = list(items.order_by("-number")[: PAGE + 1])
    shown = found[:PAGE][::-1]
    return view(conversation, shown, earlier=shown[0].number if len(found) > PAGE else None)


def view(conversation: Conversation, items: Sequence[Item], *, earlier: int | None = None) -> View:
    """Draw items of a thread, and the parts around them. `conversation` needs its customer, assignee and workspace.

    One query each for requests, runs, notes, and earlier runs of the same while something waits.
    """
    refs = [item.ref for item in items if item.kind in {ItemKind.APPROVAL, ItemKind.RUN}]
    requests = _requests(conversation, refs)
    here = {"workspace_id": conversation.workspace_id, "conversation": conversation}
    runs = {row.id: row for row in ToolRun.objects.filter(**here, id__in=refs)} if refs else {}
    notes = Item.objects.filter(**here, kind=ItemKind.NOTE).order_by("-number")[:NOTES]
    draw = _pen(conversation, requests, runs)
    pending = [row for row in requests if row.state == State.PENDING]
    parts = {
        "thread-head": conversation_fragments.thread_head(conversation),
        "thread-ask": approval_fragments.ask(conversation, pending),
        "thread-hint": conversation_fragments.thread_hint(conversation),
        "thread-notes": conversation_fragments.thread_notes(list(notes), version=conversation.version),
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


def _requests(conversation: Conversation, refs: Sequence[str]) -> list[ToolApproval]:
    """The requests with these ids, and all of the thread that wait or were denied; oldest first."""
    rows = ToolApproval.objects.filter(workspace_id=conversation.workspace_id, conversation=conversation)
    rows = rows.select_related("tool").filter(Q(id__in=refs) | Q(state__in=[*DECIDABLE, State.DENIED]))
    return list(rows.order_by("requested_at", "id"))
