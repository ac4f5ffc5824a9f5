"""Tools that run once, before the agent's first step in a conversation, and what they tell it for good."""

from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from agent import turns
from agent.models.base import Message
from agent.rows import Step, Turn
from conversations import threads
from conversations.models import Conversation
from median_site.lib import strict_json
from tools import offered, outcomes, runs, tool_versions
from tools.models import Risk, Starter, ToolRun

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
        tools = [tool for tool in offered.to_agent(conversation) if tool.session_start and tool.risk == Risk.LOW]
        return [
            runs.queue(
                conversation, tool_name=tool.name, tool_label=tool.label, tool_id=tool.id, endpoint_id=tool.served_by,
                risk=tool.risk, input_text="{}", started_by=Starter.SESSION_START,
                by=threads.agent_actor(conversation), turn_id=turn.id,
            ).id
            for tool in tools
        ]  # fmt: skip


def messages(conversation: Conversation) -> list[Message]:
    """What the tools said when the conversation started, each under its name and description."""
    rows = list(_runs(conversation).select_related("tool").defer("raw"))
    if not rows:
        return []
    held = tool_versions.definitions_by_name(conversation.workspace_id, number=conversation.tool_version)
    told = []
    for run in rows:
        described = held.get(run.tool_name) if run.kind == "http" else run.tool
        result = run.for_model if run.is_over else strict_json.dumps(outcomes.no_result(kind=run.kind).for_model)
        told.append(Message("system", TOLD.format(
            name=run.tool_name, description=described.description if described else "", result=result
        )))  # fmt: skip
    return told


def _runs(conversation: Conversation) -> QuerySet[ToolRun]:
    rows = ToolRun.objects.filter(workspace_id=conversation.workspace_id, conversation=conversation)
    return rows.filter(started_by=Starter.SESSION_START).order_by("queued_at", "tool_name")
