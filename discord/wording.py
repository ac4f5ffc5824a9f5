"""What stands in Discord for an item of a thread, in messages of at most 2,000 characters. Pure.

Nothing in it mentions anybody, hides a link's target or passes for words of somebody else.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from conversations.models import Item, ItemKind
from discord.api import escape
from median_site.lib import times
from median_site.lib.actors import Actor, ActorKind
from team.events import Kind
from team.models import Workspace
from tools.characters import plain

LIMIT: Final = 2_000
_HEAD: Final = 200  # characters of a name
_HEADING: Final = re.compile(r"(?m)^(\s*-?)#")
# What makes mentions, links in disguise and hidden text; bold type, lists and code may stay.
_RISKY: Final = re.compile(r"[\\<@\[\]|]")
_WAITS: Final = "**Waiting for sign-off** · A teammate is looking at your request. The answer will be here."
_MOVES: Final[Mapping[str, str]] = {
    Kind.APPROVAL_REQUESTED: _WAITS,
    Kind.APPROVAL_PASSED_ON: _WAITS,
    Kind.APPROVAL_UNCHECKED: _WAITS,
    Kind.APPROVAL_REVIEWING: "**Being checked** · Your request is under review. You can keep writing.",
    Kind.EXPIRED: "**No longer waiting for sign-off** · Write again if you still need it.",
}
# Below a customer's first message: Discord tells of no plain messages.
HINT: Final = "-# What is typed here is not read. Write more with the button, or with /support."
# The lines of a thread that are for the customer too.
TOLD: Final = (*_MOVES, Kind.APPROVED)


def messages(item: Item, *, workspace: Workspace, is_first: bool) -> list[str]:
    """The item's texts, one message each, as Discord takes them; its files are messages of their own."""
    texts = _messages(item, workspace)
    if not is_first:
        return texts
    *before, last = texts
    fits = units(f"{last}\n{HINT}") <= LIMIT
    return [*before, f"{last}\n{HINT}"] if fits else [*texts, HINT]


def _messages(item: Item, workspace: Workspace) -> list[str]:
    if item.kind == ItemKind.LINE:
        return [f"-# {_MOVES.get(Kind(item.ref)) or _signed_off(item, workspace)}"]
    if item.kind == ItemKind.CUSTOMER:
        files = "".join(f"\n(file: {file.name})" for file in item.sent)
        return split((item.text + files).strip("\n"), head=f"**{_name(item.author_name)}**\n", write=quoted)
    return split(item.text, head=f"{_author(item, workspace)}\n", write=softened)


def split(body: str, *, head: str, write: Callable[[str], str]) -> list[str]:
    """The body, written by `write`, after a head, in as many messages as it takes; parted between lines or words."""
    made: list[str] = []
    body = body.strip("\n")
    while body or not made:
        part = _first(body, room=LIMIT - units(head), write=write)
        body = body[len(part) :].lstrip("\n")
        if part.strip() or not made:
            made.append(head + write(part.rstrip("\n")))
        head = ""
    return made


def softened(text: str) -> str:
    """Markdown without what could mislead."""
    return _HEADING.sub(r"\1\#", _RISKY.sub(r"\\\g<0>", text))


def quoted(text: str) -> str:
    """Somebody's own words, as they typed them."""
    return "\n".join(f"> {escape(line)}" for line in text.split("\n"))


def units(text: str) -> int:
    """Characters as Discord's apps count them, in UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _first(body: str, *, room: int, write: Callable[[str], str]) -> str:
    """As much of the beginning as fits when it is written."""
    end = min(len(body), room)
    while end > 1 and (over := units(write(body[:end])) - room) > 0:
        end -= max(1, over // 3)
    if end == len(body):
        return body
    for mark in ("\n\n", "\n", " "):
        at = body.rfind(mark, end // 2, end)
        if at > 0:
            return body[: at + len(mark)]
    return body[:end]


def _author(item: Item, workspace: Workspace) -> str:
    if item.kind == ItemKind.AGENT:
        return f"**{_name(item.author_name)}**" + (f" ({_name(item.model)})" if item.model else "")
    teammate = Actor(ActorKind.TEAMMATE, workspace.id, name=item.author_name)
    return f"**{_name(teammate.short_name)}** · {_name(workspace.name)}"


def _signed_off(item: Item, workspace: Workspace) -> str:
    """The reviewer is no row of its own: a decision without an author's id is the reviewer's."""
    with times.in_zone(workspace.zone):
        at = times.clock(item.created_at)
    if item.author_id:
        return f"**Signed off** · Answered at {at} by the {_name(workspace.name)} team."
    return f"**Checked** · Answered at {at}."


def _name(name: str) -> str:
    return escape(plain(name)[:_HEAD])
