"""The inbox: the queue, a thread, and what a teammate does to it. Each press is one function of the domain."""

from collections.abc import Callable
from typing import Final

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from markupsafe import Markup

from conversations import access, drafts, fragments, handling, reading, threads
from conversations.models import Channel, Conversation, Status
from median_site.dashboard import queue, search, thread, uploads
from median_site.dashboard.queue import Filter
from median_site.lib import clock, ids, times
from median_site.lib.actors import Actor
from median_site.lib.errors import existing
from team.access import TeammateRequest, teammate_required
from tools import fragments as tool_fragments
from tools.models import ToolRun

FOUND: Final = 8


@require_safe
@teammate_required
def home(request: TeammateRequest) -> HttpResponse:
    """The queue, and no thread chosen."""
    return render(request, "inbox/home.html", _queue(request))


@require_safe
@teammate_required
def show(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """A thread beside the queue, at its newest items, at those before `?before=`, or around the element `?at=`."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    before, at = request.GET.get("before", ""), request.GET.get("at", "")
    end = ids.number(before) if before else thread.end_around(conversation, at)
    page = thread.page(conversation, before=end)
    context = {"conversation": conversation, "page": page, "is_newest": end is None, **uploads.LIMITS}
    if request.htmx and before:
        return render(request, "inbox/_earlier.html", context)
    return render(request, "inbox/thread.html", _queue(request, current=conversation) | context)


@require_safe
@teammate_required
def find(request: TeammateRequest) -> HttpResponse:
    """A few conversations that a search finds, for the command palette, and the way to more of them."""
    by = Filter.of(request.GET)
    page = queue.page(request.teammate, by=by) if by.q else queue.Page([], "")
    typed = f" {by.q.strip()}".casefold()
    # Whoever is called so comes before those who only said it.
    rows = sorted(
        (row for row, _ in page.rows), key=lambda row: typed not in f" {row.customer.display_name}".casefold()
    )
    found = rows[:FOUND]
    more = len(page.rows) > FOUND or bool(page.older)
    return render(request, "inbox/_found.html", {"found": found, "more": more, "filter": by})


@require_safe
@teammate_required
def raw(request: TeammateRequest, run_id: str) -> HttpResponse:
    """The raw output of a run: its fragment for a card, else the text alone."""
    run = existing(ToolRun.objects.filter(workspace_id=request.teammate.workspace_id, id=run_id).first())
    if request.htmx:
        return HttpResponse(tool_fragments.raw(run))
    return HttpResponse(
        run.raw, content_type="text/plain; charset=utf-8", headers={"X-Content-Type-Options": "nosniff"}
    )


@require_POST
@teammate_required
def write(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """A reply to the customer, or a note for the team."""
    mode = drafts.mode_of(request.POST.get("mode", ""))
    files = uploads.files_of(request, conversation_id)
    said, client_id = request.POST.get("text", ""), ids.given(request.POST.get("client_id", ""))
    drafts.send(conversation_id, by=request.teammate.actor, mode=mode, body=said, files=files, client_id=client_id)
    return _done(request, conversation_id)


@require_POST
@teammate_required
def read(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """The teammate has seen the thread up to a number."""
    number = ids.number(request.POST.get("number", "")) or 0
    reading.mark_read(conversation_id, by=request.teammate.actor, number=number)
    return HttpResponse(status=204)


def press(action: Callable[[str, Actor], object]) -> Callable[..., HttpResponseBase]:
    """A view for a button that does one thing to the thread as a whole."""

    @require_POST
    @teammate_required
    def pressed(request: TeammateRequest, conversation_id: str) -> HttpResponse:
        action(conversation_id, request.teammate.actor)
        return _done(request, conversation_id)

    return pressed


take_over = press(lambda thread_id, by: threads.take_over(thread_id, by=by))
hand_back = press(lambda thread_id, by: threads.hand_back(thread_id, by=by))
resolve = press(lambda thread_id, by: threads.end(thread_id, by=by, to=Status.RESOLVED))
close = press(lambda thread_id, by: threads.end(thread_id, by=by, to=Status.CLOSED))
archive = press(lambda thread_id, by: threads.end(thread_id, by=by, to=Status.ARCHIVED))
reopen = press(lambda thread_id, by: threads.reopen(thread_id, by=by))
wake = press(lambda thread_id, by: handling.wake(thread_id, by=by))


def _queue(request: TeammateRequest, *, current: Conversation | None = None) -> dict[str, object]:
    """What the queue shows. Its time is taken before its rows are read: a page never claims what it has not."""
    read_at = times.millis(clock.now())
    by = Filter.of(request.GET)
    before = "" if current else request.GET.get("before", "")
    page = queue.page(request.teammate, by=by, before=before)
    is_idle = by.is_usual and not before and not page.rows

    def row(conversation: Conversation, unread: bool) -> Markup:
        is_current = current is not None and conversation.id == current.id
        name = search.marked(conversation.customer.display_name, by.search) if by.q else None
        said, at = page.passages.get(conversation.id, ("", ""))
        writers = conversation.writers  # type: ignore[attr-defined]  # annotated
        return fragments.row(
            conversation, unread=unread, current=is_current, name=name, said=said, at=at, writers=writers
        )

    return {
        "queue": page,
        "goes_on": bool(before),
        "is_new": is_idle and not Conversation.objects.filter(workspace_id=request.teammate.workspace_id).exists(),
        "filter": by,
        "facets": by.facets(request.teammate.id),
        "row": row,
        "who": queue.WHO,
        "statuses": queue.STATUSES,
        "channels": Channel.choices,
        "read_at": read_at,
        "current_id": current.id if current else "",
    }


def _done(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """Nothing to swap: what changed comes by push. Without a script, the thread again."""
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("inbox:thread", conversation_id)
