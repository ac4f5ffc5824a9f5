"""The shapes of what the API answers, as types: mypy holds the code to them, and they are the API's own description.

Times are ISO 8601 in UTC; an absent thing is null. No code but the types.
"""

from enum import Enum
from typing import Annotated, Generic, NotRequired, TypeVar

from pydantic import Field, WithJsonSchema
from typing_extensions import TypedDict

from approvals.models import ExpiredBecause, State
from conversations.models import Channel, Handler, ItemKind, Status
from tools.models import EndpointKind, Risk, RunState, Starter
from webhooks.models import DeliveryState, Off

T = TypeVar("T")


def _one_of(words: type[Enum]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": [word.value for word in words]})


Value = Annotated[object, WithJsonSchema({"description": "Any JSON value, with every digit of a number as it came."})]
Object = Annotated[object, WithJsonSchema({"type": "object"})]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Said = Annotated[str | None, Field(description="Null where there is nothing to say.")]


class Page(TypedDict, Generic[T]):
    data: list[T]
    next_cursor: Annotated[str | None, Field(description="Send it as `cursor` for the next page; null on the last.")]


class Decider(TypedDict):
    kind: str
    name: str


class Failure(TypedDict):
    code: str
    message: str
    detail: Said


class Run(TypedDict):
    """One execution. `raw` is exactly what the tool returned, `result` the same as JSON where it is JSON."""

    id: str
    status: Annotated[str, _one_of(RunState)]
    conversation_id: str | None
    tool: str
    label: str
    risk: Annotated[str, _one_of(Risk)]
    input: Value
    started_by: Annotated[str, _one_of(Starter)]
    approved_by: str | None
    queued_at: Time
    started_at: Time | None
    ended_at: Time | None
    error: Failure | None
    http_status: int | None
    refusal: Value
    result: Value
    raw: str | None
    headline: str | None


class Approval(TypedDict):
    """A request that parks until somebody decides. `run` is what became of it once it was approved."""

    id: str
    status: Annotated[str, _one_of(State)]
    conversation_id: str
    tool: str
    label: str
    description: str
    risk: Annotated[str, _one_of(Risk)]
    input: Value
    requested_at: Time
    expires_at: Time
    decided_at: Time | None
    decided_by: Decider | None
    reason: Annotated[str | None, Field(description="For the team alone; the customer never sees it.")]
    review: str | None
    review_reason: str | None
    expired_because: Annotated[str, _one_of(ExpiredBecause)] | None
    run: Run | None


class Tool(TypedDict):
    name: str
    label: str
    description: str
    risk: Annotated[str, _one_of(Risk)]
    kind: Annotated[str, WithJsonSchema({"type": "string", "enum": [*EndpointKind, "http"]})]
    endpoint_id: str | None
    enabled: bool
    available: Annotated[bool, Field(description="In the last good sync, or in the newest version.")]
    session_start: bool
    requires: str | None
    input: Annotated[object, WithJsonSchema({"description": "Its input schema; null for a tool without input."})]
    content_hash: Annotated[str, Field(description="Of what a person reads of it: another one, another definition.")]


class SyncFailure(TypedDict):
    code: str
    detail: str
    at: Time | None


class Endpoint(TypedDict):
    id: str
    kind: Annotated[str, _one_of(EndpointKind)]
    url: str
    sdk: str | None
    synced_at: Time | None
    failure: Annotated[SyncFailure | None, Field(description="Why the last sync failed, if it did.")]
    refused: Value
    old_secret_until: Time | None
    created_at: Time
    secret: NotRequired[Annotated[str, Field(description="Only in the answer that made it.")]]


class Customer(TypedDict):
    id: str
    subject: str
    verified: bool
    name: str | None
    email: str | None


class Person(TypedDict):
    id: str
    name: str


class Conversation(TypedDict):
    id: str
    status: Annotated[str, _one_of(Status)]
    channel: Annotated[str, _one_of(Channel)]
    handler: Annotated[str, _one_of(Handler)]
    assignee: Person | None
    customer: Customer
    waiting: Annotated[int, Field(description="Requests in it that a teammate must decide.")]
    version: int
    last_at: Time
    created_at: Time


class File(TypedDict):
    """A file of a thread. Width and height are a picture's, of which only the pixels are kept."""

    id: str
    name: str
    content_type: str
    size: int
    width: int | None
    height: int | None


class Item(TypedDict):
    """One thing in a thread. A card is the id of its request or run; read that for what it says."""

    number: int
    version: int
    kind: Annotated[str, _one_of(ItemKind)]
    text: str | None
    quoted: Annotated[str | None, Field(description="What a mail repeats of earlier ones.")]
    author: str | None
    attachments: list[File]
    created_at: Time
    approval_id: NotRequired[str]
    run_id: NotRequired[str]


class Items(TypedDict):
    data: list[Item]
    version: Annotated[int, Field(description="The thread's own.")]


class Draft(TypedDict):
    """An HTTP tool's definition, as the next version will have it."""

    id: str
    changed_at: Time
    name: str
    label: str
    description: str
    risk: Annotated[str, _one_of(Risk)]
    method: str
    url: str
    parameters: list[object]
    subject: Value
    requires: str
    sessionStart: bool


class Version(TypedDict):
    number: int
    published_at: Time
    published_by: str | None
    restored_from: int | None
    tools: Value


class SessionToken(TypedDict):
    token: str
    expires_at: Time


class Actor(TypedDict):
    kind: str
    id: str | None
    name: str | None


class Event(TypedDict):
    """A row of the log. Place and hashes are null for the moment until it is linked into the chain."""

    id: int
    kind: str
    at: Time
    actor: Actor
    conversation_id: str | None
    subject_id: str | None
    tool: str | None
    data: Object
    position: int | None
    previous_hash: str | None
    hash: str | None


class Events(TypedDict):
    data: list[Event]
    last: Annotated[int, Field(description="Send it as `after` for what comes next.")]


class Place(TypedDict):
    position: int
    hash: str


class Head(TypedDict):
    position: int
    hash: str | None
    dropped: Annotated[Place | None, Field(description="The last event that retention took away.")]


class Webhook(TypedDict):
    id: str
    url: str
    kinds: list[str]
    enabled: bool
    off_because: Annotated[str, _one_of(Off)] | None
    failing_since: Time | None
    old_secret_until: Time | None
    created_at: Time
    secret: NotRequired[Annotated[str, Field(description="Only in the answer that made it.")]]


class Delivery(TypedDict):
    id: str
    webhook_id: str
    event_id: int | None
    kind: str
    status: Annotated[str, _one_of(DeliveryState)]
    attempts: int
    last_attempt_at: Time | None
    next_attempt_at: Time | None
    answer_status: int | None
    answer: str | None
    error: str | None
    created_at: Time


class Fault(TypedDict):
    code: str
    message: str
    field: Annotated[str | None, Field(description="Which part of the request is at fault, if one is.")]


class Refusal(TypedDict):
    error: Fault
    approval: NotRequired[Annotated[Approval, Field(description="With a decision that came second.")]]
