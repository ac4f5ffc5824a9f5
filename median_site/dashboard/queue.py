"""The queue: which conversations it lists, in what order, and who has read what. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict

from conversations.models import Conversation, Handler, ReadMark, Status
from team.models import Teammate

PAGE: Final = 30
COUNTED_UP_TO: Final = 100

WHO: Final = {
    "all": "All",
    "approval": "Needs approval",
    "mine": "Mine",
    "agent": "The agent",
    "unassigned": "Nobody",
}


@dataclass(frozen=True, slots=True)
class Filter:
    who: str = "all"
    status: str = Status.OPEN
    unread: bool = False

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """The filter that a query string asks for; what it gets wrong falls back to the usual."""
        who, status = query.get("f", ""), query.get("status", "")
        return cls(
            who if who in WHO else "all",
            status if status in Status.values else Status.OPEN,
            query.get("unread") == "1",
        )

    @property
    def is_usual(self) -> bool:
        return self == Filter()

    def query(self, **changes: str) -> str:
        """The query string of this filter with changes, and without the page; nothing for what is usual."""
        parts = {"f": self.who, "status": self.status, "unread": "1" if self.unread else ""} | changes
        usual = {"f": "all", "status": Status.OPEN.value, "unread": ""}
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in parts.items() if value != usual.get(name)})
        return f"?{query.urlencode()}" if query else "?"

    def facets(self, teammate_id: str) -> Mapping[str, list[str | bool]]:
        """Which facets a pushed row must have to stay in or come into the list: name to allowed values."""
        facets: dict[str, list[str | bool]] = {"status": [self.status]}
        if self.unread:
            facets["unread"] = [True]
        if self.who == "approval":
            facets["waiting"] = [True]
        elif self.who == "mine":
            facets["assignee"] = [teammate_id]
        elif self.who in {"agent", "unassigned"}:
            facets["handler"] = [Handler.AGENT if self.who == "agent" else Handler.NOBODY]
        return facets


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with whether each is unread, and the cursor of the next page, or ""."""

    rows: list[tuple[Conversation, bool]]
    older: str


def page(teammate: Teammate, *, by: Filter, before: str = "") -> Page:
    """One page of the queue, newest first. One query, whatever the page."""
    rows = _unread_for(teammate).filter(status=by.status).select_related("customer", "assignee", "workspace")
    if by.who == "approval":
        rows = rows.filter(waiting__gt=0)
    elif by.who == "mine":
        rows = rows.filter(assignee=teammate)
    elif by.who in {"agent", "unassigned"}:
        rows = rows.filter(handler=Handler.AGENT if by.who == "agent" else Handler.NOBODY)
    if by.unread:
        rows = rows.filter(attention__gt=F("read"))
    at, conversation_id = _cursor(before)
    if at:
        rows = rows.filter(Q(last_at__lte=at) & (Q(last_at__lt=at) | Q(id__lt=conversation_id)))
    found = list(rows.order_by("-last_at", "-id")[: PAGE + 1])
    shown = found[:PAGE]
    older = f"{shown[-1].last_at.isoformat()}_{shown[-1].id}" if len(found) > PAGE else ""
    return Page([(row, row.attention > row.read) for row in shown], older)  # type: ignore[attr-defined]  # annotated


def unread_ids(teammate: Teammate) -> list[str]:
    """Open conversations that this teammate has not read, up to 100 of them: enough to count, and to keep counting."""
    unread = _unread_for(teammate).filter(status=Status.OPEN, attention__gt=F("read"))
    return list(unread.values_list("id", flat=True)[:COUNTED_UP_TO])


def _unread_for(teammate: Teammate) -> QuerySet[Conversation]:
    """The workspace's conversations with `read`, the number up to which this teammate has read each."""
    marks = ReadMark.objects.filter(
        workspace_id=teammate.workspace_id, conversation_id=OuterRef("pk"), teammate_id=teammate.id
    )
    rows = Conversation.objects.filter(workspace_id=teammate.workspace_id)
    return rows.annotate(read=Coalesce(Subquery(marks.values("number")[:1]), 0))


def _cursor(text: str) -> tuple[datetime | None, str]:
    moment, _, conversation_id = text.partition("_")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        return None, ""
    return (at, conversation_id) if at.tzinfo else (None, "")
