"""What happens in many threads at once: as in threads, but in a few statements for all, whatever their number.

Every conversation is locked by the caller (`lock`), and moves by as many versions as things come into it. What has a
`statement` adds to one; see median_site.lib.statement, and team.events.add for what its part `moved` is.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from django.db import connection

from conversations import writing
from conversations.models import SAID, Conversation, Item, ItemKind
from median_site.lib import clock, live, text
from median_site.lib.actors import Actor
from median_site.lib.statement import Statement
from team import events
from team.events import Entry, Kind

# Of those whose ids are as `among` says.
LOCK: Final = "select from conversations_conversation where id {} order by id for no key update"
_PLACED: Final = """
    select moved.workspace_id, moved.conversation_id, moved.id, moved.card, moved.label, advanced.version,
           advanced.former + row_number() over (partition by moved.conversation_id order by moved.id) as number
      from moved join advanced on advanced.id = moved.conversation_id
"""
# By the very key of its index, which has no lines.
_CARDS: Final = """
    update conversations_item i set version = placed.version from placed
     where i.workspace_id = placed.workspace_id and i.conversation_id = placed.conversation_id
       and i.kind = placed.card and i.ref = placed.id and i.kind <> 'line' and i.ref <> ''
"""


class Reply(NamedTuple):
    """What the agent answers in a locked conversation. `ref` names the turn: one turn answers once.

    `model` is the demo model's name, which stands on what it wrote.
    """

    conversation_id: str
    by: Actor
    body: str
    ref: str
    model: str = ""


def lock(conversation_ids: Iterable[str]) -> None:
    """Lock these conversations until the transaction ends, in one order everywhere, so that nobody waits in a ring."""
    rows = Conversation.objects.select_for_update(no_key=True).filter(id__in=conversation_ids).order_by("id")
    list(rows.values_list("id"))


def locked(conversation_ids: Iterable[str]) -> dict[str, Conversation]:
    """Locked in the same way, the conversations themselves by their ids, each with its workspace and customer."""
    rows = Conversation.objects.select_for_update(of=("self",), no_key=True).select_related("workspace", "customer")
    return {row.id: row for row in rows.filter(id__in=set(conversation_ids)).order_by("id")}


def agents_replied(replies: Sequence[Reply]) -> None:
    """The agent's answers, in as many conversations."""
    at = clock.now()
    cleaned = [text.clean(reply.body) for reply in replies]
    add(
        [
            Item(
                workspace_id=reply.by.workspace_id, conversation_id=reply.conversation_id, kind=ItemKind.AGENT,
                text=body, replaced=replaced, author_id=reply.by.id, author_name=reply.by.name, ref=reply.ref,
                model=reply.model, created_at=at,
            )
            for reply, (body, replaced) in zip(replies, cleaned, strict=True)
        ],
        unread=(),
    )  # fmt: skip
    events.record_all(
        Entry(kind=Kind.AGENT_REPLIED, by=reply.by, conversation_id=reply.conversation_id, subject_id=reply.ref)
        for reply in replies
    )


def add(items: Sequence[Item], *, unread: Collection[str]) -> None:
    """Put unsaved items at the end of their threads, in their order; those `unread` turn unread, and wake."""
    coming = Counter(item.conversation_id for item in items)
    said = {item.conversation_id: item for item in items if item.kind in SAID}
    versions = _advance({id: (count, id in unread, *_last(said.get(id))) for id, count in coming.items()})
    numbers = {id: version - coming[id] for id, version in versions.items()}
    for item in items:
        numbers[item.conversation_id] += 1
        item.number = item.version = numbers[item.conversation_id]
    Item.objects.bulk_create(items)


def mark(*, to: Statement) -> None:
    """Set what `marks` says, by conversation, and nothing else."""
    to.add(
        "marked",
        "update conversations_conversation c set waiting = marks.waiting, mark = marks.mark,"
        " mark_label = marks.mark_label from marks where c.id = marks.conversation_id"
        " and (c.waiting, c.mark, c.mark_label) <> (marks.waiting, marks.mark, marks.mark_label)",
    )


def add_lines(line: Item, *, unread: bool, to: Statement) -> None:
    """A line for each row of `moved`. Its text is a `format` of the agent's name and the row's label."""
    columns = {
        "workspace_id": "placed.workspace_id",
        "conversation_id": "placed.conversation_id",
        "number": "placed.number",
        "version": "placed.number",
        "text": "format(%s::text, workspace.agent_name, placed.label)",
    }
    source = "placed join team_workspace workspace on workspace.id = placed.workspace_id"
    to.insert("lines", line, source=source, **columns)
    if unread:
        to.add("unread", "select")


def advance(*, to: Statement) -> None:
    """Each conversation of `moved` moves by as many versions as rows, the cards of these get its version, and it rings.

    After the parts that say more about it: whether it turns `unread`, and what `marks` its row in the queue has.
    """
    sets = ["version = c.version + coming.count"]
    if "unread" in to:
        sets += ["attention = c.version + coming.count", "snoozed_until = null"]
    marked = ""
    if "marks" in to:
        sets += [f"{column} = coalesce(marks.{column}, c.{column})" for column in ("waiting", "mark", "mark_label")]
        marked = "left join marks on marks.conversation_id = coming.conversation_id"
    to.add(
        "advanced",
        f"update conversations_conversation c set {', '.join(sets)}"  # noqa: S608  # columns named above
        f" from (select conversation_id, count(*) from moved group by conversation_id) coming {marked}"
        " where c.id = coming.conversation_id"
        " returning c.workspace_id, c.id, c.version, c.version - coming.count as former, c.status, c.handler",
    )
    # Its rows are kept, so they are joined once, and not row by row in each part: a plan never knows how many moved.
    to.add("placed", _PLACED)
    to.add("cards", _CARDS)
    to.ring(live.bells_of("thread", source="advanced"))


def _last(item: Item | None) -> tuple[str | None, datetime | None]:
    """What the queue shows once this was said: the beginning of it, and when."""
    return (writing.excerpt(item.text, item.sent), item.created_at) if item else (None, None)


def _advance(coming: Mapping[str, tuple[int, bool, str | None, datetime | None]]) -> dict[str, int]:
    """Move each conversation by so many versions, make it unread or not, say what was said last, and ring. Gives the
    versions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update conversations_conversation c set version = c.version + new.count,"
            " attention = case when new.unread then c.version + new.count else c.attention end,"
            " snoozed_until = case when new.unread then null else c.snoozed_until end,"
            " excerpt = coalesce(new.excerpt, c.excerpt), last_at = coalesce(new.last_at, c.last_at)"
            " from unnest(%s::text[], %s::int[], %s::bool[], %s::text[], %s::timestamptz[])"
            " as new(id, count, unread, excerpt, last_at)"
            " where c.id = new.id returning c.workspace_id, c.id, c.version",
            [list(coming), *map(list, zip(*coming.values(), strict=True))],
        )
        changed: list[tuple[str, str, int]] = cursor.fetchall()
    live.changed_all("thread", changed)
    return {id: version for _, id, version in changed}
