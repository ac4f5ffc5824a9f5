"""A customer's earlier conversations beside a thread, and what they taught the agent, which a teammate may delete."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from conversations import access, lessons
from team.access import TeammateRequest, teammate_required


@require_safe
@teammate_required
def show(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """The pane of the details panel; without a script, a page of it."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    template = "inbox/_earlier_panel.html" if request.htmx else "inbox/earlier.html"
    return render(request, template, {"conversation": conversation, "earlier": lessons.conversations_of(conversation)})


@require_POST
@teammate_required
def forget(request: TeammateRequest, conversation_id: str, lesson_id: str) -> HttpResponse:
    """Delete what was learned; the agent does not read it again."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    lessons.forget(lesson_id, by=request.teammate.actor)
    if request.htmx:
        found = lessons.conversations_of(conversation)
        return render(request, "inbox/_earlier_panel.html", {"conversation": conversation, "earlier": found})
    return redirect("inbox:earlier", conversation_id)
