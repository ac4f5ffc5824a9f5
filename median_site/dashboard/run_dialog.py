"""Running a tool by hand from a thread: what can be run, and the form of one tool, in a dialog or as a page of its own.

Whether a run may leave is decided by tools.by_hand; what a form's fields mean, by tools.run_form.
"""

import hashlib
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from conversations import access, saved_replies
from conversations.models import Conversation
from median_site.lib import clock, ids, strict_json, times
from median_site.lib.errors import DomainError, NotFound, existing
from median_site.lib.strict_json import JsonError
from team.access import TeammateRequest, teammate_required
from tools import by_hand, inputs, offered, run_fields, run_form, schema
from tools.models import Risk, Tool
from tools.run_fields import AS_JSON, Field
from tools.run_form import Form, NoFit, Typed

UNSHOWABLE: Final = "The fields cannot show all of this input, so it stays JSON."


@require_safe
@teammate_required
def menu(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """What the slash menu offers: tools and saved replies."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    tools = sorted(offered.to_team(conversation), key=lambda tool: tool.label.lower())
    replies = saved_replies.listed(conversation.workspace_id)
    return render(request, "inbox/_slash.html", {"conversation": conversation, "tools": tools, "replies": replies})


@require_safe
@teammate_required
def tools(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """The tools of the details panel, the least risky first; without a script, a page of them."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    risks = Risk.values
    found = sorted(offered.to_team(conversation), key=lambda tool: (risks.index(tool.risk), tool.label.lower()))
    template = "inbox/_tools_panel.html" if request.htmx else "inbox/tools.html"
    return render(request, template, {"conversation": conversation, "tools": found})


@require_safe
@teammate_required
def show(request: TeammateRequest, conversation_id: str, tool_name: str) -> HttpResponse:
    """The form of one tool, bound to its conversation, with an id of its own so that it runs once."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    tool = offered.by_name(conversation, tool_name)
    if tool is None:
        raise by_hand.Unavailable(_known(conversation, tool_name).label)
    root = run_fields.fields_of(schema.compile_schema(tool.input_schema))
    form = Form(root, run_form.start(root))
    return _page(request, conversation, tool, form)


@require_POST
@teammate_required
def redraw(request: TeammateRequest, conversation_id: str, tool_name: str) -> HttpResponse:
    """The form as it was typed, with an item more or less, or as JSON, or as fields again. Nothing runs."""
    conversation, tool = _found(request, conversation_id, tool_name)
    root, typed = _posted(request, tool)
    if request.POST.get("to"):
        return _page(request, conversation, tool, _turned(request, tool, root=root, typed=typed))
    if name := request.POST.get("add"):
        typed = run_form.with_item(root, typed, name=name)
    elif name := request.POST.get("remove"):
        typed = run_form.without_item(typed, name=name)
    return _page(request, conversation, tool, Form(root, typed))


@require_POST
@teammate_required
def send(request: TeammateRequest, conversation_id: str, tool_name: str) -> HttpResponse:
    """Run it. What is refused comes back as the form with everything that was typed; the card comes by push."""
    conversation, tool = _found(request, conversation_id, tool_name)
    root, typed = _posted(request, tool)
    if request.POST.get("made_from") != _made_from(tool):
        fault = f"{tool.label} changed while this form was open. Check the fields, then run it."
        return _page(request, conversation, tool, Form(root, typed, {"": fault}), status=409)
    compiled, definition = schema.compile_schema(tool.input_schema), inputs.definition_of(tool)
    reading = run_form.read(root, typed, compiled=compiled, definition=definition)
    if reading.errors or not isinstance(reading.input, dict):
        return _page(request, conversation, tool, Form(root, typed, reading.errors), status=422)
    by, client_id = request.teammate.actor, ids.given(request.POST.get("client_id", ""))
    try:
        by_hand.run(conversation.id, tool.name, reading.input, by=by, client_id=client_id)
    except NotFound:
        raise
    except DomainError as refused:  # kept in the form: what was typed must not be lost with a page of the error's own
        control = reading.control_of(refused.field) if refused.field else ""
        return _page(request, conversation, tool, Form(root, typed, {control: refused.message}), status=refused.status)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("inbox:thread", conversation.id)


def _found(request: TeammateRequest, conversation_id: str, tool_name: str) -> tuple[Conversation, Tool]:
    """The tool too when it was switched off since the form opened: the form is drawn again to say so."""
    conversation = access.conversation(request.teammate.actor, conversation_id)
    return conversation, offered.by_name(conversation, tool_name) or _known(conversation, tool_name)


def _known(conversation: Conversation, tool_name: str) -> Tool:
    return existing(Tool.objects.filter(workspace_id=conversation.workspace_id, name=tool_name).first())


def _posted(request: HttpRequest, tool: Tool) -> tuple[Field, Typed]:
    is_json = request.POST.get("mode") == "json"
    root = AS_JSON if is_json else run_fields.fields_of(schema.compile_schema(tool.input_schema))
    return root, dict(request.POST.lists())


def _turned(request: HttpRequest, tool: Tool, *, root: Field, typed: Typed) -> Form:
    """From fields to JSON, or back where the fields can show all of it."""
    if request.POST["to"] == "json":
        return Form(AS_JSON, {AS_JSON.name: [run_form.pretty(run_form.peek(root, typed))]})
    fields = run_fields.fields_of(schema.compile_schema(tool.input_schema))
    try:
        return Form(fields, run_form.fill(fields, strict_json.loads_unique(request.POST.get(AS_JSON.name, ""))))
    except (JsonError, NoFit) as error:
        fault = f"The input is not valid JSON: {error}" if isinstance(error, JsonError) else UNSHOWABLE
        return Form(AS_JSON, typed, {AS_JSON.name: fault})


def _made_from(tool: Tool) -> str:
    """Changes with the fields of the form."""
    return hashlib.sha256(tool.input_schema.encode()).hexdigest()[:16]


def _page(
    request: TeammateRequest, conversation: Conversation, tool: Tool, form: Form, *, status: int = 200
) -> HttpResponse:
    in_dialog = bool(request.htmx)
    context = {
        "conversation": conversation,
        "tool": tool,
        "form": form,
        "in_dialog": in_dialog,
        "has_fields": run_fields.fields_of(schema.compile_schema(tool.input_schema)) is not AS_JSON,
        "client_id": request.POST.get("client_id") or ids.new_id(),
        "made_from": _made_from(tool),
        "zone": times.iso(clock.now())[-6:],
    }
    return render(request, "tools/_run_dialog.html" if in_dialog else "tools/run_dialog.html", context, status=status)
