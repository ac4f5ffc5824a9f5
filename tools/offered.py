"""Which tools a conversation has, of both kinds: what the team may run there, what the agent is offered, what a run is.

Manifest tools are as the last good sync left them. HTTP tools are as the version says that the conversation keeps; the
rows given here are filled from it in memory and never saved.
"""

from collections.abc import Iterable

from conversations.models import Conversation
from median_site.lib import clock
from tools import tool_versions
from tools.models import SIGNED_OFF, Starter, Tool, ToolRun


def to_team(conversation: Conversation) -> list[Tool]:
    """Every tool that can be run in this conversation, in the order of the names. Three statements at most."""
    rows = Tool.objects.filter(workspace_id=conversation.workspace_id)
    served = list(rows.usable().exclude(endpoint=None).select_related("endpoint"))
    held = tool_versions.definitions_by_name(conversation.workspace_id, number=conversation.tool_version)
    http = rows.filter(endpoint=None, switched_on=True, name__in=list(held)) if held else []
    return sorted([*served, *(tool_versions.fill(row, held[row.name]) for row in http)], key=lambda tool: tool.name)


def to_agent(conversation: Conversation) -> list[Tool]:
    """Those whose entitlement the customer's newest session token carries, as long as it lasts."""
    return to_agent_in([conversation])[conversation.id]


def to_agent_in(conversations: Iterable[Conversation]) -> dict[str, list[Tool]]:
    """The same for many, by conversation; read once for each workspace and version, whose conversations share rows."""
    found: dict[tuple[str, int], list[Tool]] = {}
    offered = {}
    for conversation in conversations:
        key = conversation.workspace_id, conversation.tool_version
        if key not in found:
            found[key] = to_team(conversation)
        lasts = conversation.claims_expire_at is not None and conversation.claims_expire_at > clock.now()
        held = conversation.claims if lasts else {}
        offered[conversation.id] = [tool for tool in found[key] if not tool.requires or held.get(tool.requires)]
    return offered


def by_name(conversation: Conversation, name: str) -> Tool | None:
    """The tool of that name that can be run in this conversation."""
    return next((tool for tool in to_team(conversation) if tool.name == name), None)


def of_run(run: ToolRun) -> Tool | None:
    """The tool that a run was asked for, as its conversation has it; None when it is no longer available for that.

    A run outside a conversation is of the newest version; a test may be of a tool that is switched off. One that needs
    a sign-off by now is not there for a call of the agent without.
    """
    tool = _of_run(run)
    return None if tool and run.is_turns_own and tool.risk in SIGNED_OFF else tool


def _of_run(run: ToolRun) -> Tool | None:
    tool = run.tool
    is_off = tool and not tool.switched_on and run.started_by != Starter.TEST
    if tool is None or is_off or tool.served_by != run.endpoint_id:
        return None
    if tool.endpoint:
        return tool if tool.present and tool.endpoint.removed_at is None else None
    number = run.conversation.tool_version if run.conversation else None
    definition = tool_versions.definitions_by_name(run.workspace_id, number=number).get(tool.name)
    return tool_versions.fill(tool, definition) if definition else None
