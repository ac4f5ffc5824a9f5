"""The only door to browsers and to sleeping processes. Code that changes something rings a doorbell inside its
transaction; each web process then renders what its pages watch, once (hub), with the renderers registered here."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypedDict

from median_site.lib import layer
from median_site.lib.presence import Scene

# A page that missed more things than this fetches itself again instead.
MOST: Final = 100
# What was written just before a page read its list comes once more rather than never: a page has each row once.
OVERLAP: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a renderer is asked for.

    `id` is the thing that changed, or empty for a page that watches the whole feed and has just come (back). `since` is
    what those who wait have: a version, or for a whole feed the number that its page carries. `people` are the ids of
    the teammates who will get the answer (of no use for the widget). `scene` is who is in that thread right now.
    """

    workspace_id: str
    id: str
    since: int
    people: frozenset[str]
    scene: Scene = Scene()

    @property
    def read_at(self) -> datetime:
        """When a page read its list, where `since` says that in milliseconds; a little before, see OVERLAP."""
        return datetime.fromtimestamp(self.since / 1000, tz=UTC) - OVERLAP


@dataclass(frozen=True, slots=True)
class Push:
    """One frame: the version it brings a page to, the JSON that goes out, and who gets it (None: all who wait)."""

    version: int
    payload: Mapping[str, object]
    people: frozenset[str] | None = None


class Doorbell(TypedDict):
    """What crosses processes: that something changed, never what it is now."""

    type: Literal["changed"]
    workspace: str
    kind: str
    id: str
    version: int


# Runs in a thread, and may raise: then nobody moves on, and the next doorbell tries again.
Renderer = Callable[[Ask], list[Push]]


@dataclass(frozen=True, slots=True)
class Feed:
    """Something that pages watch, one thing of it or all: how it is rendered, and the kinds of doorbells it hears."""

    name: str
    render: Renderer
    kinds: frozenset[str]


feeds: Final[dict[str, Feed]] = {}


def register(feed: str, render: Renderer, *, on: set[str]) -> None:
    """Say how a feed is rendered and which kinds of changes concern it. Later calls replace earlier ones."""
    feeds[feed] = Feed(feed, render, frozenset(on))


def refresh(id: str, version: int) -> Push:
    """Too much to send: the page is to fetch itself again."""
    return Push(version, {"kind": "refresh", "id": id, "version": version})


def changed(kind: str, *, workspace_id: str, id: str, version: int = 0) -> None:
    """Ring for whoever watches this thing; heard when the transaction commits, never when it rolls back.

    `version` lets those who have it already stay quiet; 0 makes everybody look. The kind "teammate" is special: that
    teammate's sockets are checked again, and closed if the session or the teammate is gone.
    """
    changed_all(kind, [(workspace_id, id, version)])


def changed_all(kind: str, things: Iterable[tuple[str, str, int]]) -> None:
    """Ring for many things of one kind in one go: their workspaces, ids and versions."""
    bells = [
        Doorbell(type="changed", workspace=where, kind=kind, id=id, version=version) for where, id, version in things
    ]
    layer.current().notify_all([(group_of(bell["workspace"]), dict(bell)) for bell in bells])


def bells_of(kind: str, *, source: str) -> str:
    """`changed`, for a statement that rings by itself (lib.statement): of rows with workspace_id, id, version."""
    return (  # the kinds and sources are the code's own
        f"select 'workspace.' || workspace_id, jsonb_build_object('type', 'changed', 'workspace', workspace_id,"  # noqa: S608  # names in the code
        f" 'kind', '{kind}', 'id', id, 'version', version) from {source}"
    )


def wakes(name: str, *, source: str) -> str:
    """`wake`, for such a statement, if there is a row in `source`."""
    return f"select '{name}', '{{\"type\":\"wake\"}}'::jsonb where exists (select from {source})"  # noqa: S608  # names in the code


def group_of(workspace_id: str) -> str:
    """The group that hears what happens in a workspace."""
    return f"workspace.{workspace_id}"


def wake(name: str) -> None:
    """Wake the processes that listen to `bells(name)`, when the transaction commits."""
    layer.current().notify(name, {"type": "wake"})


async def bells(name: str, *, every: float | None = None) -> AsyncGenerator[layer.Message, None]:
    """A message for each `wake(name)`, and one whenever some may have been missed ("layer.resync").

    With `every`, also {"type": "tick"} after so many quiet seconds: the poll that a doorbell only hurries along.
    """
    channels = layer.current()
    channel = await channels.new_channel()
    await channels.group_add(name, channel)
    receiving = asyncio.create_task(channels.receive(channel))
    try:
        while True:
            done, _ = await asyncio.wait({receiving}, timeout=every)
            if not done:
                yield {"type": "tick"}
                continue
            message = receiving.result()
            receiving = asyncio.create_task(channels.receive(channel))
            yield message
    finally:
        receiving.cancel()  # gives the channel up
