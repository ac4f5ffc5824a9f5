"""Agent > Tools: HTTP tools, their drafts, versions and imports. Every teammate may look; owners and admins change.

All of it works as plain pages and forms.
"""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team.access import TeammateRequest, manager_required, teammate_required
from tools import http_definitions, http_form, http_overview, http_tools, openapi, tool_versions
from tools.http_checks import Fault
from tools.http_form import Typed
from tools.http_tools import Imported


@require_safe
@teammate_required
def new(request: TeammateRequest) -> HttpResponse:
    return _form(request, Typed())


@require_safe
@teammate_required
def edit(request: TeammateRequest, draft_id: str) -> HttpResponse:
    draft = http_tools.find(request.teammate.actor, draft_id)
    return _form(request, http_form.of(http_tools.definition_of(draft)), draft_id=draft_id)


@require_POST
@manager_required
def save(request: TeammateRequest, draft_id: str = "") -> HttpResponse:
    """Store the draft, or show the form again with what was typed: with its faults, or with more rows."""
    by, typed = request.teammate.actor, http_form.read(request.POST)
    if draft_id:
        http_tools.find(by, draft_id)
    if "more" in request.POST:
        return _form(request, typed, draft_id=draft_id)
    definition, faults = http_tools.check(typed.raw(), by=by, draft_id=draft_id)
    if definition is None:
        return _form(request, typed, draft_id=draft_id, faults=faults)
    http_tools.store(definition, by=by, draft_id=draft_id)
    return redirect("tools:page")


@require_POST
@manager_required
def remove(request: TeammateRequest, draft_id: str) -> HttpResponse:
    http_tools.remove(draft_id, by=request.teammate.actor)
    return redirect("tools:page")


@require_safe
@teammate_required
def differences(request: TeammateRequest) -> HttpResponse:
    """What publishing would change, and the button that does it."""
    shown = http_overview.summary(request.teammate.workspace_id)
    seen = tool_versions.fingerprint([draft.definition for draft in shown.drafts])
    return render(request, "tools/http_publish.html", {"http": shown, "seen": seen})


@require_POST
@manager_required
def publish(request: TeammateRequest) -> HttpResponse:
    tool_versions.publish(by=request.teammate.actor, seen=request.POST.get("seen", ""))
    return redirect("tools:page")


@require_safe
@teammate_required
def versions(request: TeammateRequest) -> HttpResponse:
    context = {"versions": http_overview.versions(request.teammate.workspace_id)}
    return render(request, "tools/http_versions.html", context)


@require_safe
@teammate_required
def version(request: TeammateRequest, number: int) -> HttpResponse:
    """What a version holds, and what going back to it would change."""
    by = request.teammate.actor
    shown, newest = tool_versions.find(by, number), tool_versions.newest(by.workspace_id)
    held = tool_versions.definitions(shown)
    changes = http_definitions.diff(tool_versions.definitions(newest), held)
    context = {"version": shown, "newest": newest, "held": held, "changes": changes}
    return render(request, "tools/http_version.html", context)


@require_POST
@manager_required
def restore(request: TeammateRequest, number: int) -> HttpResponse:
    tool_versions.restore(number, by=request.teammate.actor)
    return redirect("tools:http_versions")


@require_safe
@manager_required
def import_form(request: TeammateRequest) -> HttpResponse:
    return _import(request)


@require_POST
@manager_required
def import_document(request: TeammateRequest) -> HttpResponse:
    """Make drafts of a document that was pasted or uploaded, and list what came of each operation."""
    given, upload = request.POST, request.FILES.get("file")
    document = upload.read(openapi.MAX_BYTES + 1) if upload else given.get("document", "")
    made = http_tools.take_in(
        document, by=request.teammate.actor, server=given.get("server", ""), only=given.get("only", "")
    )
    return _import(request, made=made)


def _form(
    request: TeammateRequest, typed: Typed, *, draft_id: str = "", faults: list[Fault] | None = None
) -> HttpResponse:
    context = {"typed": typed, "draft_id": draft_id, "faults": http_form.by_field(faults or [])}
    return render(request, "tools/http_tool.html", context, status=422 if faults else 200)


def _import(request: TeammateRequest, *, made: Imported | None = None) -> HttpResponse:
    return render(request, "tools/http_import.html", {"made": made, "given": request.POST})
