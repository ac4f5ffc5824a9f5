"""What can happen in a thread of the demo, as plain values. The threads themselves are in `threads` and `history`.

`ago` is in minutes before the demo is prepared; `by` is a key of the demo's teammates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from conversations.models import Channel, Status
from median_site.lib.strict_json import Json

HOUR: Final = 60
DAY: Final = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint answered: an HTTP status and JSON. Without a status it did not answer at all."""

    status: int | None
    body: Json = None


NO_REPLY: Final = Reply(None)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. The example shop answers it, unless `reply` says what came back then and would not today."""

    tool: str
    input: Mapping[str, Json] = field(default_factory=dict)
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Writes:
    """The customer."""

    ago: int
    text: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The agent, after its call if it makes one. A high or reviewed call parks and waits for a decision."""

    ago: int
    text: str
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Approves:
    """A teammate lets the waiting call leave; `then` is what the agent tells the customer of its result."""

    ago: int
    by: str
    then: str
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The demo reviewer has read the waiting call: it runs, or is left to the team. The rest as in Approves."""

    ago: int
    then: str
    reply: Reply | None = None


@dataclass(frozen=True, slots=True)
class Denies:
    """A teammate refuses the waiting call. `reason` is for the team; `then` is what the agent tells the customer."""

    ago: int
    by: str
    reason: str
    then: str


@dataclass(frozen=True, slots=True)
class Expires:
    """Nobody answered the waiting request for a day."""

    ago: int


@dataclass(frozen=True, slots=True)
class Replies:
    ago: int
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    ago: int
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class TakesOver:
    ago: int
    by: str


@dataclass(frozen=True, slots=True)
class HandsBack:
    ago: int
    by: str


@dataclass(frozen=True, slots=True)
class Runs:
    """A teammate runs a tool by hand."""

    ago: int
    by: str
    call: Call


@dataclass(frozen=True, slots=True)
class Ends:
    ago: int
    by: str
    to: Status


Beat = Writes | Answers | Approves | Reviewed | Denies | Expires | Replies | Notes | TakesOver | HandsBack | Runs | Ends


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation, its beats in the order of time. Unless it is `unread`, both teammates have read all of it."""

    name: str
    subject: str
    beats: tuple[Beat, ...]
    email: str = ""
    verified: bool = True
    channel: Channel = Channel.WIDGET
    unread: bool = False
