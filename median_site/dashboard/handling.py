"""What the menu of a thread asks about first: to whom it goes, and until when it is put off."""

from datetime import date, datetime, time, timedelta
from typing import Final

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import make_aware
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from conversations import access, handling, reading
from conversations.models import Conversation
from median_site.dashboard.queue import Filter
from median_site.lib import clock, times
from team.access import TeammateRequest, teammate_required
from team.models import Teammate

MORNING: Final = time(9)


@require_safe
@teammate_required
def people(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """Whom a note in this thread can mention: what the menu offers after an @."""
    access.conversation(request.teammate.actor, conversation_id)
    found = _team(request.teammate.workspace_id).exclude(name="").select_related("user")
    return render(request, "inbox/_people.html", {"people": list(found)})


@require_http_methods(["GET", "HEAD", "POST"])
@teammate_required
def assign(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """Who there is; posted, `to` gets the thread, or nobody."""
    if request.method != "POST":
        conversation = access.conversation(request.teammate.actor, conversation_id)
        people = sorted(_team(conversation.workspace_id), key=lambda each: each != request.teammate)  # oneself first
        return _ask(request, "assign", conversation, {"people": people})
    if to := request.POST.get("to", ""):
        handling.assign(conversation_id, by=request.teammate.actor, to=to)
    else:
        handling.unassign(conversation_id, by=request.teammate.actor)
    return _done(request, conversation_id)


@require_http_methods(["GET", "HEAD", "POST"])
@teammate_required
def snooze(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """Until when; posted, `until` is a moment on the workspace's clock."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    if request.method != "POST":
        today = times.today()
        tomorrow = _morning(today + timedelta(days=1))
        monday = _morning(today + timedelta(days=7 - today.weekday()))
        soon = clock.now().replace(second=0, microsecond=0) + timedelta(hours=3)
        choices = [("In 3 hours", soon), ("Tomorrow", tomorrow), ("Next week", monday)]
        return _ask(request, "snooze", conversation, {"choices": choices})
    until = _moment(request.POST.get("until") or request.POST.get("time", ""))
    handling.snooze(conversation_id, by=request.teammate.actor, until=until)
    return _done(request, conversation_id)


@require_POST
@teammate_required
def unread(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """Unread again, for this teammate. Back to the queue as it was listed: a thread that is looked at is read."""
    reading.mark_unread(conversation_id, by=request.teammate.actor)
    by = Filter.of(QueryDict(request.headers.get("HX-Current-URL", "").partition("?")[2]))
    queue = reverse("inbox:home") + ("" if by.is_usual else by.query())
    if request.htmx:
        return HttpResponse(status=204, headers={"HX-Redirect": queue})
    return redirect(queue)


def _team(workspace_id: str) -> QuerySet[Teammate]:
    return Teammate.objects.filter(workspace_id=workspace_id, removed_at=None).order_by("name", "id")


def _ask(request: TeammateRequest, name: str, conversation: Conversation, context: dict[str, object]) -> HttpResponse:
    """The question, alone for the dialog, else as a page."""
    page = "inbox/_asks.html" if request.htmx else "inbox/asks.html"
    return render(request, page, context | {"conversation": conversation, "question": f"inbox/_{name}.html"})


def _done(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("inbox:thread", conversation_id)


def _morning(day: date) -> datetime:
    return make_aware(datetime.combine(day, MORNING))


def _moment(typed: str) -> datetime:
    """A moment as a form sends it: with its zone, or on the workspace's clock. Raises BadTime."""
    try:
        moment = datetime.fromisoformat(typed)
        return moment if moment.tzinfo else make_aware(moment)
    except (ValueError, OverflowError):
        raise handling.BadTime(field="until") from None
