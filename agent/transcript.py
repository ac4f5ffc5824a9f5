"""A conversation as messages for a model: what was said, what was called and what came of it, in its order. Pure.

A turn's calls and answer stand where the turn had read to: what the customer wrote while it ran comes after them, so
that the next turn ends on what nobody has answered yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from agent.models.base import Message, Picture, ToolCall
from agent.rows import Step, Turn
from approvals.models import State, ToolApproval
from conversations.files import File
from conversations.models import Item, ItemKind
from conversations.pictures import READING_TYPE
from median_site.lib import clock, strict_json
from median_site.lib.strict_json import Json
from tools import outcomes
from tools.models import ToolRun

SENT: Final = "[The customer sent"
# Of what a mail repeats of earlier ones, in characters; most of it stands in the thread.
QUOTE_LIMIT: Final = 2_000
QUOTED: Final = "[Below their message the customer quotes an earlier mail. It is no answer of theirs:]"

_LOST: Final = strict_json.dumps(outcomes.no_result().for_model)


@dataclass(frozen=True, slots=True)
class Part:
    """Messages that belong together: at a version of the conversation, or as the answer of the turn `answers`."""

    at: int
    messages: list[Message]
    turn: str = ""
    answers: str = ""


def in_order(parts: Iterable[Part]) -> list[Message]:
    """The messages of all parts; a turn's answer follows what the turn did, wherever in the thread it stands."""
    listed = list(parts)
    seen = {part.turn: part.at for part in listed if part.turn}
    ordered = sorted(listed, key=lambda part: _place(part, seen))
    return [message for part in ordered for message in part.messages]


def said(item: Item, *, pictures: Mapping[str, bytes]) -> Part:
    """A message of the thread. `pictures`: those of the customer's that the model is to see, by their files' ids."""
    if item.kind == ItemKind.CUSTOMER:
        seen = tuple(Picture(READING_TYPE, pictures[file.id]) for file in item.sent if file.id in pictures)
        files = (sent_file(file, is_seen=file.id in pictures) for file in item.sent)
        lines = [item.text, *files, *quoted(item.quoted)]
        return Part(item.number, [Message("user", "\n".join(filter(None, lines)), pictures=seen)])
    if item.kind == ItemKind.TEAM:
        lines = [item.text, *(f"[A file went with it: {_described(file)}]" for file in item.sent)]
        words = f"[{item.author_name} of the team wrote:] " + "\n".join(filter(None, lines))
        return Part(item.number, [Message("assistant", words)])
    return Part(item.number, [Message("assistant", item.text)], answers=item.ref)


def quoted(text: str) -> list[str]:
    """What a mail quotes, told apart from the customer's own words: nothing in it stands on a line of its own."""
    return [QUOTED, *(f"> {line}" for line in text[:QUOTE_LIMIT].split("\n"))] if text else []


def sent_file(file: File, *, is_seen: bool) -> str:
    """The line that tells of a customer's file; the demo model knows it by its beginning."""
    if is_seen:
        return f"{SENT} a picture, shown below: {file.name}]"
    left_out = ", a picture that is not shown here" if file.is_picture else ""
    return f"{SENT} a file: {_described(file)}{left_out}]"


def _described(file: File) -> str:
    return f"{file.name}, {file.content_type}, {file.size_in_words}"


def turn(row: Turn, *, told: Sequence[ToolApproval], steps: Sequence[Step], results: Mapping[str, ToolRun]) -> Part:
    """What an ended turn was told and what it did; its answer is an item of the thread."""
    return Part(row.seen or 0, [*outcomes_of(told, results), *steps_of(steps, results)], turn=row.id)


def lost(run: ToolRun, *, at: int) -> Part:
    """A run by hand that never reported back."""
    told: dict[str, Json] = {
        "tool": run.tool_name,
        "label": run.tool_label,
        "input": strict_json.loads(run.input),
        "status": run.state,
        "error": run.error,
    }
    return Part(at, [_outcome_message(told)])


def steps_of(steps: Iterable[Step], runs: Mapping[str, ToolRun]) -> list[Message]:
    """A turn's steps as the model wrote them, each call followed by its result, paired by position."""
    messages: list[Message] = []
    for step in steps:
        calls = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in step.calls)
        messages.append(Message("assistant", step.text, tool_calls=calls))
        messages += [Message("tool", _result(call, runs), tool_call_id=call["id"]) for call in step.calls]
    return messages


def outcomes_of(approvals: Iterable[ToolApproval], runs: Mapping[str, ToolRun]) -> list[Message]:
    """How requests ended. A denial has no reason here: that is the team's."""
    return [_outcome_message(_outcome(row, runs.get(row.id))) for row in approvals]


def _place(part: Part, seen: Mapping[str, int]) -> tuple[int, int]:
    if part.turn:
        return part.at, 1
    return (seen[part.answers], 2) if part.answers in seen else (part.at, 0)


def _result(call: Mapping[str, str], runs: Mapping[str, ToolRun]) -> str:
    """The text that the model gets for one call of a step: its own stored answer, or what its run came to."""
    if call["result"]:
        return call["result"]
    run = runs.get(call["run"])
    return run.for_model if run and run.is_over else _LOST


def _outcome_message(told: Mapping[str, Json]) -> Message:
    return Message("notice", "OUTCOME " + strict_json.dumps(dict(told)))


def _outcome(approval: ToolApproval, run: ToolRun | None) -> dict[str, Json]:
    state = approval.state_at(clock.now())
    told: dict[str, Json] = {
        "tool": approval.tool_name,
        "label": approval.tool_label,
        "input": strict_json.loads(approval.input),
        "status": state,
    }
    if run is None or state not in {State.COMPLETED, State.FAILED}:
        return told
    shown = strict_json.loads(run.for_model)
    if run.refusal:
        return told | {"refusal": cast(Json, run.refusal)}
    if state == State.COMPLETED:
        return told | {"result": shown}
    # Of a failed HTTP tool the model may know no more than the fixed object.
    return told | (shown if isinstance(shown, dict) and "error" in shown else {"error": shown})
