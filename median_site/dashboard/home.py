"""The Dashboard: what is open, what waits, how requests ended, and what fails."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from median_site.dashboard import charts, figures
from median_site.lib import clock
from team.access import TeammateRequest, teammate_required
from tools import failures
from tools.models import Endpoint


@require_safe
def page(request: HttpRequest) -> HttpResponseBase:
    """The Dashboard for a teammate; whoever is not signed in is on the way to the inbox."""
    return _page(request) if request.user.is_authenticated else redirect("inbox:home")


@teammate_required
def _page(request: TeammateRequest) -> HttpResponse:
    workspace = request.teammate.workspace
    days = figures.days(workspace.id)
    deciding = figures.deciding(workspace.id)
    threads = figures.threads(workspace.id, agent=workspace.agent_name)
    waiting = figures.waiting(workspace.id)
    runs = figures.runs(workspace.id)
    endpoints = list(Endpoint.objects.filter(workspace=workspace, removed_at=None).order_by("created_at"))
    context = {
        "now": clock.now(),
        "threads": threads,
        "waiting": waiting,
        "deciding": deciding,
        "box": charts.box(deciding.spread) if deciding.count else [],
        "spread": [charts.duration(each) for each in deciding.spread],
        "chart": charts.chart(days),
        "days": days,
        "approved": sum(day.approved for day in days),
        "denied": sum(day.denied for day in days),
        "expired": sum(day.expired for day in days),
        "runs": runs,
        "endpoints": len(endpoints),
        "failing": [(row.url, failures.sentence(row.failure, row.failure_detail)) for row in endpoints if row.failure],
        "is_new": not (threads.total or runs.total or any(day.total for day in days)),
    }
    return render(request, "dashboard/home.html", context)
