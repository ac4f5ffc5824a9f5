"""The assistant's panel: what this teammate asked, what came of it, and the cards that it puts before them.

The buttons on those cards are the cards' own: the assistant decides nothing (see agent.assisting).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from markupsafe import Markup

from agent import assistant
from agent.models.demo_assistant import UNDERSTOOD
from agent.rows import AssistantExchange
from approvals import access as approvals_access
from approvals import cards
from approvals.fragments import shown_state
from approvals.models import DECIDABLE, ToolApproval
from conversations import access as conversations_access
from conversations.models import Conversation
from median_site.dashboard import requests
from median_site.lib import clock, fragments, live, times
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import NotFound
from team.access import TeammateRequest, teammate_required

SHOWN: Final = 20
# The pages that show one thread or one request.
_PAGES: Final = (
    ("thread", re.compile(r"/inbox/([a-z0-9]{1,40})/"), conversations_access.conversation),
    ("request", re.compile(r"/approvals/(call_[a-z0-9]{1,40})/"), approvals_access.approval),
)


@dataclass(frozen=True, slots=True)
class Named:
    """A thread or request that an answer names: what its link says, and where it leads."""

    says: str
    about: str
    path: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as the panel shows it. `card`: the one request that it proposes; `together`: the page that asks about
    several, while any of them waits; `proposed`: what each is and how it stands."""

    row: AssistantExchange
    names: list[Named]
    card: Markup | None
    proposed: list[tuple[ToolApproval, str]]
    together: str


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    """The panel as a page of its own; for htmx what stands in it on every other page."""
    template = "assistant/_panel.html" if request.htmx else "assistant/page.html"
    understood = "" if settings.MEDIAN_ASSISTANT_URL else UNDERSTOOD  # the demo model's handful of questions
    return render(request, template, {"list": draw(request.teammate.actor), "understood": understood})


@require_POST
@teammate_required
def ask(request: TeammateRequest) -> HttpResponse:
    """Ask. With a script the answer comes by push."""
    by = request.teammate.actor
    question, path = request.POST.get("question", ""), request.POST.get("page", "")
    assistant.ask(question, by=by, looking_at=_looking_at(path, by=by))
    return _list(request)


@require_POST
@teammate_required
def again(request: TeammateRequest, exchange_id: int) -> HttpResponse:
    """Try once more what failed."""
    assistant.again(exchange_id, by=request.teammate.actor)
    return _list(request)


@require_POST
@teammate_required
def clear(request: TeammateRequest) -> HttpResponse:
    """Forget the whole exchange."""
    assistant.clear(by=request.teammate.actor)
    return _list(request)


def push(ask: live.Ask) -> list[live.Push]:
    """One teammate's list, as it is by now."""
    version = times.millis(clock.now())
    html = draw(Actor(ActorKind.TEAMMATE, ask.workspace_id, id=ask.id))
    return [live.Push(version, {"kind": "assistant", "id": "assistant-list", "version": version, "html": html})]


def draw(by: Actor) -> Markup:
    """The newest exchanges of a teammate, the newest last. Its version is the moment before they were read. Eight
    queries at most, however many they are."""
    version = times.millis(clock.now())
    rows = list(assistant.mine(by).order_by("-id")[:SHOWN])[::-1]
    return fragments.render("assistant/_list.html", version=version, exchanges=list(_exchanges(rows, by)))


def _exchanges(rows: Sequence[AssistantExchange], by: Actor) -> Iterator[Exchange]:
    refs = {ref for row in rows for ref in row.names}
    proposed = {id for row in rows for id in row.proposes}
    named = {ref.partition(":")[2] for ref in refs if ref.startswith("request:")}
    found = (
        {row.id: row for row in cards.rows(by.workspace_id).filter(id__in=proposed | named)} if refs | proposed else {}
    )
    names = _names(refs, found, by)
    # A card stands once on a page: below the newest answer that proposes it alone.
    carries = {row.proposes[0]: row.id for row in rows if len(row.proposes) == 1 and row.proposes[0] in found}
    drawn = cards.draw([found[id] for id in carries])
    for row in rows:
        about = [(found[id], _standing(found[id])) for id in row.proposes if id in found]
        is_alone = len(about) == 1 and carries.get(about[0][0].id) == row.id
        waiting = [each.id for each, _ in about if shown_state(each) in DECIDABLE]
        query = urlencode({"answer": row.proposal, "id": waiting}, doseq=True)
        yield Exchange(
            row,
            names=[names[ref] for ref in row.names if ref in names],
            card=drawn[about[0][0].id][1] if is_alone else None,
            proposed=[] if is_alone else about,
            together=f"{reverse('dashboard:ask')}?{query}" if len(row.proposes) > 1 and waiting else "",
        )


def _names(refs: set[str], found: Mapping[str, ToolApproval], by: Actor) -> dict[str, Named]:
    """What each ref leads to; one that is gone, or was never this workspace's, is left out."""
    named = {
        f"request:{row.id}": Named(
            row.tool_label, row.conversation.customer.display_name, reverse("approvals:detail", args=[row.id])
        )
        for row in found.values()
    }
    ids = [ref.partition(":")[2] for ref in refs if ref.startswith("thread:")]
    threads = Conversation.objects.filter(workspace_id=by.workspace_id, id__in=ids).select_related("customer")
    for row in threads if ids else ():
        path = reverse("inbox:thread", args=[row.id])
        named[f"thread:{row.id}"] = Named(row.customer.display_name, row.excerpt, path)
    return named


def _standing(row: ToolApproval) -> str:
    return requests.STATUSES[requests.STATUS_OF[shown_state(row)]][0]


def _looking_at(path: str, *, by: Actor) -> str:
    """What that page shows, if it is this teammate's to see."""
    for kind, pattern, find in _PAGES:
        if found := pattern.fullmatch(path):
            try:
                return f"{kind}:{find(by, found[1]).id}"
            except NotFound:
                return ""
    return ""


def _list(request: TeammateRequest) -> HttpResponse:
    if request.htmx:
        return HttpResponse(draw(request.teammate.actor))
    return redirect("dashboard:assistant")
