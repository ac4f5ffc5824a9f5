"""Which requests the Approvals page lists, in what order, and how many wait. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Self

from django.db.models import QuerySet
from django.http import QueryDict

from approvals import cards
from approvals.models import DECIDABLE, State, ToolApproval
from median_site.dashboard import keyset
from median_site.dashboard.keyset import Page, Place
from median_site.lib.text import clean
from tools.models import Risk

WAITING_PAGE: Final = 20
SETTLED_PAGE: Final = 30

# status: its name, and the states that it means
STATUSES: Final[Mapping[str, tuple[str, Sequence[State]]]] = {
    "waiting": ("Waiting", DECIDABLE),
    "running": ("Running", [State.EXECUTING]),
    "ran": ("Ran", [State.COMPLETED]),
    "failed": ("Did not run", [State.FAILED]),
    "denied": ("Denied", [State.DENIED]),
    "expired": ("Expired", [State.EXPIRED]),
}
STATUS_OF: Final[Mapping[str, str]] = {state: name for name, (_, states) in STATUSES.items() for state in states}
SETTLED: Final = [state for state in State if state not in DECIDABLE]
RISKS: Final = (Risk.HIGH, Risk.REVIEWED)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a query string asks for; each field is empty when it asks for nothing."""

    status: str = ""
    tool: str = ""
    risk: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """What it gets wrong counts as not asked for."""
        status, risk = query.get("status", ""), query.get("risk", "")
        return cls(
            status if status in STATUSES else "",
            clean(query.get("tool", ""))[0][:64],
            risk if risk in RISKS else "",
        )

    @property
    def is_empty(self) -> bool:
        return self == type(self)()

    @property
    def facets(self) -> Mapping[str, list[str]]:
        """Which facets a pushed request must have to come into the list of those that wait."""
        return {name: [value] for name, value in asdict(self).items() if value}

    def query(self, **changes: str) -> str:
        """The query string of this filter with changes, and without the page."""
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in (asdict(self) | changes).items() if value})
        return f"?{query.urlencode()}" if query else "?"


def waiting(workspace_id: str, *, by: Filter, after: Place | None = None) -> Page[ToolApproval]:
    """Requests that can still be decided, the soonest expiry first. One query."""
    if by.status not in {"", "waiting"}:
        return Page([])
    rows = _asked(workspace_id, by).filter(state__in=DECIDABLE)
    return keyset.page(rows, by="expires_at", size=WAITING_PAGE, after=after, oldest_first=True)


def settled(workspace_id: str, *, by: Filter, before: Place | None = None) -> Page[ToolApproval]:
    """Requests that are decided or over, the newest request first. One query."""
    if by.status == "waiting":
        return Page([])
    states = STATUSES[by.status][1] if by.status else SETTLED
    rows = _asked(workspace_id, by)
    rows = rows.filter(state=states[0]) if len(states) == 1 else rows.filter(state__in=states)
    return keyset.page(rows, by="requested_at", size=SETTLED_PAGE, after=before)


def _asked(workspace_id: str, by: Filter) -> QuerySet[ToolApproval]:
    rows = cards.rows(workspace_id)
    if by.tool:
        rows = rows.filter(tool_name=by.tool)
    return rows.filter(risk=by.risk) if by.risk else rows
