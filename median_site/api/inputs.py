"""What the API takes: bodies that refuse a field they do not know, and the parameters that lists share."""

from typing import Annotated, Any, Literal

from ninja import Query, Schema
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from median_site.lib import strict_json
from median_site.lib.strict_json import Json

Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before.")]
Wait = Annotated[
    int | None,
    Query(ge=0, description="Hold the answer until it changes, for at most so many seconds, 60 at the most."),
]
Limit = Annotated[int, Query(ge=1, le=100, description="How many at most.")]


def _storable(value: Json) -> Json:
    if strict_json.has_nul_or_surrogate(value):
        raise PydanticCustomError("unstorable", "It holds a NUL or half a character (a lone surrogate)")
    return value


# What something is found by. Prose is kept with its NULs made visible; a name or an id with one is nobody's.
Storable = AfterValidator(_storable)
Name = Annotated[str, Storable]
AnyObject = Annotated[dict[str, Any], Storable]


class Body(Schema):
    model_config = ConfigDict(extra="forbid")


class Deny(Body):
    reason: str = Field("", max_length=2_000, description="For the team alone; the customer never sees it.")


class NewRun(Body):
    tool: Name = Field(max_length=64)
    input: dict[str, Any] = Field(default_factory=dict, description="By the tool's input schema.")


class NewTest(Body):
    input: AnyObject = Field(default_factory=dict)
    as_customer: Annotated[str, Field(max_length=255), Storable] | None = Field(
        None, description="The customer's id, as your server asserts it."
    )
    conversation_id: Annotated[str, Field(max_length=32), Storable] | None = None


class NewRisk(Body):
    risk: Name = Field(max_length=8, description="low, medium, reviewed or high.")
    content_hash: Name = Field(max_length=64, description="The tool's, as it was read: another definition is a 409.")


class NewEndpoint(Body):
    url: str = Field(max_length=2_000)
    kind: Literal["manifest", "mcp"] = "manifest"
    secret: str | None = Field(
        None,
        max_length=2_000,
        description="Made for you when it is left out. Of an MCP server: the bearer token it wants.",
    )


class EndpointUrl(Body):
    url: str = Field(max_length=2_000)


class NewSecret(Body):
    secret: str | None = Field(None, max_length=2_000, description="Made for you when it is left out.")


class WhichCustomer(Body):
    subject: Name = Field(min_length=1, max_length=255, description="Your own id of the customer.")
    name: str = Field("", max_length=150)
    email: str = Field("", max_length=254)


class NewConversation(Body):
    customer: WhichCustomer
    text: str = Field(max_length=8_000, description="The customer's first message.")
    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")


Attachments = Annotated[
    list[Annotated[str, Field(max_length=32), Storable]],
    Field(max_length=5, description="Ids of files that your key sent up."),
]


class NewMessage(Body):
    text: str = Field("", max_length=8_000, description="May be empty when there are attachments.")
    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    attachments: Attachments = []


class NewNote(Body):
    text: str = Field("", max_length=8_000, description="May be empty when there are attachments.")
    attachments: Attachments = []


class NewStatus(Body):
    status: str = Field(pattern="^(open|resolved|closed|archived)$")
