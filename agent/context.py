"""What the model gets: instructions, tools, and the conversation as it stood when the turn began.

Never in it: notes, runs by hand (but for those that never reported back), the reviewer's reasons, a teammate's reason
to deny, subjects, secrets.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from agent import prompts
from agent.models.base import Message, ToolCall, ToolSpec
from agent.rows import Step, Turn
from approvals.models import OPEN, State, ToolApproval
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock, strict_json
from median_site.lib.strict_json import Json
from tools import outcomes, schema
from tools.models import Starter, Tool, ToolRun

ITEMS: Final = 200


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` up to the turn's own steps; `outcomes`: the requests that they tell the end of."""

    messages: list[Message]
    tools: list[Tool]
    outcomes: list[str]
    seen: int

    @property
    def specs(self) -> list[ToolSpec]:
        return [_spec(tool) for tool in self.tools]


def build(turn: Turn) -> Context:
    """Read everything the turn starts from, in a constant number of statements."""
    conversation = Conversation.objects.select_related("workspace", "customer").get(id=turn.conversation_id)
    items = _items(conversation)
    approvals = list(
        ToolApproval.objects.filter(conversation=conversation).exclude(state__in=OPEN).order_by("requested_at")
    )
    untold = [row for row in approvals if row.told_in_turn in {"", turn.id}]
    told = defaultdict(list)
    for row in approvals:
        if row not in untold:
            told[row.told_in_turn].append(row)
    results = _results(conversation)
    lost = _lost_by_hand(conversation)
    earlier = _steps(conversation, without=turn.id)
    messages = [Message("system", prompts.system(conversation.workspace, conversation.customer))]
    for item in items:
        if item.kind == ItemKind.AGENT:
            messages += _outcomes(told.get(item.ref, []), results)
            messages += _lost_until(item.created_at, lost)
            messages += step_messages(earlier.get(item.ref, []), results)
        messages.append(_message(item))
    messages += _outcomes(untold, results)
    messages += _lost_until(clock.now(), lost)
    seen = items[-1].number if items else 0
    return Context(messages, _tools(conversation), [row.id for row in untold], seen)


def step_messages(steps: Iterable[Step], runs: dict[str, ToolRun]) -> Iterator[Message]:
    """A turn's steps as the model wrote them, each call followed by its result, paired by position."""
    for step in steps:
        if not step.calls:
            continue
        calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in step.calls)
        yield Message("assistant", step.text, tool_calls=calls)
        for call in step.calls:
            yield Message("tool", result_of(call, runs), tool_call_id=call["id"])


def result_of(call: dict[str, str], runs: dict[str, ToolRun]) -> str:
    """The text that the model gets for one call of a step: its own stored answer, or what its run came to."""
    if call.get("result"):
        return call["result"]
    run = runs.get(call["run"])
    return run.for_model if run and run.is_over else _LOST


_LOST: Final = strict_json.dumps(
    {"error": "The tool returned no result. Check whether the action completed before retrying."}
)


def _items(conversation: Conversation) -> list[Item]:
    said = [ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM]
    newest = conversation.items.filter(kind__in=said).order_by("-number")[:ITEMS]
    return list(newest)[::-1]


def _message(item: Item) -> Message:
    if item.kind == ItemKind.CUSTOMER:
        return Message("user", item.text)
    if item.kind == ItemKind.TEAM:
        return Message("assistant", f"[{item.author_name} of the team wrote:] {item.text}")
    return Message("assistant", item.text)


def _steps(conversation: Conversation, *, without: str) -> dict[str, list[Step]]:
    steps: dict[str, list[Step]] = defaultdict(list)
    rows = Step.objects.filter(turn__conversation=conversation).exclude(turn_id=without)
    for step in rows.order_by("turn__queued_at", "number"):
        steps[step.turn_id].append(step)
    return steps


def _results(conversation: Conversation) -> dict[str, ToolRun]:
    rows = ToolRun.objects.filter(conversation=conversation).exclude(turn_id="")
    return {run.id: run for run in rows}


def _lost_by_hand(conversation: Conversation) -> deque[ToolRun]:
    """Runs by hand that never reported back, oldest first: the only ones that the agent hears of."""
    rows = ToolRun.objects.filter(
        workspace_id=conversation.workspace_id, conversation=conversation, code=outcomes.no_result().code,
        started_by__in=[Starter.TEAMMATE, Starter.API],
    )  # fmt: skip
    return deque(rows.order_by("ended_at"))


def _lost_until(moment: datetime, lost: deque[ToolRun]) -> Iterator[Message]:
    """Take those off that ended before this moment, and tell them."""
    while lost and lost[0].ended_at and lost[0].ended_at <= moment:
        run = lost.popleft()
        told: dict[str, Json] = {
            "tool": run.tool_name,
            "label": run.tool_label,
            "input": strict_json.loads(run.input),
            "status": run.state,
            "error": run.error,
        }
        yield Message("system", "OUTCOME " + strict_json.dumps(told))


def _outcomes(approvals: Sequence[ToolApproval], runs: dict[str, ToolRun]) -> list[Message]:
    return [Message("system", "OUTCOME " + strict_json.dumps(_outcome(row, runs.get(row.id)))) for row in approvals]


def _outcome(approval: ToolApproval, run: ToolRun | None) -> dict[str, Json]:
    told: dict[str, Json] = {
        "tool": approval.tool_name,
        "label": approval.tool_label,
        "input": strict_json.loads(approval.input),
        "status": approval.state,
    }
    if run and approval.state in {State.COMPLETED, State.FAILED}:
        shown = strict_json.loads(run.for_model)
        if run.refusal:
            told["refusal"] = cast(Json, run.refusal)
        elif approval.state == State.FAILED:
            told["error"] = run.error
        else:
            told["result"] = shown
    return told


def _tools(conversation: Conversation) -> list[Tool]:
    """Switched on, served by the last good sync, and allowed by what the customer's session token carries."""
    rows = Tool.objects.usable().filter(workspace_id=conversation.workspace_id).order_by("name")
    valid = conversation.claims_expire_at is not None and conversation.claims_expire_at > clock.now()
    held = conversation.claims if valid else {}
    return [tool for tool in rows if not tool.requires or held.get(tool.requires)]


def _spec(tool: Tool) -> ToolSpec:
    shown = schema.for_model(tool.input_schema)
    return ToolSpec(tool.name, prompts.describe(tool.description, tool.risk), shown)
