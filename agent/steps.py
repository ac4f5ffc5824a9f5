"""One answer of the model, made into rows: what leaves, what parks, what is answered at once.

A step is written with our own ids for its calls before any of them leaves, in one transaction under the conversation's
lock. Whoever takes the turn up after a crash finds there what is left to do.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction

from agent import arguments, transcript, turns
from agent.arguments import BadArguments
from agent.models.base import Answer, Message, ToolCall
from agent.rows import UNREADABLE, Step, Turn
from approvals import decisions
from approvals.errors import DeniedBefore, StillWaiting, TooManyOpen
from conversations import bulk, threads
from conversations.models import Conversation
from median_site.lib import canonical_json, clock, ids, strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from tools import offered, outcomes, runs
from tools.models import SIGNED_OFF, Risk, Starter, Tool, ToolRun

STEPS: Final = 10
CALLS_IN_TURN: Final = 20
CALLS_IN_STEP: Final = 8
# So many more are told why they were not made; a model that asks for thousands has lost itself.
CALLS_ANSWERED: Final = 100
BROKEN_IN_TURN: Final = 3

_WAITING: Final[Mapping[str, tuple[str, str]]] = {
    Risk.HIGH: ("waiting_for_approval", "A teammate must approve this before it runs. It has not run."),
    Risk.REVIEWED: ("waiting_for_review", "This is being checked before it runs. It has not run."),
}
_REFUSED: Final[Mapping[type[DomainError], str]] = {
    StillWaiting: "still_waiting",
    TooManyOpen: "too_many_open",
    DeniedBefore: "denied_before",
}


@dataclass(slots=True)
class _Tally:
    """What a turn has asked for so far: how many calls, the first entry of each that was made, and those that leave
    with this step."""

    calls: int
    made: dict[tuple[str, bytes], dict[str, str]]
    leaving: list[ToolRun] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model answered in a turn: its step of that number."""

    turn: Turn
    number: int
    answer: Answer


def write(asked: Sequence[Asked]) -> list[Step | None]:
    """Write these steps of as many turns, their runs and their requests. None for a turn that may not go on: nothing of
    it is written then.

    What a call may do is said by the tools as they are now: while the model thought, one may have been switched off, or
    have got a higher risk.
    """
    with transaction.atomic():
        conversations = bulk.locked(each.turn.conversation_id for each in asked)
        going = set(turns.go_on([each.turn for each in asked], conversations))
        tallies = _tallies(going)
        tools = offered.to_agent_in(conversations[turn.conversation_id] for turn in going)
        made = {
            each.turn.id: _step(each, conversations[each.turn.conversation_id], tools, tallies[each.turn.id])
            for each in asked
            if each.turn in going
        }
        runs.queue_own([run for tally in tallies.values() for run in tally.leaving])
        Step.objects.bulk_create(made.values())
    return [made.get(each.turn.id) for each in asked]


def so_far(held: Sequence[tuple[Turn, Sequence[Step]]]) -> list[list[Message] | None]:
    """What each of these turns has done, as the model reads it; None for one that may not go on."""
    with transaction.atomic():
        conversations = bulk.locked(turn.conversation_id for turn, _ in held)
        going = set(turns.go_on([turn for turn, _ in held], conversations))
        ids = {run_id for turn, made in held if turn in going for step in made for run_id in step.run_ids}
        runs = {run.id: run for run in ToolRun.objects.filter(id__in=ids).defer("raw")}
    return [transcript.steps_of(made, runs) if turn in going else None for turn, made in held]


def _step(asked: Asked, conversation: Conversation, tools: Mapping[str, Sequence[Tool]], tally: _Tally) -> Step:
    turn, text = asked.turn, asked.answer.text
    by_name = {tool.name: tool for tool in tools[conversation.id]}
    calls = [
        _plan(call, turn, conversation, by_name, tally, position=position, finish=asked.answer.finish)
        for position, call in enumerate(asked.answer.tool_calls[:CALLS_ANSWERED])
    ]
    return Step(workspace_id=turn.workspace_id, turn=turn, number=asked.number, text=text, calls=calls)


def _plan(
    call: ToolCall, turn: Turn, conversation: Conversation, tools: Mapping[str, Tool], tally: _Tally, *,
    position: int, finish: str,
) -> dict[str, str]:  # fmt: skip
    """Decide what becomes of one call. The dict is its entry in Step.calls."""
    tally.calls += 1
    tool = tools.get(call.name)
    if position >= CALLS_IN_STEP or tally.calls > CALLS_IN_TURN:
        limit = f"At most {CALLS_IN_STEP} calls in one step and {CALLS_IN_TURN} in one reply; this one was not made."
        return _answered(call, {"error": limit}, unmade="over_limit")
    if tool is None:
        return _answered(call, outcomes.UNKNOWN_TOOL_FOR_MODEL, unmade="unknown_tool")
    try:
        agent = threads.agent_actor(conversation)
        input_text = arguments.read(call, tool, finish=finish, by=agent, conversation_id=conversation.id)
    except BadArguments as bad:
        told: Json = {"error": UNREADABLE, "tool": tool.name, "message": bad.message}
        return _answered(call, told, unmade=UNREADABLE)
    same = _key(tool.name, input_text)
    if same in tally.made:
        return {**tally.made[same], "id": ids.call_id(), "arguments": input_text}
    tally.made[same] = _make(tool, input_text, turn, conversation, tally.leaving)
    return tally.made[same]


def _make(
    tool: Tool, input_text: str, turn: Turn, conversation: Conversation, leaving: list[ToolRun]
) -> dict[str, str]:
    entry = {"name": tool.name, "arguments": input_text, "run": "", "result": ""}
    agent = threads.agent_actor(conversation)
    if tool.risk not in SIGNED_OFF:
        run = ToolRun(
            workspace_id=conversation.workspace_id, conversation=conversation, tool_name=tool.name,
            tool_label=tool.label, tool_id=tool.id, endpoint_id=tool.served_by, risk=tool.risk, input=input_text,
            started_by=Starter.AGENT, by_id=agent.id, by_name=agent.name, turn_id=turn.id, queued_at=clock.now(),
        )  # fmt: skip
        leaving.append(run)
        return {**entry, "id": run.id, "run": run.id}
    try:
        with transaction.atomic():
            parked = decisions.request(conversation, tool=tool, input_text=input_text, turn_id=turn.id, by=agent)
    except (StillWaiting, TooManyOpen, DeniedBefore) as refusal:
        told: dict[str, Json] = {"status": _REFUSED[type(refusal)], "tool": tool.name, "message": refusal.message}
        return {**entry, "id": ids.call_id(), "result": strict_json.dumps(told)}
    status, message = _WAITING[tool.risk]
    waiting: dict[str, Json] = {"status": status, "tool": tool.name, "message": message}
    return {**entry, "id": parked.id, "result": strict_json.dumps(waiting)}


def _answered(call: ToolCall, told: Json, *, unmade: str) -> dict[str, str]:
    """A call that nothing comes of. The model reads its own name and arguments back in a form every provider takes."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown"
    result = strict_json.dumps(strict_json.visible_json(told))  # it quotes the arguments
    return {"id": ids.call_id(), "name": name, "arguments": "{}", "run": "", "result": result, "unmade": unmade}


def _tallies(held: Iterable[Turn]) -> dict[str, _Tally]:
    """By turn."""
    calls: dict[str, list[dict[str, str]]] = {turn.id: [] for turn in held}
    for step in Step.objects.filter(turn__in=list(calls)).order_by("number"):
        calls[step.turn_id] += step.calls
    return {turn_id: _tally(before) for turn_id, before in calls.items()}


def _tally(calls: Sequence[dict[str, str]]) -> _Tally:
    made = {_key(call["name"], call["arguments"]): call for call in reversed(calls) if "unmade" not in call}
    return _Tally(len(calls), made)


def _key(name: str, input_text: str) -> tuple[str, bytes]:
    """What makes two calls the same: the tool, and the value of the input in whatever order its keys stand."""
    return name, canonical_json.dumps(strict_json.loads(input_text))
