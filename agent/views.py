"""Agent > Instructions and Agent > Reviewer: who the agent is, which models work here, and what the reviewer did.

Every teammate may look; owners and admins change. Models are the installation's, set in its environment.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agent.models import DemoModel
from approvals.models import Review, ReviewOutcome, ReviewState
from median_site.lib import clock
from team import workspaces
from team.access import TeammateRequest, manager_required, teammate_required

RECORD_OF: Final = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Configured:
    """A model as the environment names it."""

    name: str
    is_demo: bool


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    context = {
        "model": configured(settings.MEDIAN_MODEL_URL, name=settings.MEDIAN_MODEL_NAME),
        "helper": configured(settings.MEDIAN_ASSISTANT_URL, name=settings.MEDIAN_ASSISTANT_NAME),
        "writer": configured(settings.MEDIAN_WRITEUP_URL, name=settings.MEDIAN_WRITEUP_NAME),
    }
    return render(request, "agent/page.html", context)


@require_POST
@manager_required
def change(request: TeammateRequest) -> HttpResponse:
    name, instructions = request.POST.get("agent_name", ""), request.POST.get("instructions", "")
    workspaces.change_agent(by=request.teammate.actor, name=name, instructions=instructions)
    return redirect("agent:page")


@require_safe
@teammate_required
def reviewer(request: TeammateRequest) -> HttpResponse:
    context = {
        "model": configured(settings.MEDIAN_REVIEWER_URL, name=settings.MEDIAN_REVIEWER_NAME),
        "record": record(request.teammate.workspace_id),
        "days": RECORD_OF.days,
    }
    return render(request, "agent/reviewer.html", context)


def configured(url: str, *, name: str) -> Configured:
    return Configured(name, is_demo=False) if url else Configured(DemoModel.name, is_demo=True)


def record(workspace_id: str) -> dict[str, int]:
    """How the reviews of the last thirty days came out, outcome by outcome. One query."""
    done = Review.objects.filter(
        workspace_id=workspace_id, state=ReviewState.DONE, queued_at__gt=clock.now() - RECORD_OF
    )
    counted = dict(done.values_list("outcome").annotate(number=Count("pk")))
    return {str(outcome): counted.get(outcome, 0) for outcome in ReviewOutcome}
