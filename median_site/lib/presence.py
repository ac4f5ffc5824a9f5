"""Who looks at a thread and who types in it right now. Held in memory alone, and forgotten by itself: no row, no log.

What it costs: a browser says every BEAT that it is there, to its own web process, which only notes the time. The other
processes are told the few who are in a thread when that changes, and all of it again every BEAT, in one statement for
all threads and at most one each TICK. So 200 tabs are 20 small frames a second, and one NOTIFY in ten seconds while
nobody comes, goes or starts to type; two a second at most, whatever they do. A process that hears of a workspace anew
asks the others once.
"""

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypedDict

from median_site.lib.db import in_thread

# Seconds. A browser says that somebody types at most every 3.
BEAT: Final = 10.0
GONE: Final = 25.0
TYPED: Final = 7.0
TICK: Final = 0.5
# Of one process's people in one thread, so many are told: a doorbell stays under 1 kB.
MOST: Final = 6
NAME: Final = 20

Typing = Literal["", "reply", "note"]
Thread = tuple[str, str]  # the workspace's id and the conversation's

log = logging.getLogger(__name__)


class Watcher(Hashable, Protocol):
    """A socket: a teammate's has a name, a customer's has none."""

    workspace_id: str
    person: str
    name: str
    initials: str


@dataclass(frozen=True, slots=True)
class Person:
    """A teammate in a thread: the first name, the avatar's letters, and what they type."""

    id: str
    name: str
    initials: str
    typing: Typing


@dataclass(frozen=True, slots=True)
class Scene:
    """Everybody in one thread."""

    people: tuple[Person, ...] = ()
    customer_types: bool = False


class Bell(TypedDict):
    """What a process tells the others: all its people in a thread; said again it changes nothing. Without a thread it
    asks the others to say so of every thread of the workspace.
    """

    type: Literal["presence"]
    process: str
    workspace: str
    thread: str
    people: list[list[str]]
    customer: bool


@dataclass(slots=True)
class _Place:
    thread: Thread
    typing: Typing
    until: float
    typing_until: float


class Board:
    """The presence that one event loop knows of: its own sockets', and what other processes said."""

    def __init__(self, *, tell: Callable[[list[Bell]], None], changed: Callable[[str, str], None]) -> None:
        """`tell` broadcasts, this process included; `changed` hears the workspace and the thread of a new scene."""
        self._tell, self._changed = tell, changed
        self._process = secrets.token_hex(4)
        self._places: dict[Watcher, _Place] = {}
        self._heard: dict[Thread, dict[str, tuple[Scene, float]]] = defaultdict(dict)
        self._dirty: set[Thread] = set()
        self._ticking: asyncio.Task[None] | None = None

    def here(self, socket: Watcher, thread_id: str, *, typing: Typing) -> None:
        """This socket's person is in the thread, until GONE unless said again; of a customer only the typing shows."""
        thread, now = (socket.workspace_id, thread_id), _now()
        old = self._places.get(socket)
        if old is None or (old.thread, old.typing) != (thread, typing):
            self._dirty |= {thread} | ({old.thread} if old else set())
        self._places[socket] = _Place(thread, typing, now + GONE, now + TYPED)
        self._tick_on()

    def gone(self, socket: Watcher) -> None:
        place = self._places.pop(socket, None)
        if place:
            self._dirty.add(place.thread)

    def join(self, workspace_id: str) -> None:
        """This process hears of the workspace from now on."""
        self._dirty.add((workspace_id, ""))
        self._tick_on()

    def forget(self, workspace_id: str) -> None:
        """This process hears nothing of the workspace any more."""
        for thread in [thread for thread in self._heard if thread[0] == workspace_id]:
            del self._heard[thread]

    def hear(self, bell: Bell) -> None:
        thread = (bell["workspace"], bell["thread"])
        if not bell["thread"]:
            self._dirty |= {place.thread for place in self._places.values() if place.thread[0] == bell["workspace"]}
            return
        before = self.scene(*thread)
        people = tuple(Person(id, name, initials, typing_of(word)) for id, name, initials, word in bell["people"])
        self._heard[thread][bell["process"]] = (Scene(people, bell["customer"]), _now() + GONE)
        self._tick_on()
        if self.scene(*thread) != before:
            self._changed(*thread)

    def scene(self, workspace_id: str, thread_id: str) -> Scene:
        """Everybody in a thread, each once, by name."""
        known = [scene for scene, _ in self._heard.get((workspace_id, thread_id), {}).values()]
        by_id: dict[str, Person] = {}
        for person in (person for scene in known for person in scene.people):
            if person.id not in by_id or person.typing:
                by_id[person.id] = person
        people = sorted(by_id.values(), key=lambda person: (person.name, person.id))
        return Scene(tuple(people), any(scene.customer_types for scene in known))

    def _tick_on(self) -> None:
        if self._ticking is None or self._ticking.done():
            self._ticking = asyncio.create_task(self._tick(), name="presence")

    async def _tick(self) -> None:
        beat = _now() + BEAT
        while self._places or self._heard or self._dirty:
            await asyncio.sleep(TICK)
            now = _now()
            self._expire(now)
            if now >= beat:
                beat = now + BEAT
                self._dirty |= {place.thread for place in self._places.values()}
            dirty, self._dirty = self._dirty, set()
            if dirty:
                await self._publish(dirty)

    def _expire(self, now: float) -> None:
        for socket in [socket for socket, place in self._places.items() if place.until < now]:
            self.gone(socket)
        for place in self._places.values():
            if place.typing and place.typing_until < now:
                place.typing = ""
                self._dirty.add(place.thread)
        for thread, by_process in list(self._heard.items()):
            before = self.scene(*thread)
            for process in [name for name, (_, until) in by_process.items() if until < now]:
                del by_process[process]
            if self.scene(*thread) != before:
                self._changed(*thread)
            if all(scene == Scene() for scene, _ in by_process.values()):
                del self._heard[thread]

    async def _publish(self, threads: Iterable[Thread]) -> None:
        places: Mapping[Thread, list[tuple[Watcher, _Place]]] = defaultdict(list)
        for socket, place in self._places.items():
            places[place.thread].append((socket, place))
        try:
            await in_thread(self._tell, [self._bell(thread, places[thread]) for thread in threads])
        except Exception:  # Whatever it was: the next beat says it again.
            log.warning("Who is here could not be told", exc_info=True)

    def _bell(self, thread: Thread, places: list[tuple[Watcher, _Place]]) -> Bell:
        people: dict[str, list[str]] = {}
        for socket, place in places:
            if socket.name and (socket.person not in people or place.typing):
                people[socket.person] = [socket.person, socket.name[:NAME], socket.initials, place.typing]
        return Bell(
            type="presence",
            process=self._process,
            workspace=thread[0],
            thread=thread[1],
            people=list(people.values())[:MOST],
            customer=any(place.typing and not socket.name for socket, place in places),
        )


def typing_of(word: object) -> Typing:
    """What a browser or a process said is typed; nothing when it said anything else."""
    return "reply" if word == "reply" else "note" if word == "note" else ""


def _now() -> float:
    return asyncio.get_running_loop().time()
