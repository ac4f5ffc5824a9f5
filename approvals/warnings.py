"""What a teammate should know before deciding: this was done before, or was refused in another form."""

from collections.abc import Iterable, Mapping, Sequence

from approvals.fragments import Heed
from approvals.models import ToolApproval
from conversations.models import Conversation
from median_site.lib import times
from tools.models import RunState, ToolRun


def for_requests(
    waiting: Sequence[ToolApproval], *, denied: Sequence[ToolApproval], conversation: Conversation
) -> Mapping[str, list[Heed]]:
    """Warnings by request, for decidable requests of one conversation; `denied` are those that it saw denied, newest
    first. One query, none when nothing waits."""
    if not waiting:
        return {}
    runs = ToolRun.objects.filter(
        workspace_id=conversation.workspace_id,
        conversation__customer_id=conversation.customer_id,
        tool_name__in=[request.tool_name for request in waiting],
        input__in=[request.input for request in waiting],
        state=RunState.COMPLETED,
        refusal__isnull=True,
    ).order_by("-ended_at")
    ran = list(runs)
    return {request.id: [*_ran(request, ran), *_refused(request, denied)] for request in waiting}


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
