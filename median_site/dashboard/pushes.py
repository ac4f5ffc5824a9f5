"""What teammates' sockets get when something changed: the fragments of the page, made once for all who watch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import wraps

from django.db.models import QuerySet

from conversations import drafts, fragments
from conversations.models import Conversation, ReadMark
from median_site.dashboard import assistant, log_rows, notices, request_rows, thread
from median_site.lib import live, times
from median_site.lib.presence import Scene
from team.models import Notification, NotificationKind, Workspace


def register() -> None:
    live.register("thread", in_zone(render_thread), on={"thread"})
    live.register("presence", render_presence, on={"presence"})
    live.register("row", in_zone(render_row), on={"thread", "row"})
    live.register("request", in_zone(request_rows.push), on={"thread"})
    live.register("notice", in_zone(notices.push), on={"notice"})
    live.register("assistant", in_zone(assistant.push), on={"assistant"})
    live.register("log", in_zone(log_rows.push), on={"thread", "row", "event"})


def in_zone(render: live.Renderer) -> live.Renderer:
    """Moments in a push are written in the workspace's zone, as its pages write them. One query more."""

    @wraps(render)
    def zoned(ask: live.Ask) -> list[live.Push]:
        zone = Workspace.objects.filter(id=ask.workspace_id).values_list("zone", flat=True).first()
        with times.in_zone(zone or "UTC"):
            return render(ask)

    return zoned


def render_thread(ask: live.Ask) -> list[live.Push]:
    """The items that changed since a version, and all parts. The version is read first: items may only be newer."""
    found = _conversations(ask).filter(id=ask.id).first()
    if found is None or found.version <= ask.since:
        return []
    changed = found.items.filter(workspace_id=ask.workspace_id, version__gt=ask.since).order_by("number")
    items = list(changed[: live.MOST + 1])
    if len(items) > live.MOST:
        return [live.refresh(found.id, found.version)]
    view = thread.view(found, items)
    payload = {
        "kind": "thread",
        "id": found.id,
        "version": found.version,
        "items": [
            {"id": item.element_id, "number": item.number, "version": item.version, "html": html}
            for item, html in view.items
        ],
        "parts": [{"id": name, "version": found.version, "html": html} for name, html in view.parts.items()],
    }
    return [live.Push(found.version, payload)]


def render_presence(ask: live.Ask) -> list[live.Push]:
    """Who else is in the thread; 1 stands for somebody, 0 for nobody, which a page that has just come shows already."""
    version = int(ask.scene != Scene())
    if not version and not ask.since:
        return []
    customer = _conversations(ask).get(id=ask.id).customer if ask.scene.customer_types else None
    html = fragments.presence(ask.scene.people, typing_customer=customer)
    return [live.Push(version, {"kind": "presence", "id": ask.id, "html": html})]


def render_row(ask: live.Ask) -> list[live.Push]:
    """A row of the queue in its unread and its read form; for a queue that came back, each row that moved meanwhile."""
    rows = drafts.writers(_conversations(ask))
    if ask.id:
        found = list(rows.filter(id=ask.id))
    else:
        found = list(rows.filter(last_at__gt=ask.read_at).order_by("-last_at", "-id")[: live.MOST + 1])
        if len(found) > live.MOST:
            return [live.refresh("queue", 0)]
    marks = ReadMark.objects.filter(
        workspace_id=ask.workspace_id, conversation__in=found, teammate_id__in=ask.people
    ).values_list("conversation_id", "teammate_id", "number")
    read = {(conversation_id, teammate_id): number for conversation_id, teammate_id, number in marks}
    told = Notification.objects.filter(
        workspace_id=ask.workspace_id, teammate_id__in=ask.people, conversation_id__in=[row.id for row in found],
        kind=NotificationKind.MENTION,
    )  # fmt: skip
    mentioned: dict[str, set[str]] = defaultdict(set)
    for conversation_id, teammate_id in told.values_list("conversation_id", "teammate_id").distinct():
        mentioned[conversation_id].add(teammate_id)
    return [push for row in found for push in _variants(row, ask.people, read, mentioned=sorted(mentioned[row.id]))]


def _variants(
    row: Conversation, people: frozenset[str], read: Mapping[tuple[str, str], int], *, mentioned: Sequence[str]
) -> list[live.Push]:
    unread = frozenset(person for person in people if row.attention > read.get((row.id, person), 0))
    variants = ((True, unread), (False, people - unread))
    return [
        live.Push(row.version, _row(row, unread=is_unread, mentioned=mentioned), who)
        for is_unread, who in variants
        if who
    ]


def _row(row: Conversation, *, unread: bool, mentioned: Sequence[str]) -> Mapping[str, object]:
    return {
        "kind": "row",
        "id": row.id,
        "version": row.version,
        "html": fragments.row(row, unread=unread, writers=row.writers),  # type: ignore[attr-defined]  # annotated
        "facets": {
            "status": "snoozed" if row.is_snoozed else row.status,
            "handler": row.handler,
            "assignee": row.assignee_id or "",
            "waiting": row.waiting > 0,
            "channel": row.channel,
            "unread": unread,
            "mentions": mentioned,
        },
    }


def _conversations(ask: live.Ask) -> QuerySet[Conversation]:
    rows = Conversation.objects.filter(workspace_id=ask.workspace_id)
    return rows.select_related("customer", "assignee", "workspace")
