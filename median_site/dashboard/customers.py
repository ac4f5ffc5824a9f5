"""Customers: the list, and everything about one of them on one page."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from conversations import lessons
from median_site.dashboard import people
from median_site.dashboard.keyset import Place
from median_site.lib.text import clean
from team.access import TeammateRequest, teammate_required
from tools.fragments import raw_pieces


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    q = clean(request.GET.get("q", ""))[0].strip()[:100]
    before = Place.of(request.GET.get("before", ""))
    found = people.page(request.teammate.workspace_id, q=q, before=before)
    return render(request, "customers/page.html", {"q": q, "found": found, "is_newest": before is None})


@require_safe
@teammate_required
def show(request: TeammateRequest, customer_id: str) -> HttpResponse:
    """One customer. `before` is a place among the runs, `earlier` one among the conversations. Raises NotFound."""
    customer = people.find(request.teammate.actor, customer_id)
    before, earlier = Place.of(request.GET.get("before", "")), Place.of(request.GET.get("earlier", ""))
    runs = people.runs(customer, before=before)
    context = {
        "customer": customer,
        "conversations": people.conversations(customer, before=earlier),
        "lessons": lessons.about(customer.id),
        "runs": [(run, raw_pieces(run.input)) for run in runs.rows],
        "older": runs.next,
        "is_newest": before is None,
    }
    return render(request, "customers/detail.html", context)


@require_POST
@teammate_required
def forget(request: TeammateRequest, lesson_id: str) -> HttpResponse:
    """Delete something that was learned about a customer, as every teammate may. Raises NotFound."""
    lesson = lessons.forget(lesson_id, by=request.teammate.actor)
    return redirect("customers:detail", lesson.customer_id)
