"""Tools that run once, before the agent's first step in a conversation, and what they tell it for good."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from agent import turns
from agent.models.base import Message
from agent.reading import Rows
from agent.rows import Step, Turn
from conversations import threads
from conversations.models import Conversation
from median_site.lib import strict_json
from tools import offered, outcomes, runs, tool_versions
from tools.models import Risk, Starter, Tool, ToolRun

TOLD: Final = """SESSION START {name}: {description}
It ran when this conversation started. What it returned is authoritative:
{result}"""


def plan(turn: Turn) -> list[str]:
    """The ids of the conversation's session-start runs, which the first turn queues here, all of them or none.

    Their rows are what keeps them from running twice, whatever dies. Nobody is asked before them, so only tools of low
    risk run; entitlements hold as for any call.
    """
    with transaction.atomic():
        conversation = threads.lock(turn.conversation_id)
        planned = list(_runs(conversation).values_list("id", flat=True))
        has_begun = planned or Step.objects.filter(turn__conversation=conversation).exists()
        if has_begun or not turns.may_go_on(turn, conversation):
            return planned
        tools = filter(_runs_first, offered.to_agent(conversation))
        return [
            runs.queue(
                conversation, tool, input_text="{}", started_by=Starter.SESSION_START,
                by=threads.agent_actor(conversation), turn_id=turn.id,
            ).id
            for tool in tools
        ]  # fmt: skip


def is_due(rows: Rows) -> bool:
    """Whether a conversation's first turn has tools to run, or to wait for, before the model is asked."""
    started = rows.session_start
    has_begun = started or any(rows.steps.values())
    return not all(run.is_over for run in started) or (not has_begun and any(map(_runs_first, rows.tools)))


def messages(held: Mapping[str, tuple[Conversation, Sequence[ToolRun]]]) -> dict[str, list[Message]]:
    """What the tools said when conversations started, each under its name and description; by conversation."""
    rows = [(run, conversation.tool_version) for conversation, runs in held.values() for run in runs]
    manifest = Tool.objects.filter(id__in={run.tool_id for run, _ in rows if run.kind == "manifest"})
    descriptions = dict(manifest.values_list("id", "description"))
    versions = {(run.workspace_id, number) for run, number in rows if run.kind == "http"}
    http = {(id, number): tool_versions.definitions_by_name(id, number=number) for id, number in versions}
    told: dict[str, list[Message]] = {id: [] for id in held}
    for run, number in rows:
        definition = http.get((run.workspace_id, number), {}).get(run.tool_name)
        description = definition.description if definition else descriptions.get(run.tool_id or "", "")
        told[run.conversation_id or ""].append(_message(run, description))
    return told


def _message(run: ToolRun, description: str) -> Message:
    result = run.for_model if run.is_over else strict_json.dumps(outcomes.no_result(kind=run.kind).for_model)
    return Message("system", TOLD.format(name=run.tool_name, description=description, result=result))


def _runs_first(tool: Tool) -> bool:
    return tool.session_start and tool.risk == Risk.LOW


def _runs(conversation: Conversation) -> QuerySet[ToolRun]:
    rows = ToolRun.objects.filter(workspace_id=conversation.workspace_id, conversation=conversation)
    return rows.filter(started_by=Starter.SESSION_START).order_by("queued_at", "tool_name")
