"""The tools of a workspace as one set: its lock, and how many may be switched on at once."""

from typing import Final

from median_site.lib.errors import DomainError
from team.models import Workspace
from tools.models import Tool

SWITCHED_ON_LIMIT: Final = 200


class TooManySwitchedOn(DomainError):
    code = "too_many_switched_on"
    message = f"A workspace has at most {SWITCHED_ON_LIMIT} tools switched on. Switch another one off first."


def lock(workspace_id: str) -> None:
    """Hold the workspace's names and switches until the transaction ends: who stores, switches or removes waits.

    Taken before any endpoint or tool is locked. It keeps nobody from writing other rows of the workspace.
    """
    Workspace.objects.select_for_update(no_key=True).only("id").get(id=workspace_id)


def free(workspace_id: str) -> int:
    """How many more tools may be switched on; below zero when there are too many."""
    return SWITCHED_ON_LIMIT - Tool.objects.usable().filter(workspace_id=workspace_id).count()
