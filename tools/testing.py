"""Testing a tool: a real call with a test_ id that stands in no thread, and everything that left and came back."""

from dataclasses import dataclass
from typing import Final

from django.db import transaction

from conversations import access
from median_site.lib import clock, ids, strict_json
from median_site.lib.actors import Actor
from median_site.lib.db import in_thread
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import JsonError
from tools import calls, inputs, keys, runs
from tools.calls import Exchange
from tools.client import Outbound
from tools.models import Tool, ToolRun

MAX_SUBJECT: Final = 255


class BadTestInput(DomainError):
    """The message names what does not fit; nothing was sent."""

    code = "invalid_input"
    status = 422


@dataclass(frozen=True, slots=True)
class Trial:
    """The run, over and written up, and what was on the wire: with live signatures, so show those masked."""

    run: ToolRun
    exchange: Exchange


async def call(
    tool_name: str, *, by: Actor, input_text: str, as_subject: str | None = None, conversation_id: str = ""
) -> Trial:
    """Call a tool of any risk, switched on or off, without anybody's approval, and keep the run.

    `input_text` is JSON, blank for {}. The endpoint is told of the customer `as_subject` (the company's own id), or of
    nobody; and of the conversation, or of none. Raises NotFound and BadTestInput, field "input" or "as".
    """
    run, outbound = await in_thread(
        _begin, tool_name, by=by, input_text=input_text, as_subject=as_subject or "", conversation_id=conversation_id
    )
    exchange = await calls.exchange(run, outbound)
    return Trial(await in_thread(_written_up, run.id), exchange)


def _begin(
    tool_name: str, *, by: Actor, input_text: str, as_subject: str, conversation_id: str
) -> tuple[ToolRun, Outbound]:
    if conversation_id:
        access.conversation(by, conversation_id)
    if len(as_subject) > MAX_SUBJECT or strict_json.has_nul_or_surrogate(as_subject):
        raise BadTestInput(f"A customer's id has at most {MAX_SUBJECT} characters.", field="as")
    tool = find(by, tool_name)
    text = _checked(tool, input_text, by=by, conversation_id=conversation_id)
    with transaction.atomic():
        run = runs.begin_test(
            tool, call_id=ids.test_id(), by=by, input_text=text, tested_as=as_subject, tested_in=conversation_id
        )
        return run, calls.signed(run, key=keys.current(run.workspace_id), now=clock.now())


def find(by: Actor, tool_name: str) -> Tool:
    """The tool as the last good sync or the newest version has it. Raises NotFound."""
    rows = Tool.objects.select_related("endpoint", "workspace").filter(workspace_id=by.workspace_id, name=tool_name)
    return existing(rows.filter(present=True, endpoint__removed_at=None).first())


def _checked(tool: Tool, input_text: str, *, by: Actor, conversation_id: str) -> str:
    try:
        value = strict_json.loads_unique(input_text) if input_text.strip() else {}
    except JsonError as error:
        raise BadTestInput(f"The input is not JSON: {error}", field="input") from error
    with transaction.atomic():
        read = inputs.read(tool, value, by=by, conversation_id=conversation_id)
    if read.errors:
        raise BadTestInput(" ".join(error.message for error in read.errors), field="input")
    return read.text


def _written_up(run_id: str) -> ToolRun:
    runs.write_up(run_id)
    return ToolRun.objects.get(id=run_id)
