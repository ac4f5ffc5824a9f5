"""Agent > Tools: one tool, its switch, and testing it."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team.access import TeammateRequest, manager_required, teammate_required
from tools import calls, endpoints, http_tools, inputs, overview, rating, risk, schema_words, testing, wire_views
from tools.models import Tool
from tools.testing import Trial
from tools.views import in_drawer


@require_safe
@teammate_required
def tool(request: TeammateRequest, tool_name: str) -> HttpResponse:
    """What the agent reads of it, what it takes, its last runs, and the form of a test."""
    return _tool(request, testing.find(request.teammate.actor, tool_name))


@require_POST
@manager_required
def switch(request: TeammateRequest, tool_name: str) -> HttpResponse:
    endpoints.switch(tool_name, by=request.teammate.actor, on=request.POST.get("on") == "1")
    return redirect("tools:tool", tool_name) if in_drawer(request) else redirect("tools:page")


@require_POST
@manager_required
def rate(request: TeammateRequest, tool_name: str) -> HttpResponse:
    """Set the risk of an MCP server's tool. A lower one is asked about first, and set by a second press."""
    by, given = request.teammate.actor, request.POST
    wanted, seen = given.get("risk", ""), given.get("seen", "")
    shown = rating.find(by, tool_name, risk=wanted, seen=seen)
    if rating.is_lower(wanted, than=shown.risk) and given.get("sure") != "1":
        return _tool(request, shown, lower=wanted)
    rating.rate(tool_name, risk=wanted, seen=seen, by=by)
    return redirect("tools:tool", tool_name)


@require_POST
@manager_required
def test(request: TeammateRequest, tool_name: str) -> HttpResponse:
    """Make a real call now, as nobody or as the customer with this id, and show all of it."""
    by, given = request.teammate.actor, request.POST
    tested = calls.run_now(
        testing.call, tool_name, by=by, input_text=given.get("input", ""), as_subject=given.get("subject", "").strip()
    )
    if request.htmx.target == "tested":
        runs = overview.last_runs(testing.find(by, tool_name))
        return render(request, "tools/_tested.html", {"test": wire_views.of(tested), "runs": runs, "alone": True})
    return _tool(request, testing.find(by, tool_name), tested=tested)


def _tool(request: TeammateRequest, shown: Tool, *, tested: Trial | None = None, lower: str = "") -> HttpResponse:
    context = {
        "tool": shown,
        "risk_line": risk.line(shown.risk),
        "is_rated_here": rating.is_rated_here(shown),
        "lower": lower,
        "fields": schema_words.fields(shown.input_schema),
        "schema": schema_words.pretty(shown.input_schema),
        "example": schema_words.example(shown.input_schema),
        "command": schema_words.command(shown.name, schema=shown.input_schema),
        "definition": inputs.definition_of(shown),
        "draft": http_tools.draft_of(shown),
        "runs": overview.last_runs(shown),
        "test": wire_views.of(tested) if tested else None,
        "alone": False,
        "given": request.POST,
    }
    return render(request, "tools/_tool_drawer.html" if in_drawer(request) else "tools/tool.html", context)
