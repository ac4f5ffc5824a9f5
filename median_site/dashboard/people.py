"""Which customers a list shows, and what there is about one of them. Reads only."""

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from django.db.models import Exists, OuterRef, Q

from conversations.models import Conversation, Customer
from conversations.words import Names
from median_site.dashboard.keyset import Place
from median_site.lib.actors import Actor
from median_site.lib.errors import existing
from tools.models import ToolRun

PAGE: Final = 50
CONVERSATIONS: Final = 20
RUNS: Final = 30

Row = TypeVar("Row", Conversation, ToolRun)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows, newest first, and the place that the next page goes on from."""

    rows: list[Row]
    older: Place | None


def page(workspace_id: str, *, q: str = "", before: Place | None = None) -> Page[Conversation]:
    """The newest conversation of each customer, with the customer: those who wrote last come first. One query.

    `q` is how a word of the name, the email or the subject begins, in any case.
    """
    same = Conversation.objects.filter(workspace_id=workspace_id, customer_id=OuterRef("customer_id"))
    newer = Q(last_at__gt=OuterRef("last_at")) | Q(last_at=OuterRef("last_at"), id__gt=OuterRef("id"))
    rows = Conversation.objects.filter(~Exists(same.filter(newer)), workspace_id=workspace_id)
    if q:
        named = Customer.objects.filter(workspace_id=workspace_id).alias(names=Names("name", "email", "subject"))
        found = named.filter(names__contains=f" {q.lower()}")
        rows = rows.filter(customer_id__in=found.values("id"))
    if before:
        rows = rows.filter(before.older("last_at"))
    found_rows = list(rows.select_related("customer").order_by("-last_at", "-id")[: PAGE + 1])
    return _page(found_rows, PAGE)


def find(by: Actor, customer_id: str) -> Customer:
    """Raises NotFound for absent and foreign ones alike."""
    return existing(Customer.objects.filter(workspace_id=by.workspace_id, id=customer_id).first())


def conversations(customer: Customer, *, before: Place | None = None) -> Page[Conversation]:
    """The customer's conversations. One query."""
    rows = Conversation.objects.filter(workspace_id=customer.workspace_id, customer=customer)
    if before:
        rows = rows.filter(before.older("last_at"))
    return _page(list(rows.order_by("-last_at", "-id")[: CONVERSATIONS + 1]), CONVERSATIONS)


def runs(customer: Customer, *, before: Place | None = None) -> Page[ToolRun]:
    """Every run in the customer's conversations, whoever started it. One query."""
    rows = ToolRun.objects.filter(workspace_id=customer.workspace_id, conversation__customer=customer)
    if before:
        rows = rows.filter(before.older("queued_at"))
    return _page(list(rows.order_by("-queued_at", "-id")[: RUNS + 1]), RUNS)


def _page(found: list[Row], size: int) -> Page[Row]:
    last = found[size - 1] if len(found) > size else None
    moment = last and (last.last_at if isinstance(last, Conversation) else last.queued_at)
    return Page(found[:size], Place(moment, last.id) if last and moment else None)
