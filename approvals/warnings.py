"""What a teammate should know before deciding: this was done or tried before, or was refused in another form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from approvals.fragments import Heed
from approvals.models import ToolApproval
from median_site.lib import canonical_json, rows, strict_json, times
from median_site.lib.actors import ActorKind
from median_site.lib.statement import fetch
from tools import outcomes
from tools.client import NOTHING_SENT
from tools.models import RunState, ToolRun

# What ran, and what may have: whoever answers with a server error, a gateway among them, does not say how far it came.
_READ: Final = f"""
    select conversation.customer_id, {rows.columns(ToolRun, of="run")}
      from tools_toolrun run join conversations_conversation conversation on conversation.id = run.conversation_id
     where run.workspace_id = %s and conversation.customer_id = any(%s) and run.tool_name = any(%s)
       and run.input::jsonb = any(%s::jsonb[])
       and (run.state = 'completed' and run.refusal is null
            or run.state = 'failed' and (run.code = any(%s) and run.detail <> %s or run.http_status >= 500))
     order by run.ended_at
"""  # noqa: S608  # made of names in the code alone


def for_requests(
    waiting: Sequence[ToolApproval], *, denied: Sequence[ToolApproval], customers: Mapping[str, str]
) -> Mapping[str, list[Heed]]:
    """Warnings by request, for decidable requests of one workspace; `denied` are those that their conversations saw
    denied, newest first, and `customers` says whose each conversation is. One query, none when nothing waits."""
    if not waiting:
        return {}
    found = fetch(
        _READ,
        waiting[0].workspace_id,
        list(set(customers.values())),
        [request.tool_name for request in waiting],
        [request.input for request in waiting],
        list(outcomes.MAY_HAVE_HAPPENED),
        NOTHING_SENT,
    )
    last: dict[Any, ToolRun] = {}
    for customer_id, *values in found:
        run = rows.load(ToolRun, values)
        last[customer_id, run.tool_name, _value(run.input)] = run
    return {
        request.id: [
            *_ran(last.get((customers[request.conversation_id], request.tool_name, _value(request.input)))),
            *_refused(request, denied),
        ]
        for request in waiting
    }


def _ran(run: ToolRun | None) -> Iterable[Heed]:
    if not run:
        return
    how = "approved" if run.approval else "run"
    by = f", {how} by {run.approver_name}" if run.approver_name else ""
    when = f"{times.moment(run.queued_at)}{by}"
    if run.state == RunState.COMPLETED:
        yield Heed(f"The same input ran for this customer before: {when}.")
    else:
        yield Heed(f"The same input was tried for this customer before: {when}. Check whether the action completed.")


def _refused(request: ToolApproval, denied: Iterable[ToolApproval]) -> Iterable[Heed]:
    same = (each for each in denied if each.conversation_id == request.conversation_id)
    last = next((each for each in same if each.tool_name == request.tool_name), None)
    if last is None:
        return
    who = "reviewer" if last.decided_by_kind == ActorKind.REVIEWER else "team"
    if _value(last.input) == _value(request.input):
        yield Heed(f"The {who} refused exactly this before.")
    else:
        yield Heed(f"The input changed since the {who} last refused it.")


def _value(input_text: str) -> bytes:
    """The same for two inputs that are one value, in whatever order their keys stand."""
    return canonical_json.dumps(strict_json.loads(input_text))
