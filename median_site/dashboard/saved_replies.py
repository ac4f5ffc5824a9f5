"""Settings > Saved replies. Every teammate may look; owners and admins write them."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from conversations import saved_replies
from team.access import TeammateRequest, manager_required, teammate_required


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    context = {"replies": saved_replies.listed(request.teammate.workspace_id)}
    return render(request, "inbox/saved_replies.html", context)


@require_POST
@manager_required
def add(request: TeammateRequest) -> HttpResponse:
    title, wording = request.POST.get("title", ""), request.POST.get("text", "")
    saved_replies.add(by=request.teammate.actor, title=title, wording=wording)
    return redirect("replies:page")


@require_POST
@manager_required
def change(request: TeammateRequest, reply_id: str) -> HttpResponse:
    title, wording = request.POST.get("title", ""), request.POST.get("text", "")
    saved_replies.change(reply_id, by=request.teammate.actor, title=title, wording=wording)
    return redirect("replies:page")


@require_POST
@manager_required
def remove(request: TeammateRequest, reply_id: str) -> HttpResponse:
    saved_replies.remove(reply_id, by=request.teammate.actor)
    return redirect("replies:page")
