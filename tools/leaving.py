"""What calls need in order to leave, read in one statement however many they are."""

from collections.abc import Collection
from typing import Final, cast

from conversations.models import Conversation, Customer
from median_site.lib import rows
from median_site.lib.statement import Row, among, fetch
from team.models import Workspace
from tools import keys, signing
from tools.models import Endpoint, Tool, ToolRun

_MODELS: Final = {
    "run": ToolRun, "workspace": Workspace, "conversation": Conversation, "customer": Customer, "tool": Tool,
    "endpoint": Endpoint,
}  # fmt: skip
_READ: Final = f"""
    select {", ".join(rows.columns(model, of=name) for name, model in _MODELS.items())},
           signing_key.kid, signing_key.sealed_private_key
      from tools_toolrun run
      join team_workspace workspace on workspace.id = run.workspace_id
      left join conversations_conversation conversation on conversation.id = run.conversation_id
      left join conversations_customer customer on customer.id = conversation.customer_id
      left join tools_tool tool on tool.id = run.tool_id
      left join tools_endpoint endpoint on endpoint.id = tool.endpoint_id
      left join lateral ({keys.CURRENT}) signing_key on true
     where run.id {{}}
"""  # noqa: S608  # made of names in the code alone


def read(call_ids: Collection[str]) -> dict[str, tuple[ToolRun, signing.Key]]:
    """The runs by id, each with its workspace, its conversation and customer, its tool and endpoint; and the key that
    signs now. Raises ToolRun.DoesNotExist when one does not."""
    among_them, value = among(call_ids)
    found = {run.id: (run, key) for run, key in map(_load, fetch(_READ.format(among_them), value))}
    if not found.keys() >= set(call_ids):
        raise ToolRun.DoesNotExist
    return found


def _load(row: Row) -> tuple[ToolRun, signing.Key]:
    *values, kid, sealed = row
    read = rows.load_all(list(_MODELS.values()), values)
    run, workspace = cast(ToolRun, read[0]), cast(Workspace, read[1])
    conversation, customer = cast(Conversation | None, read[2]), cast(Customer | None, read[3])
    tool, endpoint = cast(Tool | None, read[4]), cast(Endpoint | None, read[5])
    if conversation and customer:
        conversation.customer = customer
    if tool:
        tool.endpoint = endpoint
    run.workspace, run.conversation, run.tool = workspace, conversation, tool
    return run, keys.unsealed(str(kid), str(sealed)) if kid else keys.current(run.workspace_id)
