"""What a teammate should know before deciding: this was done before, or was refused in another form."""

from collections.abc import Iterable, Mapping, Sequence

from approvals.fragments import Heed
from approvals.models import State, ToolApproval
from conversations.models import Conversation
from median_site.lib import times
from tools.models import RunState, ToolRun


def for_requests(requests: Sequence[ToolApproval], conversation: Conversation) -> Mapping[str, list[Heed]]:
    """Warnings by request, for decidable requests of one conversation. Two queries, none when there are no requests."""
    if not requests:
        return {}
    names = [request.tool_name for request in requests]
    runs = ToolRun.objects.filter(
        workspace_id=conversation.workspace_id,
        conversation__customer_id=conversation.customer_id,
        tool_name__in=names,
        input__in=[request.input for request in requests],
        state=RunState.COMPLETED,
        refusal=None,
    ).order_by("-ended_at")
    denied = ToolApproval.objects.filter(
        workspace_id=conversation.workspace_id, conversation=conversation, tool_name__in=names, state=State.DENIED
    ).order_by("-decided_at")
    ran_before, refused_before = list(runs), list(denied)
    return {request.id: [*_ran(request, ran_before), *_refused(request, refused_before)] for request in requests}


def _ran(request: ToolApproval, runs: Iterable[ToolRun]) -> Iterable[Heed]:
    same = [run for run in runs if (run.tool_name, run.input) == (request.tool_name, request.input)]
    for run in same[:1]:
        by = f", approved by {run.approver_name}" if run.approver_name else ""
        yield Heed(f"The same input ran for this customer before: {times.moment(run.queued_at)}{by}.")


def _refused(request: ToolApproval, denied: Iterable[ToolApproval]) -> Iterable[Heed]:
    last = next((each for each in denied if each.tool_name == request.tool_name), None)
    if last and last.input == request.input:
        yield Heed("The team refused exactly this before.")
    elif last:
        yield Heed("The input changed since the team last refused it.")
