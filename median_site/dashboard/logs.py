"""The Logs page and its export."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from markupsafe import Markup

from median_site.dashboard import export, journal, log_rows
from median_site.dashboard.journal import Filter
from median_site.dashboard.keyset import Place
from median_site.lib import clock, times
from median_site.lib.errors import NotFound
from team import chain
from team.access import TeammateRequest, manager_required, teammate_required
from team.facets import Outcome, Type
from team.models import Event, Teammate, Workspace
from tools.models import Tool

OTHERS: Final[Mapping[str, str]] = {
    "reviewer": "The reviewer",
    "customer": "Customers",
    "api": "The API",
    "system": "Median",
}


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    """A page of the log. Its time is taken before its rows are read: a page never claims what it has not."""
    read_at = times.millis(clock.now())
    workspace = request.teammate.workspace
    by = Filter.of(request.GET)
    before = Place.of(request.GET.get("before", ""), numbered=True)
    after = Place.of(request.GET.get("after", ""), numbered=True)
    found = journal.page(workspace.id, by=by, before=None if after else before, after=after)
    if after and not found.newer:
        # Nothing is newer than these: they are the newest page, which may have room for more.
        found, after = journal.page(workspace.id, by=by), None
    is_newest = not after and not before
    context = {
        "filter": by,
        "page": found,
        "days": list(_by_day(found.events, agent=workspace.agent_name)),
        "follows": found.newer is None and by.may_follow,
        "is_newest": is_newest,
        "read_at": read_at,
        "types": Type,
        "outcomes": Outcome,
        "tools": _tools(workspace),
        "actors": _actors(workspace),
        "head": chain.head(workspace.id),
    }
    return render(request, "logs/page.html", context)


@require_safe
@manager_required
def download(request: TeammateRequest, form: str) -> HttpResponseBase:
    """Every event that the filter lists, newest first, as CSV or as JSON lines, written while it is read."""
    if form not in export.FORMS:
        raise NotFound
    return export.response(request.teammate.workspace, by=Filter.of(request.GET), form=form)


def _by_day(events: list[Event], *, agent: str) -> Iterator[tuple[str, list[Markup]]]:
    drawn = log_rows.draw(events, agent=agent)
    for day, rows in groupby(drawn, key=lambda row: times.day(row[0].at)):
        yield day, [html for _, html in rows]


def _tools(workspace: Workspace) -> list[tuple[str, str]]:
    """Tools by name and label, those that are gone too: their events are still here."""
    return list(Tool.objects.filter(workspace=workspace).order_by("label", "name").values_list("name", "label"))


def _actors(workspace: Workspace) -> list[tuple[str, str]]:
    """Whoever may stand in the log, teammates by id and the others by kind."""
    people = Teammate.objects.filter(workspace=workspace).order_by("name", "id").values_list("id", "name")
    return [("agent", workspace.agent_name), *people, *OTHERS.items()]
