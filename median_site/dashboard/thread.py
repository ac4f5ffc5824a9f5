"""A thread as pages and pushes show it: its items, drawn by the apps that own them, and the parts around them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from approvals import fragments as approval_fragments
from approvals import warnings
from approvals.models import State, ToolApproval
from conversations import fragments as conversation_fragments
from conversations.models import Conversation, Item, ItemKind
from tools import fragments as tool_fragments
from tools.models import ToolRun

PAGE: Final = 50
NOTES: Final = 3


@dataclass(frozen=True, slots=True)
class Page:
    """A stretch of a thread, oldest first; `earlier` is the cursor of the stretch before it, or None."""

    items: list[tuple[Item, Markup]]
    earlier: int | None


def page(conversation: Conversation, *, before: int | None = None) -> Page:
    """The newest items, or the newest before a number. Three queries, whatever is in it."""
    items = conversation.items.filter(workspace_id=conversation.workspace_id)
    if before is not None:
        items = items.filter(number__lt=before)
    found = list(items.order_by("-number")[: PAGE + 1])
    shown = found[:PAGE][::-1]
    return Page(thread_items(shown, conversation=conversation), shown[0].number if len(found) > PAGE else None)


def thread_items(items: Sequence[Item], *, conversation: Conversation) -> list[tuple[Item, Markup]]:
    """Each item with its HTML. `conversation` needs its customer and workspace. One query for all requests, one for all
    runs, two more for warnings while something waits."""
    refs = [item.ref for item in items if item.kind in {ItemKind.APPROVAL, ItemKind.RUN}]
    here = {"workspace_id": conversation.workspace_id, "conversation": conversation, "id__in": refs}
    requests = {row.id: row for row in ToolApproval.objects.filter(**here)} if refs else {}
    runs = {row.id: row for row in ToolRun.objects.filter(**here)} if refs else {}
    waiting = [row for row in requests.values() if row.is_decidable]
    heeds = warnings.for_requests(waiting, conversation)

    def draw(item: Item) -> Markup:
        if item.kind == ItemKind.APPROVAL:
            request = requests[item.ref]
            return approval_fragments.card(
                request,
                item=item,
                conversation=conversation,
                run=runs.get(item.ref),
                warnings=heeds.get(item.ref, ()),
            )
        if item.kind == ItemKind.RUN:
            return tool_fragments.run(runs[item.ref], item=item, agent=conversation.workspace.agent_name)
        return conversation_fragments.item(item)

    return [(item, draw(item)) for item in items]


def parts(conversation: Conversation) -> Mapping[str, Markup]:
    """What stands around the items, by element id. At most three queries."""
    notes = conversation.items.filter(workspace_id=conversation.workspace_id, kind=ItemKind.NOTE)
    return {
        "thread-head": conversation_fragments.thread_head(conversation),
        "thread-ask": approval_fragments.ask(conversation, _waiting(conversation)),
        "thread-hint": conversation_fragments.thread_hint(conversation),
        "thread-notes": conversation_fragments.thread_notes(
            list(notes.order_by("-number")[:NOTES]), version=conversation.version
        ),
    }


def _waiting(conversation: Conversation) -> list[tuple[ToolApproval, Item]]:
    """What waits for the team, oldest first, each with its place in the thread."""
    if not conversation.waiting:
        return []
    requests = ToolApproval.objects.filter(
        workspace_id=conversation.workspace_id, conversation=conversation, state=State.PENDING
    ).order_by("requested_at")
    found = list(requests)
    places = _places(conversation, (request.id for request in found))
    return [(request, places[request.id]) for request in found if request.id in places]


def _places(conversation: Conversation, refs: Iterable[str]) -> Mapping[str, Item]:
    rows = conversation.items.filter(
        workspace_id=conversation.workspace_id, kind=ItemKind.APPROVAL, ref__in=list(refs)
    )
    return {row.ref: row for row in rows}
