"""A tool run by a teammate or through the API: any tool that is switched on, whatever its risk, without sign-off."""

from typing import Final

from django.db import transaction
from django.db.models import Q

from conversations import threads
from conversations.models import Conversation, Status
from median_site.lib import strict_json
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from tools import http_definitions, inputs, offered, runs, tool_versions
from tools.inputs import Input
from tools.models import RunState, Starter, Tool, ToolRun

IN_FLIGHT_LIMIT: Final = 3
_STARTERS: Final = {ActorKind.TEAMMATE: Starter.TEAMMATE, ActorKind.API: Starter.API}


class Archived(DomainError):
    code = "archived"
    message = "Move this conversation out of the archive before running a tool."


class Unavailable(DomainError):
    """Switched off, gone or never there; it is called as the page calls it, or as it was asked for."""

    code = "tool_unavailable"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is unavailable or disabled. Check its settings in Agent > Tools.")


class BadInput(DomainError):
    """`field` is the first field at fault, as people write it: `items[0].sku`."""

    code = "invalid_input"
    status = 422


class TooManyRunning(DomainError):
    code = "too_many_running"
    message = "Three tools are already running in this conversation. Wait for one to finish."


class AlreadySent(DomainError):
    code = "already_sent"
    message = "This form was sent with another input. Open it again to run the tool once more."


def run(
    conversation_id: str, tool_name: str, input_value: dict[str, Json], *, by: Actor, client_id: str = ""
) -> ToolRun:
    """Queue a run for `by`, a teammate or the API; an agent process sends it at once, and the agent is not told.

    `client_id` is the sender's own id of the run: sent again it gives the run already there. Raises NotFound, and in
    this order AlreadySent, Archived, Unavailable, BadInput, TooManyRunning; nothing is written then but the log's row
    of a value for the subject.
    """
    with transaction.atomic():
        conversation = threads.lock(conversation_id, by=by)
        if sent := _sent(conversation, by=by, client_id=client_id):
            if not _is_same(sent, conversation, tool_name=tool_name, value=input_value):
                raise AlreadySent
            return sent
        if conversation.status == Status.ARCHIVED:
            raise Archived
        tool = offered.by_name(conversation, tool_name)
        if tool is None:
            raise Unavailable(_label(tool_name, by=by))
        made = inputs.read(tool, input_value, by=by, conversation_id=conversation.id)
        refusal = _refusal(made, conversation)
        if refusal is None:
            return runs.queue(
                conversation, tool, input_text=made.text, started_by=_STARTERS[by.kind], by=by, client_id=client_id
            )
    raise refusal  # after the commit, which keeps what reading the input logged


def _label(name: str, *, by: Actor) -> str:
    tools = Tool.objects.filter(workspace_id=by.workspace_id, name=name)
    return tools.values_list("label", flat=True).first() or name


def _refusal(made: Input, conversation: Conversation) -> DomainError | None:
    for error in made.errors:
        return BadInput(error.message, field=error.path)
    return TooManyRunning() if _in_flight(conversation) >= IN_FLIGHT_LIMIT else None


def _is_same(sent: ToolRun, conversation: Conversation, *, tool_name: str, value: dict[str, Json]) -> bool:
    """Whether this is what was sent before, of which a value for the subject was dropped."""
    if sent.kind == "http":
        held = tool_versions.definitions_by_name(sent.workspace_id, number=conversation.tool_version)
        kept = http_definitions.without_subject(held.get(sent.tool_name), value)
    else:
        kept = value
    return sent.tool_name == tool_name and strict_json.loads(sent.input) == kept


def _sent(conversation: Conversation, *, by: Actor, client_id: str) -> ToolRun | None:
    earlier = ToolRun.objects.filter(_of(conversation), by_id=by.id, client_id=client_id)
    return earlier.first() if client_id else None


def _in_flight(conversation: Conversation) -> int:
    """Runs by hand that are not over; those of the agent do not count."""
    out = ToolRun.objects.filter(_of(conversation), state__in=[RunState.QUEUED, RunState.RUNNING])
    return out.filter(started_by__in=_STARTERS.values()).count()


def _of(conversation: Conversation) -> Q:
    return Q(workspace_id=conversation.workspace_id, conversation=conversation)
