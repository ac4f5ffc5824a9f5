"""The bytes of a call. Pure: what is known about a run in, the body of its request out, the input letter by letter."""

from dataclasses import dataclass

from median_site.lib import strict_json
from median_site.lib.strict_json import Json


@dataclass(frozen=True, slots=True)
class Visitor:
    """`external_id` is the company's own id and leaves only for a verified customer; name and email are claims."""

    verified: bool
    external_id: str = ""
    email: str = ""
    name: str = ""

    def as_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {"verified": self.verified}
        if self.verified and self.external_id:
            shown["externalId"] = self.external_id
        if self.email:
            shown["email"] = self.email
        if self.name:
            shown["name"] = self.name
        return shown


def mcp_call_body(*, tool: str, call_id: str, input_text: str) -> bytes:
    """The JSON-RPC request of one call of an MCP server's tool; `input_text` is JSON already and stays as it is."""
    name, id = strict_json.dumps(tool), strict_json.dumps(call_id)
    meta = f'{{"median/toolCallId":{id}}}'
    params = f'{{"name":{name},"arguments":{input_text},"_meta":{meta}}}'
    return f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}'.encode()


def call_body(
    *,
    tool: str,
    call_id: str,
    input_text: str,
    conversation_id: str,
    risk: str,
    visitor: Visitor,
    approved_by: str | None,
) -> bytes:
    """The JSON that an endpoint receives for one call, in UTF-8; `input_text` is JSON already and stays as it is."""
    context: dict[str, Json] = {"conversationId": conversation_id, "risk": risk}
    if approved_by:
        context["approvedBy"] = approved_by
    context["visitor"] = visitor.as_json()
    head = strict_json.dumps({"tool": tool, "toolCallId": call_id})[:-1]
    return f'{head},"input":{input_text},"context":{strict_json.dumps(context)}}}'.encode()
