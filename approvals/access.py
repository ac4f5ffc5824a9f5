"""Finding requests: only those of the actor's workspace exist."""

from approvals.models import ToolApproval
from median_site.lib.actors import Actor
from median_site.lib.errors import existing


def approval(by: Actor, approval_id: str) -> ToolApproval:
    """The row with its conversation and customer. Raises NotFound for absent and foreign ones alike."""
    rows = ToolApproval.objects.filter(workspace_id=by.workspace_id)
    rows = rows.select_related("conversation__customer", "conversation__workspace", "tool")
    return existing(rows.filter(id=approval_id).first())
