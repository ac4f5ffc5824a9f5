"""The Approvals page: every request of the workspace, decided in place or several at once."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from approvals.models import ToolApproval
from median_site.dashboard import request_rows, requests, together
from median_site.dashboard.keyset import Page, Place
from median_site.dashboard.requests import Filter
from median_site.dashboard.together import Answered
from team.access import TeammateRequest, acting_as, teammate_required
from tools.models import Tool


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    """What waits, the soonest expiry first, then what was decided; or a later page of either."""
    workspace = request.teammate.workspace
    by = Filter.of(request.GET)
    after, before = Place.of(request.GET.get("after", "")), Place.of(request.GET.get("before", ""))
    waiting: Page[ToolApproval] = Page([]) if before else requests.waiting(workspace.id, by=by, after=after)
    settled: Page[ToolApproval] = Page([]) if after else requests.settled(workspace.id, by=by, before=before)
    rows = {row.request.id: row for row in request_rows.draw([*waiting.rows, *settled.rows])}
    tools = Tool.objects.filter(workspace=workspace, risk__in=requests.RISKS).order_by("label", "name")
    context = {
        "filter": by,
        "waiting": waiting,
        "settled": settled,
        "rows": rows,
        "is_first": not before and not after,
        "shows_waiting": not before and by.status in {"", "waiting"},
        "shows_settled": not after and by.status != "waiting",
        "statuses": [(name, words) for name, (words, _) in requests.STATUSES.items()],
        "tools": list(tools.values_list("name", "label")),
    }
    return render(request, "approvals/page.html", context)


@require_safe
@teammate_required
def ask(request: TeammateRequest) -> HttpResponse:
    """Exactly what the chosen requests would do, and one question about all of them. Changes nothing."""
    is_approval = request.GET.get("answer") == "approve"
    found = together.chosen(request.teammate.actor, request.GET.getlist("id"), one_tool=is_approval)
    waiting = [each for each in found if each.is_decidable]
    if not waiting:
        raise together.NothingChosen
    context = {
        "approves": is_approval,
        "chosen": [(row.request, row.waiting, together.seal(row.request)) for row in request_rows.draw(waiting)],
        "left_out": len(set(request.GET.getlist("id"))) - len(waiting),
    }
    return render(request, "approvals/page_together.html", context)


@require_POST
@teammate_required
def approve(request: TeammateRequest) -> HttpResponse:
    """Approve each request that the question showed, as long as it is still that request."""
    if not acting_as(request):
        return redirect("dashboard:approvals")
    return _answered(request, together.approve(request.POST.getlist("call"), by=request.teammate.actor))


@require_POST
@teammate_required
def deny(request: TeammateRequest) -> HttpResponse:
    """Deny each request, for one reason."""
    if not acting_as(request):
        return redirect("dashboard:approvals")
    reason = request.POST.get("reason", "").strip()
    ids = [each.partition(".")[0] for each in request.POST.getlist("call")]
    return _answered(request, together.deny(ids, by=request.teammate.actor, reason=reason), denied=True)


def _answered(request: TeammateRequest, outcomes: Sequence[Answered], *, denied: bool = False) -> HttpResponse:
    """What became of each. A reload asks before it sends the answers again, which would change nothing anyway."""
    done = sum(not each.fault for each in outcomes)
    return render(request, "approvals/page_answered.html", {"outcomes": outcomes, "denied": denied, "done": done})
