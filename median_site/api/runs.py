"""/v1/tool-runs: what became of a call."""

from ninja import Router

from median_site.api import answers, gate, inputs, shapes
from median_site.api.gate import KeyRequest
from median_site.lib.errors import existing
from tools.models import ToolRun

router = Router()


@router.get("/{run_id}", auth=gate.Scope("read"), summary="Read one run")
def read(request: KeyRequest, run_id: str, wait: inputs.Wait = None) -> answers.Run:
    """With `?wait=30` the answer is held, up to so many seconds, until the run has ended."""
    run = existing(ToolRun.objects.filter(workspace_id=request.key.workspace_id, id=run_id).first())
    return shapes.tool_run(run)
