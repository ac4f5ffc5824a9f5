"""What a teammate should know before deciding: this was done or tried before, or was refused in another form."""

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Q

from approvals.fragments import Heed
from approvals.models import ToolApproval
from median_site.lib import times
from tools import outcomes
from tools.client import NOTHING_SENT
from tools.models import RunState, ToolRun


def for_requests(
    waiting: Sequence[ToolApproval], *, denied: Sequence[ToolApproval], customers: Mapping[str, str]
) -> Mapping[str, list[Heed]]:
    """Warnings by request, for decidable requests of one workspace; `denied` are those that their conversations saw
    denied, newest first, and `customers` says whose each conversation is. One query, none when nothing waits."""
    if not waiting:
        return {}
    ran = Q(state=RunState.COMPLETED, refusal__isnull=True)
    may_have_run = Q(state=RunState.FAILED, code__in=outcomes.MAY_HAVE_HAPPENED) & ~Q(detail=NOTHING_SENT)
    runs = ToolRun.objects.filter(
        ran | may_have_run,
        workspace_id=waiting[0].workspace_id,
        conversation__customer_id__in=set(customers.values()),
        tool_name__in=[request.tool_name for request in waiting],
        input__in=[request.input for request in waiting],
    ).order_by("ended_at")
    last = {
        (run.conversation.customer_id, run.tool_name, run.input): run
        for run in runs.select_related("conversation")
        if run.conversation
    }
    return {
        request.id: [
            *_ran(last.get((customers[request.conversation_id], request.tool_name, request.input))),
            *_refused(request, denied),
        ]
        for request in waiting
    }


def _ran(run: ToolRun | None) -> Iterable[Heed]:
    if run is None:
        return
    by = f", approved by {run.approver_name}" if run.approver_name else ""
    when = f"{times.moment(run.queued_at)}{by}"
    if run.state == RunState.COMPLETED:
        yield Heed(f"The same input ran for this customer before: {when}.")
    else:
        yield Heed(f"The same input was tried for this customer before: {when}. Check whether the action completed.")


def _refused(request: ToolApproval, denied: Iterable[ToolApproval]) -> Iterable[Heed]:
    same = (each for each in denied if each.conversation_id == request.conversation_id)
    last = next((each for each in same if each.tool_name == request.tool_name), None)
    if last and last.input == request.input:
        yield Heed("The team refused exactly this before.")
    elif last:
        yield Heed("The input changed since the team last refused it.")
