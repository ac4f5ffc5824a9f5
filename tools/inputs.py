"""An input for a tool, whoever wrote it: checked, and made the exact JSON text that leaves."""

from typing import NamedTuple

from median_site.lib import strict_json
from median_site.lib.actors import Actor
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import http_request, schema
from tools.http_definitions import Definition, from_json, without_subject
from tools.models import Tool
from tools.schema import FieldError


class Input(NamedTuple):
    """`text` is the input as it leaves; "" when there are errors."""

    text: str
    errors: list[FieldError]


def read(tool: Tool, value: Json, *, by: Actor, conversation_id: str) -> Input:
    """Check a value against the tool. One for the subject is dropped and logged: only the session token fills it."""
    definition, given = definition_of(tool), value
    value = without_subject(definition, given)
    if value is not given:
        events.record(
            Kind.SUBJECT_DROPPED, by=by, conversation_id=conversation_id, subject_id=tool.id, tool_name=tool.name,
            data={"label": tool.label},
        )  # fmt: skip
    compiled = schema.compile_schema(tool.input_schema)
    errors = schema.check_input(compiled, value)
    made = value if errors else schema.normalize(compiled, value)
    if definition and not errors and isinstance(made, dict):
        errors = [FieldError(fault.field or "", fault.message) for fault in http_request.check(definition, made)]
    return Input("" if errors else strict_json.dumps(made), errors)


def definition_of(tool: Tool) -> Definition | None:
    """How the request of an HTTP tool is made; None for a manifest tool."""
    return from_json(strict_json.loads(tool.definition)) if tool.kind == "http" else None
