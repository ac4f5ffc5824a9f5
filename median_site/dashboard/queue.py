"""The queue: which conversations it lists, in what order, and who has read what. Reads only."""

from collections.abc import Container, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final, Self, cast

from django.db import connection
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.http import QueryDict
from markupsafe import Markup

from conversations import drafts
from conversations.models import Channel, Conversation, Customer, Handler, ReadMark, Status
from median_site.dashboard import search
from median_site.dashboard.keyset import Place
from median_site.dashboard.search import NEWEST, Found, Search
from median_site.lib import clock
from median_site.lib import rows as lib_rows
from median_site.lib.statement import fetch
from team.models import Notification, NotificationKind, Teammate

PAGE: Final = 30
COUNTED_UP_TO: Final = 100
# Whether somebody has read a thread stands in no index: so many of the newest are looked at.
LOOK: Final = 1_000

_ROWS: Final = f"""
    select coalesce((
               select number from conversations_readmark mark
                where mark.workspace_id = conversation.workspace_id and mark.conversation_id = conversation.id
                  and mark.teammate_id = %s
           ), 0),
           array(
               select distinct teammate_id from conversations_draft draft
                where draft.workspace_id = conversation.workspace_id and draft.conversation_id = conversation.id
                order by teammate_id
           ),
           {lib_rows.columns(Conversation, of="conversation")}, {lib_rows.columns(Customer, of="customer")},
           {lib_rows.columns(Teammate, of="assignee")}
      from ({{}}) listed join conversations_conversation conversation using (id)
      join conversations_customer customer on customer.id = conversation.customer_id
      left join team_teammate assignee on assignee.id = conversation.assignee_id
     order by conversation.last_at desc, conversation.id desc
"""  # noqa: S608  # made of names in the code alone

COUNTS: Final = ("unread", "open", "approval", "mine", "notices", "pending")
_HERE: Final = "status = 'open' and (snoozed_until is null or snoozed_until <= %s)"
# Each list is read in the order of its index, and only until there are enough.
_COUNTED: Final = f"""
    (select id, 'unread' from (
        select id, attention, coalesce((
                   select number from conversations_readmark m
                    where m.workspace_id = c.workspace_id and m.conversation_id = c.id and m.teammate_id = %s
               ), 0) as read
          from conversations_conversation c where workspace_id = %s and {_HERE}
         order by last_at desc, id desc limit {LOOK}
     ) looked_at where attention > read limit {COUNTED_UP_TO})
    union all
    (select id, 'open' from conversations_conversation
      where workspace_id = %s and {_HERE} order by last_at desc, id desc limit {COUNTED_UP_TO})
    union all
    (select id, 'approval' from conversations_conversation
      where workspace_id = %s and {_HERE} and waiting > 0 limit {COUNTED_UP_TO})
    union all
    (select id, 'mine' from conversations_conversation
      where workspace_id = %s and {_HERE} and assignee_id = %s limit {COUNTED_UP_TO})
    union all
    (select id::text, 'notices' from team_notification
      where workspace_id = %s and teammate_id = %s and read_at is null
      order by team_notification.id desc limit {COUNTED_UP_TO})
    union all
    (select id, 'pending' from approvals_toolapproval
      where workspace_id = %s and state = 'pending' and expires_at > %s order by expires_at limit {COUNTED_UP_TO})
"""  # noqa: S608  # the code's own

WHO: Final = {
    "all": "All",
    "approval": "Needs approval",
    "mine": "Mine",
    "agent": "The agent",
    "unassigned": "Nobody",
    "mentions": "Mentions you",
}
SNOOZED: Final = "snoozed"
STATUSES: Final = {**dict(Status.choices), SNOOZED: "Snoozed", "any": "Any status"}


@dataclass(frozen=True, slots=True)
class Filter:
    """What a query string asks for. A search looks everywhere, unless a status is named."""

    f: str = "all"
    status: str = Status.OPEN.value
    channel: str = ""
    unread: str = ""
    q: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """What it gets wrong falls back to the usual."""
        q = query.get("q", "").strip()[: search.LONGEST]
        asked: dict[str, tuple[Container[str], str]] = {
            "f": (WHO, "all"),
            "status": (STATUSES, "any" if q else Status.OPEN.value),
            "channel": (Channel.values, ""),
            "unread": ({"1"}, ""),
        }
        given = {name: query.get(name, "") for name in asked}
        right = {name: given[name] if given[name] in known else usual for name, (known, usual) in asked.items()}
        return cls(**right, q=q)

    @property
    def is_usual(self) -> bool:
        return self == Filter()

    @property
    def is_narrow(self) -> bool:
        """More is asked for than the search box and the tabs show."""
        tab = self.f if self.f in {"all", "approval", "mine"} else "all"
        return self != Filter(f=tab, status="any" if self.q else Status.OPEN.value, q=self.q)

    @property
    def search(self) -> Search:
        return Search.of(self.q)

    def query(self, **changes: str) -> str:
        """The query string of this filter with changes, and without the page; nothing for what is usual."""
        asked = asdict(self) | changes
        usual = asdict(Filter(status="any" if asked["q"] else Status.OPEN.value))
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in asked.items() if value != usual.get(name, "")})
        return f"?{query.urlencode()}" if query else "?"

    def facets(self, teammate_id: str) -> Mapping[str, list[str | bool]]:
        """Which facets a pushed row must have to stay in or come into the list: name to allowed values."""
        facets: dict[str, list[str | bool]] = {}
        if self.status != "any":
            facets["status"] = [self.status]
        if self.channel:
            facets["channel"] = [self.channel]
        if self.unread:
            facets["unread"] = [True]
        if self.f == "approval":
            facets["waiting"] = [True]
        elif self.f == "mine":
            facets["assignee"] = [teammate_id]
        elif self.f == "mentions":
            facets["mentions"] = [teammate_id]
        elif self.f in {"agent", "unassigned"}:
            facets["handler"] = [Handler.AGENT if self.f == "agent" else Handler.NOBODY]
        return facets

    def rows(self, rows: QuerySet[Conversation], *, teammate_id: str) -> QuerySet[Conversation]:
        """Those of the rows that the filter lists, unread and searched or not."""
        if self.status == SNOOZED:
            rows = rows.filter(status=Status.OPEN, snoozed_until__gt=clock.now())
        elif self.status == Status.OPEN:
            rows = rows.filter(_here())
        elif self.status != "any":
            rows = rows.filter(status=self.status)
        if self.channel:
            rows = rows.filter(channel=self.channel)
        if self.f == "approval":
            return rows.filter(waiting__gt=0)
        if self.f == "mine":
            return rows.filter(assignee=teammate_id)
        if self.f == "mentions":
            told = Notification.objects.filter(teammate_id=teammate_id, kind=NotificationKind.MENTION)
            return rows.filter(id__in=told.filter(workspace_id=OuterRef("workspace_id")).values("conversation_id"))
        if self.f in {"agent", "unassigned"}:
            return rows.filter(handler=Handler.AGENT if self.f == "agent" else Handler.NOBODY)
        return rows


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with whether each is unread, and the cursor of the next page, or "". In a search also what was found in
    each and where, by id. `looked_to`: back to when conversations were looked at, if there are older ones that may
    belong here.
    """

    rows: list[tuple[Conversation, bool]]
    older: str
    passages: Mapping[str, tuple[Markup, str]] = field(default_factory=dict)
    looked_to: datetime | None = None


def page(teammate: Teammate, *, by: Filter, before: str = "") -> Page:
    """One page of the queue, newest first. One query, whatever the page; one more when few are unread, and a few for a
    search."""
    rows = by.rows(Conversation.objects.filter(workspace_id=teammate.workspace_id), teammate_id=teammate.id)
    place = Place.of(before)
    if place:
        rows = rows.filter(place.older("last_at"))
    found, passages = _found(rows, by, teammate), {}
    if by.q:
        passages = search.passages(found.rows[:PAGE], by.search, workspace_id=teammate.workspace_id)
    last = found.rows[PAGE - 1] if len(found.rows) > PAGE else None
    older = Place(last.last_at, last.id) if last else found.stopped
    looked_to = found.stopped.at if found.stopped else None
    return Page(_read(found.rows, teammate), str(older or ""), passages, looked_to)


def _found(rows: QuerySet[Conversation], by: Filter, teammate: Teammate) -> Found:
    """A page of the rows and one more, or as many of them as a look finds."""
    if by.q:
        only = Q(attention__gt=F("read")) if by.unread else None
        whole = drafts.writers(_marked(rows, teammate)).select_related("customer", "assignee")
        return search.among(whole, by.search, workspace_id=teammate.workspace_id, limit=PAGE + 1, only=only)
    if not by.unread:
        return Found(_newest(rows, teammate))
    unread = _newest(_unread(rows, teammate, limit=PAGE + 1), teammate)
    return Found(unread, search.last_of(rows, LOOK) if len(unread) <= PAGE else None)


def counted(teammate: Teammate) -> dict[str, list[str]]:
    """Open conversations: all, those that this teammate has not read, that need approval, and that are theirs; what
    they were told and have not read; and requests that wait. Up to 100 ids of each: enough to count, and to keep
    counting. One query.
    """
    whose, who, now = teammate.workspace_id, teammate.id, clock.now()
    found = fetch(_COUNTED, who, whose, now, whose, now, whose, now, whose, now, who, whose, who, whose, now)
    ids: dict[str, list[str]] = {name: [] for name in COUNTS}
    for id, counts in found:
        ids[str(counts)].append(str(id))
    return ids


def _here() -> Q:
    """Open, and not put off: true by the clock."""
    return Q(status=Status.OPEN) & (Q(snoozed_until=None) | Q(snoozed_until__lte=clock.now()))


def _newest(rows: QuerySet[Conversation], teammate: Teammate) -> list[Conversation]:
    """The newest of the rows, one more than a page has, each with all that its row shows."""
    sql, values = rows.order_by(*NEWEST).values("id")[: PAGE + 1].query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_ROWS.format(sql), [teammate.id, *values])
        return [_loaded(*each) for each in cursor.fetchall()]


def _loaded(read: int, writers: list[str], *values: object) -> Conversation:
    found: list[Any] = lib_rows.load_all([Conversation, Customer, Teammate], values)
    row, row.customer, row.assignee = found
    row.read, row.writers = read, writers
    return cast(Conversation, row)


def _marked(rows: QuerySet[Conversation], teammate: Teammate) -> QuerySet[Conversation]:
    """The same with `read`, the number up to which this teammate has read each."""
    marks = ReadMark.objects.filter(
        workspace_id=teammate.workspace_id, conversation_id=OuterRef("pk"), teammate_id=teammate.id
    )
    return rows.annotate(read=Coalesce(Subquery(marks.values("number")[:1]), 0))


def _unread(rows: QuerySet[Conversation], teammate: Teammate, *, limit: int) -> QuerySet[Conversation]:
    """The newest of the rows that are unread, at most `limit`: they are read in their order until there are so many."""
    marked = _marked(rows, teammate).order_by(*NEWEST)
    looked_at = marked.values("id", "last_at", "attention", "read")[:LOOK]  # type: ignore[misc]  # annotated
    sql, values = looked_at.query.sql_with_params()
    unread = f"select id from ({sql}) looked_at where attention > read order by last_at desc, id desc limit {limit}"  # noqa: S608  # as below
    return rows.filter(id__in=RawSQL(unread, values))  # noqa: S611  # the ORM's own


def _read(rows: list[Conversation], teammate: Teammate) -> list[tuple[Conversation, bool]]:
    for row in rows:
        row.workspace = teammate.workspace  # the one that all of them are in
    return [(row, row.attention > row.read) for row in rows[:PAGE]]  # type: ignore[attr-defined]  # annotated
