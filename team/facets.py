"""What the log is filtered by, read off an event's kind: its type and its outcome. Pure; new kinds need no change here
as long as they are named like the others (`endpoint.added`, `run.failed`)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Type(StrEnum):
    CONVERSATIONS = "conversations"
    TOOLS = "tools"
    SYNCS = "syncs"
    TEAM = "team"


class Outcome(StrEnum):
    ASKED = "asked"
    PASSED = "passed"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    RAN = "ran"
    REFUSED = "refused"
    FAILED = "failed"


_TYPES: Final[Mapping[str, Type]] = {
    "conversation": Type.CONVERSATIONS,
    "message": Type.CONVERSATIONS,
    "note": Type.CONVERSATIONS,
    "email": Type.CONVERSATIONS,
    "discord": Type.CONVERSATIONS,
    "turn": Type.CONVERSATIONS,
    "approval": Type.TOOLS,
    "alert": Type.TOOLS,
    "run": Type.TOOLS,
    "tool": Type.TOOLS,
    "http_tool": Type.TOOLS,
    "http_tools": Type.TOOLS,
    "endpoint": Type.SYNCS,
}
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "requested": Outcome.ASKED,
    "reviewing": Outcome.ASKED,
    "passed_on": Outcome.PASSED,
    "unchecked": Outcome.PASSED,
    "approved": Outcome.APPROVED,
    "denied": Outcome.DENIED,
    "expired": Outcome.EXPIRED,
    "completed": Outcome.RAN,
    "failed": Outcome.FAILED,
    "given_up": Outcome.FAILED,
    "stuck": Outcome.FAILED,
    "bounced": Outcome.FAILED,
    "sync_failed": Outcome.FAILED,
    "refused": Outcome.REFUSED,
}


def type_of(kind: str) -> Type:
    """By what the event is about; the team's for everything that is about nothing else."""
    return _TYPES.get(kind.partition(".")[0], Type.TEAM)


def outcome_of(kind: str, *, refused: bool = False) -> Outcome | None:
    """By what happened; None where nothing was asked, tried or decided. `refused`: it ran, and the tool said no."""
    return Outcome.REFUSED if refused else _OUTCOMES.get(kind.partition(".")[2])
