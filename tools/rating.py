"""The risk of an MCP server's tool, which a teammate may set where its annotations say too much or too little.

It holds for the definition that they read: a sync that brings another one sets the risk anew.
"""

from django.db import transaction

from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import roster
from tools.models import EndpointKind, Risk, Tool


class NotRatedHere(DomainError):
    code = "risk_not_set_here"
    message = "Only the risk of an MCP server's tool is set here. Any other tool says its own."


class ChangedMeanwhile(DomainError):
    code = "tool_changed"
    message = "The tool changed since you read it. Look at it again before you set its risk."


class UnknownRisk(DomainError):
    code = "invalid_risk"
    message = "The risk must be low, medium, reviewed or high."
    status = 422


def find(by: Actor, tool_name: str, *, risk: str, seen: str) -> Tool:
    """The tool whose risk may become `risk`. `seen` is the `content_hash` of the definition that was read.

    Raises NotFound, NotRatedHere, UnknownRisk with field "risk", and ChangedMeanwhile.
    """
    rows = Tool.objects.filter(workspace_id=by.workspace_id, name=tool_name).select_related("endpoint", "workspace")
    tool = existing(rows.filter(present=True, endpoint__removed_at=None).first())
    if not is_rated_here(tool):
        raise NotRatedHere
    if risk not in Risk.values:
        raise UnknownRisk(field="risk")
    if tool.content_hash != seen:
        raise ChangedMeanwhile
    return tool


def rate(tool_name: str, *, risk: str, seen: str, by: Actor) -> Tool:
    """Set the risk from now on; what waits for a decision keeps waiting. To the same one changes nothing.

    Errors as of `find`.
    """
    with transaction.atomic():
        roster.lock(by.workspace_id)  # a sync that would bring another definition waits
        tool = find(by, tool_name, risk=risk, seen=seen)
        if tool.risk != risk:
            data: dict[str, Json] = {"label": tool.label, "risk": risk, "was": tool.risk}
            served = tool.served_risk or tool.risk
            reset(tool, risk=risk)
            if risk != served:
                tool.served_risk, tool.risk_set_by, tool.risk_set_at = served, by.name, clock.now()
            tool.save(update_fields=["risk", "served_risk", "risk_set_by", "risk_set_at"])
            events.record(Kind.TOOL_RATED, by=by, subject_id=tool.id, tool_name=tool.name, data=data)
    return tool


def is_rated_here(tool: Tool) -> bool:
    """Whether a teammate may set the risk: of an MCP server's tool, whose annotations are only hints."""
    return tool.endpoint is not None and tool.endpoint.kind == EndpointKind.MCP


def is_lower(risk: str, *, than: str) -> bool:
    return Risk.values.index(risk) < Risk.values.index(than)


def holds(tool: Tool, *, endpoint_id: str, content_hash: str) -> bool:
    """Whether the risk that was set is still that of the definition which a sync brings."""
    same = tool.endpoint_id == endpoint_id and tool.content_hash == content_hash
    return bool(tool.served_risk) and same


def reset(tool: Tool, *, risk: str) -> None:
    """Let the tool have this risk, set by nobody. Saves nothing."""
    tool.risk, tool.served_risk, tool.risk_set_by, tool.risk_set_at = risk, "", "", None
