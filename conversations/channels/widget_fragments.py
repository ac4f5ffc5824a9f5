"""What a customer sees of their thread, as HTML: the same bytes in the page's answer and in a push.

Messages, and one card a decision of the team. Never a tool's name, a reason, a note or another line.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final, TypedDict

from django.db.models import Q, QuerySet

from conversations import attachment_links
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.fragments import render
from team.events import Kind
from team.models import Workspace

# Nobody believes in somebody who has been typing for longer.
TYPING_AT_MOST: Final = timedelta(minutes=2)

_MESSAGES: Final = Q(kind__in=[ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM])
_APPROVED: Final = Q(kind=ItemKind.LINE, ref=Kind.APPROVED)
# After these, and nothing said since, the agent owes an answer; a turn that failed ends that.
_AGENT_MOVES: Final = Q(kind=ItemKind.LINE, ref__in=[Kind.APPROVED, Kind.DENIED, Kind.TURN_FAILED])


class ItemFrame(TypedDict):
    id: str
    number: int
    version: int
    html: str


class PartFrame(TypedDict):
    id: str
    version: int
    html: str


class Frame(TypedDict):
    """`conversation` is empty, and the version 0, until the customer has written."""

    kind: str
    conversation: str
    version: int
    items: list[ItemFrame]
    parts: list[PartFrame]


def frame(workspace: Workspace, conversation: Conversation | None, *, items: list[ItemFrame]) -> Frame:
    """What the page is sent, by push and by answer alike: these items, and the parts as they are now."""
    return {
        "kind": "widget",
        "conversation": conversation.id if conversation else "",
        "version": conversation.version if conversation else 0,
        "items": items,
        "parts": parts(workspace, conversation),
    }


def visible(conversation: Conversation) -> QuerySet[Item]:
    """The items that are for the customer."""
    return conversation.items.filter(_MESSAGES | _APPROVED)


def items(rows: Iterable[Item], workspace: Workspace) -> list[ItemFrame]:
    return [
        {"id": f"item-{row.number}", "number": row.number, "version": row.version, "html": _item(row, workspace)}
        for row in rows
    ]


def parts(workspace: Workspace, conversation: Conversation | None) -> list[PartFrame]:
    """Who is there, and what is being waited for: one fragment each, whatever the thread."""
    version = conversation.version if conversation else 0
    return [
        {"id": "w-head", "version": version, "html": _head(workspace, conversation, version)},
        {"id": "w-state", "version": version, "html": _state(workspace, conversation, version)},
    ]


def writing(names: Sequence[str]) -> str:
    """Who of the team writes right now."""
    return render("widget/_writing.html", names=names)


def _item(item: Item, workspace: Workspace) -> str:
    if item.kind == ItemKind.LINE:
        # The reviewer is no row of its own: a decision without an author's id is the reviewer's.
        by_team = bool(item.author_id)
        return render("widget/_signed_off.html", item=item, workspace_name=workspace.name, by_team=by_team)
    teammate = Actor(ActorKind.TEAMMATE, workspace.id, name=item.author_name)
    author = teammate.short_name if item.kind == ItemKind.TEAM else item.author_name
    files = [attachment_links.for_customer(file) for file in item.sent]
    return render("widget/_message.html", item=item, author=author, files=files)


def _head(workspace: Workspace, conversation: Conversation | None, version: int) -> str:
    who = f"{workspace.agent_name}, and the team behind it"
    if conversation and not conversation.agent_has_it:
        assignee = conversation.assignee
        who = f"{assignee.actor.short_name} is here" if assignee else "The team is here"
    return render("widget/_head.html", version=version, name=workspace.name, who=who)


def _state(workspace: Workspace, conversation: Conversation | None, version: int) -> str:
    waits, typing = "", False
    if conversation and conversation.is_open:
        waits = "signoff" if conversation.waiting else "review" if conversation.mark == "reviewing" else ""
        typing = _agent_is_writing(conversation)
    return render("widget/_state.html", version=version, waits=waits, typing=typing, agent_name=workspace.agent_name)


def _agent_is_writing(conversation: Conversation) -> bool:
    """The agent has the thread and the last move was not its own."""
    if not conversation.agent_has_it:
        return False
    last = conversation.items.filter(_MESSAGES | _AGENT_MOVES).order_by("-number").first()
    if last is None or last.created_at < clock.now() - TYPING_AT_MOST:
        return False
    return last.kind == ItemKind.CUSTOMER or (last.kind == ItemKind.LINE and last.ref != Kind.TURN_FAILED)
