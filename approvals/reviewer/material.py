"""What a review is based on: everything the reviewer reads about one request, as values. Nothing is judged here.

Left out is only what the agent said after it asked: that tells nothing about what the customer wants.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from approvals.models import ToolApproval
from conversations import lessons
from conversations.files import File
from conversations.models import Conversation, Customer, Item, ItemKind
from median_site.lib import strict_json
from tools import offered
from tools.models import RunState, Starter, ToolRun

PICTURES: Final = 6

_SPEAKERS: Final = {ItemKind.CUSTOMER: "customer", ItemKind.AGENT: "agent", ItemKind.TEAM: "team"}


@dataclass(frozen=True, slots=True)
class Said:
    """A message; `who` is customer, agent or team. `later`: it came after the request. `files` went with it: their
    bytes, which never change, are read by whoever can look at pictures."""

    who: str
    text: str
    later: bool = False
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """Another call of the conversation. `state` is the run's or the request's, "refused" when the tool said no; `by` is
    a Starter. `result` is the JSON text that came back."""

    tool: str
    input: str
    state: str
    result: str = ""
    by: str = Starter.AGENT


@dataclass(frozen=True, slots=True)
class Material:
    """`schema` is JSON text, empty when the tool is no longer the one that was asked for; `input` is the exact text
    that would leave. `learned` in earlier conversations; `earlier`: inputs with which this tool was asked for before,
    for this customer."""

    tool: str
    label: str
    description: str
    schema: str
    input: str
    verified: bool
    subject: str
    name: str
    email: str
    page: str
    learned: tuple[str, ...]
    notes: tuple[str, ...]
    calls: tuple[Call, ...]
    said: tuple[Said, ...]
    earlier: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Tells whether anything changed since it was read."""
        return hashlib.sha256(strict_json.dumps(strict_json.visible_json(asdict(self))).encode()).hexdigest()

    @property
    def question(self) -> Said | None:
        """The last thing that was said to the customer before the agent asked for the call."""
        return next((said for said in reversed(self.said) if said.who != "customer" and not said.later), None)

    @property
    def answers(self) -> tuple[Said, ...]:
        """The customer's messages since the question, after the request too."""
        place = max((at for at, said in enumerate(self.said) if said is self.question), default=-1)
        return tuple(said for said in self.said[place + 1 :] if said.who == "customer")

    @property
    def answer(self) -> tuple[str, ...]:
        """What the customer has written since the question."""
        return tuple(said.text for said in self.answers)

    @property
    def pictures(self) -> tuple[File, ...]:
        """The newest pictures that the customer sent, oldest first: as many as a reviewer is shown."""
        sent = [file for said in self.said if said.who == "customer" for file in said.files if file.is_picture]
        return tuple(sent[-PICTURES:])

    @property
    def look_ups(self) -> tuple[Call, ...]:
        """What the company's own tools showed to the agent: the endpoint answers for this customer alone."""
        shown = (Starter.AGENT, Starter.SESSION_START)
        return tuple(call for call in self.calls if call.state == RunState.COMPLETED and call.by in shown)

    def from_outside(self) -> Iterator[tuple[str, str]]:
        """Every text that a customer, a page or a tool wrote, with where it stands."""
        yield "the customer’s name", self.name
        yield "the customer’s email", self.email
        yield "the page details", self.page
        yield from (("what was learned earlier", text) for text in self.learned)
        yield "the tool’s description", self.description
        yield from (("a message of the customer", said.text) for said in self.said if said.who == "customer")
        yield from (("the name of a file", file.name) for said in self.said for file in said.files)
        yield from (("a tool’s result", call.result) for call in self.calls)


def gather(approval: ToolApproval) -> Material:
    """Read it all, in a constant number of statements. `approval` needs its conversation's customer."""
    conversation = approval.conversation
    customer, tool = conversation.customer, offered.by_name(conversation, approval.tool_name)
    # A teammate may have said since that the risk is another one: people then decide.
    is_same = tool is not None and (tool.content_hash, tool.risk) == (approval.schema_hash, approval.risk)
    items = list(conversation.items.filter(kind__in=[*_SPEAKERS, ItemKind.NOTE, ItemKind.APPROVAL]).order_by("number"))
    return Material(
        tool=approval.tool_name,
        label=approval.tool_label,
        description=approval.description,
        schema=tool.input_schema if tool and is_same else "",
        input=approval.input,
        verified=customer.verified,
        subject=customer.subject,
        name=customer.name,
        email=customer.email,
        page=strict_json.dumps(strict_json.visible_json(customer.page)) if customer.page else "",
        learned=tuple(lesson.text for lesson in lessons.about(customer.id)),
        notes=tuple(item.text for item in items if item.kind == ItemKind.NOTE),
        calls=tuple(_calls(conversation, without=approval.id)),
        said=tuple(_said(items, asked_by=approval.id)),
        earlier=tuple(_earlier(approval, customer)),
    )


def _said(items: list[Item], *, asked_by: str) -> Iterator[Said]:
    asked_at = next((item.number for item in items if item.ref == asked_by), 0)
    for item in items:
        later = item.number > asked_at
        if item.kind in {ItemKind.CUSTOMER, ItemKind.TEAM} or (item.kind == ItemKind.AGENT and not later):
            yield Said(_SPEAKERS[ItemKind(item.kind)], item.text, later, item.sent)


def _calls(conversation: Conversation, *, without: str) -> Iterator[Call]:
    runs = list(ToolRun.objects.filter(conversation=conversation).defer("raw").order_by("queued_at", "id"))
    for run in runs:
        state = "refused" if run.refusal else run.state
        yield Call(run.tool_name, run.input, state, run.for_model, run.started_by)
    requests = ToolApproval.objects.filter(conversation=conversation).exclude(id__in=[without, *(r.id for r in runs)])
    for request in requests.order_by("requested_at"):
        yield Call(request.tool_name, request.input, request.state)


def _earlier(approval: ToolApproval, customer: Customer) -> Iterator[str]:
    same = ToolApproval.objects.filter(
        workspace_id=approval.workspace_id, conversation__customer=customer, tool_name=approval.tool_name
    ).exclude(id=approval.id)
    return iter(same.order_by("requested_at").values_list("input", flat=True))
