"""/v1/tools: what the agent and the team may run, and the switches."""

from ninja import Router

from median_site.api import answers, gate, inputs, listing, shapes
from median_site.api.gate import KeyRequest
from median_site.lib import strict_json
from tools import calls, endpoints, rating, testing
from tools.models import Tool

router = Router()


@router.get("", auth=gate.Scope("read"), summary="List tools by name")
def index(request: KeyRequest) -> answers.Page[answers.Tool]:
    """Every tool of the workspace, at most a few hundred, in one page."""
    rows = Tool.objects.filter(workspace_id=request.key.workspace_id).select_related("endpoint").order_by("name")
    return listing.whole([shapes.tool(row) for row in rows])


@router.post("/{name}/enable", auth=gate.Scope("manage"), summary="Switch a tool on")
def enable(request: KeyRequest, name: str) -> answers.Tool:
    return shapes.tool(endpoints.switch(name, by=gate.actor(request.key), on=True))


@router.post("/{name}/disable", auth=gate.Scope("manage"), summary="Switch a tool off")
def disable(request: KeyRequest, name: str) -> answers.Tool:
    """It leaves the agent's next turn and the run lists; a request for it that is approved later fails."""
    return shapes.tool(endpoints.switch(name, by=gate.actor(request.key), on=False))


@router.post("/{name}/risk", auth=gate.Scope("manage"), summary="Set the risk of an MCP server's tool")
def risk(request: KeyRequest, name: str, payload: inputs.NewRisk) -> answers.Tool:
    """It holds until the server changes the tool. Any other tool says its own risk."""
    by = gate.actor(request.key)
    return shapes.tool(rating.rate(name, risk=payload.risk, seen=payload.content_hash, by=by))


@router.post("/{name}/test", auth=gate.Scope("manage"), summary="Call a tool once, for a test")
def test(request: KeyRequest, name: str, payload: inputs.NewTest) -> answers.Run:
    """A real call with a `test_` id, as nobody or as a customer, at any risk and with nobody's approval."""
    tested = calls.run_now(
        testing.call,
        name,
        by=gate.actor(request.key),
        input_text=strict_json.dumps(payload.input),
        as_subject=payload.as_customer,
        conversation_id=payload.conversation_id or "",
    )
    return shapes.tool_run(tested.run)
