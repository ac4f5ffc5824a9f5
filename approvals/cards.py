"""Cards of requests wherever they stand outside their thread, each with what it shows at hand."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet
from markupsafe import Markup

from approvals import fragments, warnings
from approvals.fragments import Heed
from approvals.models import State, ToolApproval
from conversations.models import Conversation, Customer, Item, ItemKind
from median_site.lib import rows as lib_rows
from median_site.lib.statement import fetch
from team.models import Workspace
from tools.models import ToolRun

_MODELS: Final = {
    "approval": ToolApproval, "conversation": Conversation, "customer": Customer, "workspace": Workspace, "item": Item,
    "run": ToolRun,
}  # fmt: skip
_DECIDED: Final = f"""
    select {", ".join(lib_rows.columns(model, of=name) for name, model in _MODELS.items())}
      from approvals_toolapproval approval
      join conversations_conversation conversation on conversation.id = approval.conversation_id
      join conversations_customer customer on customer.id = conversation.customer_id
      join team_workspace workspace on workspace.id = approval.workspace_id
      join conversations_item item on item.workspace_id = approval.workspace_id
           and item.conversation_id = approval.conversation_id and item.kind = 'approval' and item.ref = approval.id
           and item.ref <> ''
      left join tools_toolrun run on run.id = approval.id
     where approval.id = %s and approval.workspace_id = %s
"""  # noqa: S608  # made of names in the code alone


def rows(workspace_id: str) -> QuerySet[ToolApproval]:
    """A workspace's requests with all that `draw` needs of them."""
    found = ToolApproval.objects.filter(workspace_id=workspace_id)
    return found.select_related("conversation__customer", "conversation__workspace", "tool")


def decided(approval: ToolApproval) -> Markup:
    """The card of a request that has just been decided: of all that `draw` reads for others, in one statement."""
    found: list[Any] = lib_rows.load_all(list(_MODELS.values()), fetch(_DECIDED, approval.id, approval.workspace_id)[0])
    request, conversation, conversation.customer, conversation.workspace, item, run = found
    return fragments.card(request, item=item, conversation=conversation, run=run)


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
    warned = heeds([request for request in requests if request.is_decidable])
    return {
        request.id: (
            items[request.id],
            fragments.card(
                request,
                item=items[request.id],
                conversation=request.conversation,
                run=runs.get(request.id),
                warnings=warned.get(request.id, ()),
            ),
        )
        for request in requests
    }


def heeds(waiting: Sequence[ToolApproval]) -> Mapping[str, list[Heed]]:
    """What a teammate should know before deciding each of these, by id: `rows` of one workspace that wait."""
    if not waiting:
        return {}
    denied = ToolApproval.objects.filter(
        workspace_id=waiting[0].workspace_id,
        conversation_id__in={each.conversation_id for each in waiting},
        state=State.DENIED,
    ).order_by("-decided_at")
    customers = {request.conversation_id: request.conversation.customer_id for request in waiting}
    return warnings.for_requests(waiting, denied=list(denied), customers=customers)
