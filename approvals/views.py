"""The page of one decision, and its two answers. An answer takes nothing but a reason from the form: the input is
stored."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from approvals import access, cards, decisions, fragments
from approvals.models import DECIDABLE, ToolApproval
from team.access import TeammateRequest, acting_as, teammate_required


@require_safe
@teammate_required
def detail(request: TeammateRequest, approval_id: str) -> HttpResponse:
    """The request with its two answers as plain forms; for htmx the card alone, in its present state."""
    approval = access.approval(request.teammate.actor, approval_id)
    if request.htmx:
        return HttpResponse(_card(approval))
    decidable = fragments.shown_state(approval) in DECIDABLE
    context = {"approval": approval, "card": _card(approval), "decidable": decidable}
    return render(request, "approvals/detail.html", context)


@require_POST
@teammate_required
def approve(request: TeammateRequest, approval_id: str) -> HttpResponse:
    """Run the stored call, in the name of the teammate whose page this is."""
    if not acting_as(request):
        return _ask_first(request, approval_id)
    return _decided(request, decisions.approve(approval_id, by=request.teammate.actor))


@require_POST
@teammate_required
def deny(request: TeammateRequest, approval_id: str) -> HttpResponse:
    """Refuse the call; `reason` is for the team alone."""
    if not acting_as(request):
        return _ask_first(request, approval_id)
    reason = request.POST.get("reason", "").strip()
    return _decided(request, decisions.deny(approval_id, by=request.teammate.actor, reason=reason))


def _ask_first(request: TeammateRequest, approval_id: str) -> HttpResponse:
    """Whoever sent this does not say for whom: nothing is decided, the page of the decision asks."""
    path = reverse("approvals:detail", args=[approval_id])
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": path})
    return redirect(path)


def _decided(request: TeammateRequest, approval: ToolApproval) -> HttpResponse:
    if request.htmx:
        return HttpResponse(cards.decided(approval))
    return redirect("inbox:thread", approval.conversation_id)


def _card(approval: ToolApproval) -> str:
    """The same bytes as in the thread and in the push."""
    _, card = cards.draw([approval])[approval.id]
    return card
