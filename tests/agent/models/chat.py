"""A chat with the demo model in the example shop, for the tests beside it: the tools, their results, the turns."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.models.base import Message, ToolSpec
from agent.models.demo import DemoModel
from median_site.lib.strict_json import Json

SYSTEM = "Your name is Median AI. You answer for Kettle & Co.\nCustomer name: Ana Souza\nEmail: ana@example.com"
REASONS: list[Json] = ["damaged", "late", "wrong_item"]
TEXT: Json = {"type": "string"}


def tool(name: str, *optional: str, **properties: Json) -> ToolSpec:
    required: list[Json] = [key for key in properties if key not in optional]
    return ToolSpec(name, name, {"type": "object", "properties": dict(properties), "required": required})


SHOP = [
    tool("orderStatus", orderNumber=TEXT),
    tool("subscription"),
    tool("usageThisMonth"),
    tool("sendPasswordReset"),
    tool("resendInvoice", invoiceNumber=TEXT),
    tool("flagForEngineering", title=TEXT, detail=TEXT, severity={"enum": ["low", "normal", "urgent"]}),
    tool("refundSmallOrder", orderNumber=TEXT, reason={"enum": REASONS}),
    tool("cancelSubscription", "reason", reason={"enum": ["too_expensive", "missing_feature", "switching", "other"]}),
    tool("refundOrder", orderNumber=TEXT, reason={"enum": [*REASONS, "goodwill"]}),
    tool("extendTrial", days={"type": "number"}),
]
WAITING: Json = {"status": "waiting_for_approval"}
RESULTS: dict[str, Json] = {
    "orderStatus": {
        "status": "in_transit",
        "carrier": "DHL",
        "trackingUrl": "https://track.example/1",
        "eta": "3 June",
    },
    "subscription": {
        "plan": "Team",
        "seats": {"used": 4, "included": 5},
        "renewsOn": "2025-07-01",
        "status": "active",
    },
    "usageThisMonth": {"requests": 8200, "included": 10000, "overageCost": 1.5, "resetsOn": "2025-07-01"},
    "sendPasswordReset": {"sent": True},
    "resendInvoice": {"sent": True, "to": "billing@example.com"},
    "flagForEngineering": {"filed": True, "reference": "ENG-12"},
    "refundSmallOrder": {"status": "waiting_for_review"},
    "cancelSubscription": WAITING,
    "refundOrder": WAITING,
    "extendTrial": WAITING,
}
SIGN_OFF = "Thanks, Ana. A refund needs a teammate's sign-off, so I've asked the team. You'll get the answer here."


@dataclass
class Chat:
    """A conversation with the demo model; `made` are the calls of the last turn."""

    tools: Sequence[ToolSpec] = field(default_factory=lambda: SHOP)
    results: dict[str, Json] = field(default_factory=lambda: dict(RESULTS))
    system: str = SYSTEM
    made: list[tuple[str, Json]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.messages = [Message("system", self.system)]

    async def write(self, text: str) -> str:
        self.messages.append(Message("user", text))
        return await self.turn()

    async def ends(self, tool: str, status: str, **more: Json) -> str:
        outcome = {"tool": tool, "label": "Send voucher", "input": {}, "status": status, **more}
        self.messages.append(Message("notice", "OUTCOME " + json.dumps(outcome)))
        return await self.turn()

    async def turn(self) -> str:
        self.made = []
        for _ in range(5):
            answer = await DemoModel().complete(self.messages, tools=self.tools, deadline_s=1)
            self.messages.append(Message("assistant", answer.text, tool_calls=answer.tool_calls))
            if not answer.tool_calls:
                assert answer.finish == "stop"
                return answer.text
            assert (answer.finish, answer.text, answer.model) == ("tool_calls", "", "Demo model")
            for call in answer.tool_calls:
                assert call.arguments is not None
                self.made.append((call.name, json.loads(call.arguments)))
                result = json.dumps(self.results[call.name])
                self.messages.append(Message("tool", result, tool_call_id=call.id))
        raise AssertionError("the turn does not end")
