"""What a teammate was told: the page of it, the push of it, and marking it read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from markupsafe import Markup

from conversations.models import Conversation, Item, ItemKind
from median_site.lib import fragments, ids, live, text
from median_site.lib.errors import NotFound
from team import notifications
from team.access import TeammateRequest, teammate_required
from team.models import Notification

PAGE: Final = 30
COUNTED_UP_TO: Final = 100


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification with what it says and is shown as."""

    row: Notification
    says: str
    html: Markup


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    """All of it, newest first."""
    rows = notifications.mine(request.teammate.actor).order_by("-id")
    if (before := ids.number(request.GET.get("before", ""))) is not None:
        rows = rows.filter(id__lt=before)
    found = list(rows[: PAGE + 1])
    older = found[PAGE - 1].id if len(found) > PAGE else None
    return render(request, "notices/page.html", {"notices": draw(found[:PAGE]), "older": older})


@require_POST
@teammate_required
def read_all(request: TeammateRequest) -> HttpResponse:
    """Everything that the page showed."""
    if (up_to := ids.number(request.POST.get("up_to", ""))) is not None:
        notifications.read_all(by=request.teammate.actor, up_to=up_to)
    return redirect("dashboard:notices")


@require_POST
@teammate_required
def read(request: TeammateRequest, notice_id: int) -> HttpResponse:
    """One of them. With a script the row comes by push."""
    by = request.teammate.actor
    if not notifications.mine(by).filter(id=notice_id).exists():
        raise NotFound
    notifications.read(notice_id, by=by)
    return HttpResponse(status=204) if request.htmx else redirect("dashboard:notices")


def draw(rows: Sequence[Notification]) -> list[Notice]:
    """Notifications of one workspace. Two queries, however many they are."""
    if not rows:
        return []
    threads = {"workspace_id": rows[0].workspace_id, "conversation_id__in": {row.conversation_id for row in rows}}
    notes = Item.objects.filter(**threads, kind=ItemKind.NOTE, number__in={row.number for row in rows})
    said = {(note.conversation_id, note.number): text.excerpt(note.text, 160) for note in notes}
    found = Conversation.objects.filter(workspace_id=rows[0].workspace_id, id__in=threads["conversation_id__in"])
    customers = {row.id: row.customer for row in found.select_related("customer")}
    drawn = []
    for row in rows:
        customer = customers.get(row.conversation_id)
        if customer:
            says = notifications.says(row)
            note = said.get((row.conversation_id, row.number), "")
            html = fragments.render("notices/_notice.html", row=row, says=says, customer=customer, note=note)
            drawn.append(Notice(row, f"{says}: {customer.display_name}", html))
    return drawn


def push(ask: live.Ask) -> list[live.Push]:
    """What one teammate has not read, and the newest that they were told since."""
    mine = Notification.objects.filter(workspace_id=ask.workspace_id, teammate_id=ask.id, read_at=None)
    unread = list(mine.order_by("-id").values_list("id", flat=True)[:COUNTED_UP_TO])
    version = max([ask.since, *unread[:1]])
    fresh = draw(list(mine.filter(id__gt=ask.since).order_by("id")[: live.MOST])) if version > ask.since else []
    items = [
        {
            "id": f"notice-{notice.row.id}",
            "number": notice.row.id,
            "version": 0,
            "html": notice.html,
            "says": notice.says,
            "path": f"/inbox/{notice.row.conversation_id}/",
        }
        for notice in fresh
    ]
    return [live.Push(version, {"kind": "notices", "unread": unread, "items": items})]
