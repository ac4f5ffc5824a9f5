"""Settings > Widget: which sites may show the chat, and what goes into their pages. All see it, managers change it."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team import workspaces
from team.access import TeammateRequest, manager_required, teammate_required


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    return render(request, "widget/settings.html", {"address": settings.MEDIAN_URL})


@require_POST
@manager_required
def change(request: TeammateRequest) -> HttpResponse:
    workspaces.change_widget(by=request.teammate.actor, sites=request.POST.get("origins", ""))
    return redirect("widget-settings:page")
