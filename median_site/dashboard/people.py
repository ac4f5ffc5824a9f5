"""Which customers a list shows, and what there is about one of them. Reads only."""

from typing import Final

from django.db.models import Exists, OuterRef, Q

from conversations.models import Conversation, Customer
from conversations.words import Names
from median_site.dashboard import keyset
from median_site.dashboard.keyset import Page, Place
from median_site.lib.actors import Actor
from median_site.lib.errors import existing
from tools.models import ToolRun

PAGE: Final = 50
CONVERSATIONS: Final = 20
RUNS: Final = 30


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
    return keyset.page(rows.select_related("customer"), by="last_at", size=PAGE, after=before)


def find(by: Actor, customer_id: str) -> Customer:
    """Raises NotFound for absent and foreign ones alike."""
    return existing(Customer.objects.filter(workspace_id=by.workspace_id, id=customer_id).first())


def conversations(customer: Customer, *, before: Place | None = None) -> Page[Conversation]:
    """The customer's conversations. One query."""
    rows = Conversation.objects.filter(workspace_id=customer.workspace_id, customer=customer)
    return keyset.page(rows, by="last_at", size=CONVERSATIONS, after=before)


def runs(customer: Customer, *, before: Place | None = None) -> Page[ToolRun]:
    """Every run in the customer's conversations, whoever started it. One query."""
    rows = ToolRun.objects.filter(workspace_id=customer.workspace_id, conversation__customer=customer)
    return keyset.page(rows, by="queued_at", size=RUNS, after=before)
