"""Who did something: a value that every changing function takes and every event records."""

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    TEAMMATE = "teammate"
    AGENT = "agent"
    REVIEWER = "reviewer"
    CUSTOMER = "customer"
    API = "api"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """`id` is the row of that kind (a teammate's id, an API key's id) or empty; `name` is what people read."""

    kind: ActorKind
    workspace_id: str
    id: str = ""
    name: str = ""

    @property
    def approver_name(self) -> str:
        """What an endpoint is told in `approvedBy`."""
        if self.kind == ActorKind.API:
            return "the API"
        if self.kind == ActorKind.REVIEWER:
            return "The reviewer"
        return self.name or "A teammate"

    @property
    def short_name(self) -> str:
        """What a line in a thread calls them: a teammate's first name."""
        if self.kind == ActorKind.TEAMMATE:
            return self.name.split()[0] if self.name.split() else "A teammate"
        return self.approver_name if self.kind in {ActorKind.API, ActorKind.REVIEWER} else self.name


def system(workspace_id: str) -> Actor:
    """Median itself: sweeps, expiry, schedules."""
    return Actor(ActorKind.SYSTEM, workspace_id, name="Median")


def reviewer(workspace_id: str) -> Actor:
    """The model that stands in for a teammate on reviewed calls."""
    return Actor(ActorKind.REVIEWER, workspace_id, name="The reviewer")
