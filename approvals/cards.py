"""Cards of requests wherever they stand outside their thread, each with what it shows at hand."""

from collections.abc import Mapping, Sequence

from django.db.models import QuerySet
from markupsafe import Markup

from approvals import fragments, warnings
from approvals.models import State, ToolApproval
from conversations.models import Item, ItemKind
from tools.models import ToolRun


def rows(workspace_id: str) -> QuerySet[ToolApproval]:
    """A workspace's requests with all that `draw` needs of them."""
    found = ToolApproval.objects.filter(workspace_id=workspace_id)
    return found.select_related("conversation__customer", "conversation__workspace", "tool")


def draw(requests: Sequence[ToolApproval]) -> Mapping[str, tuple[Item, Markup]]:
    """The card of each request, the same bytes as in its thread, with the item that places it there; by id.

    The requests are `rows` of one workspace. Four queries, however many they are; two when none waits.
    """
    if not requests:
        return {}
    of_workspace = {"workspace_id": requests[0].workspace_id}
    ids = [request.id for request in requests]
    threads = {request.conversation_id for request in requests}
    items = {
        item.ref: item
        for item in Item.objects.filter(
            **of_workspace, conversation_id__in=threads, kind=ItemKind.APPROVAL, ref__in=ids
        )
    }
    runs = {run.id: run for run in ToolRun.objects.filter(**of_workspace, id__in=ids)}
    waiting = [request for request in requests if request.is_decidable]
    denied = ToolApproval.objects.filter(
        **of_workspace, conversation_id__in={each.conversation_id for each in waiting}, state=State.DENIED
    ).order_by("-decided_at")
    heeds = warnings.for_requests(
        waiting,
        denied=list(denied) if waiting else [],
        customers={request.conversation_id: request.conversation.customer_id for request in waiting},
    )
    return {
        request.id: (
            items[request.id],
            fragments.card(
                request,
                item=items[request.id],
                conversation=request.conversation,
                run=runs.get(request.id),
                warnings=heeds.get(request.id, ()),
            ),
        )
        for request in requests
    }
