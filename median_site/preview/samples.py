"""Rows that were never saved, for the preview to draw: one workspace, one customer, and what may stand in their thread.
Nothing here asks or writes a database."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from typing import Any, Final

from approvals.models import State, ToolApproval
from conversations.models import Conversation, Customer, Item, ItemKind
from median_site.lib import clock
from median_site.lib.strict_json import Json
from team.models import Teammate, Workspace
from tools.models import Risk, RunState, Starter, ToolRun

_numbers: Final = count(1)

WORKSPACE: Final = Workspace(slug="fernhill", name="Fernhill")
SAM: Final = Teammate(workspace=WORKSPACE, id="sam", name="Sam Ortega")
ANA: Final = Customer(workspace=WORKSPACE, id="ana", subject="ana", verified=True, name="Ana Ferreira")
STRANGER: Final = Customer(workspace=WORKSPACE, id="stranger", subject="visitor-3f9a")

ORDER: Final[Mapping[str, Json]] = {"orderNumber": "ORD-1042", "reason": "damaged"}
LONG: Final[Mapping[str, Json]] = {**ORDER, "note": "The vase came in eleven pieces, the box was open. " * 12}
# Right-to-left override, zero-width space and no-break space, and a Cyrillic letter that looks Latin.
DISGUISED: Final[Mapping[str, Json]] = {
    "orderNumber": "ORD-\u202e2401\u202c",
    "email": "an\u0430@fern\u200bhill.example\u00a0",
    "name": "آنا",
}
NESTED: Final[Mapping[str, Json]] = {
    "orderNumber": "ORD-1042",
    "lines": [{"sku": "VASE-S", "quantity": 2, "gift": True}, {"sku": "CARD", "quantity": 1, "gift": None}],
    "address": {"street": "Rua do Norte 14", "city": "Lisboa", "zip": "1200-284"},
}


def conversation(*, customer: Customer = ANA, **fields: Any) -> Conversation:
    """A thread with Ana, which the agent has unless `fields` say otherwise."""
    usual: dict[str, Any] = {
        "version": 40, "last_at": clock.now() - timedelta(minutes=4), "excerpt": "My order arrived broken.",
    }  # fmt: skip
    return Conversation(workspace=WORKSPACE, customer=customer, **usual | fields)


def item(kind: ItemKind, *, text: str = "", **fields: Any) -> Item:
    """Something in the thread, each with a number of its own."""
    number = next(_numbers)
    return Item(
        workspace=WORKSPACE, number=number, version=number, kind=kind, text=text, created_at=clock.now(), **fields
    )


def approval(state: State, *, of: Mapping[str, Json] = ORDER, **fields: Any) -> ToolApproval:
    """A request of high risk, four minutes old; one past pending was decided by Sam two minutes ago."""
    now = clock.now()
    usual: dict[str, Any] = {
        "endpoint_id": "shop", "tool_name": "refundOrder", "tool_label": "Refund order", "risk": Risk.HIGH,
        "description": "Refund an order in full, back to the original payment method.",
        "input": json.dumps(of, ensure_ascii=False), "state": state,
        "requested_at": now - timedelta(minutes=4), "expires_at": now + timedelta(hours=24),
    }  # fmt: skip
    if state in {State.EXECUTING, State.COMPLETED, State.FAILED, State.DENIED}:
        usual |= {
            "decided_at": now - timedelta(minutes=2), "decided_by_kind": "teammate", "decided_by_id": SAM.id,
            "decided_by_name": SAM.name,
        }  # fmt: skip
    return ToolApproval(workspace=WORKSPACE, **usual | fields)


def run(state: RunState, *, of: Mapping[str, Json] = ORDER, result: Json = None, **fields: Any) -> ToolRun:
    """One execution by Sam; `result` is what the tool returned."""
    usual: dict[str, Any] = {
        "endpoint_id": "shop", "tool_name": "refundOrder", "tool_label": "Refund order", "risk": Risk.HIGH,
        "input": json.dumps(of, ensure_ascii=False), "started_by": Starter.TEAMMATE, "by_id": SAM.id,
        "by_name": SAM.name, "state": state, "queued_at": clock.now() - timedelta(minutes=1),
        "raw": "" if result is None else json.dumps(result, ensure_ascii=False, indent=2),
    }  # fmt: skip
    return ToolRun(workspace=WORKSPACE, **usual | fields)


def rows(*pairs: tuple[str, str]) -> Sequence[Sequence[Json]]:
    """A write-up's rows as a run keeps them."""
    return [[label, value, value] for label, value in pairs]
