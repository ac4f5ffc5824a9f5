"""The demo model: deterministic, without a key or a network, good for the support chat of a small shop.

It decides from the messages and the tools alone; its words for tools stand in `demo_intents`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.models import demo_phrases as phrases
from agent.models.base import Answer, Message, ToolCall, ToolSpec
from agent.models.demo_intents import (
    ACTIONS,
    EVERY_INTENT,
    LOOK_UPS,
    OPEN_QUESTIONS,
    ORDER_STATUS,
    PROBLEM,
    QUESTIONS,
    REFUND_OFFER,
    REFUND_ORDER,
    WHICH_ORDER,
    Inputs,
    Intent,
    amount_of,
)
from agent.models.demo_reading import Reading, kind_of, orders_in, read
from agent.models.demo_talk import LEFT_ALONE, NO_REFUNDS, for_people, small_talk
from median_site.lib.strict_json import Json

CANNOT_SEE = "I see that a picture came{name}, but the demo model cannot look at pictures."
SORRY = "I'm sorry about that{name}. "
NO_TOOL_FOR_PROBLEM = "A teammate will step in here and put it right."


@dataclass(frozen=True, slots=True)
class Call:
    """A call that is to go out."""

    tool: str
    inputs: Inputs


Move = str | tuple[Call, ...]


class DemoModel:
    """See the module. Calls at most once a tool and input for each message of the customer."""

    name = "Demo model"
    is_demo = True

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline_s: float) -> Answer:
        """Answer at once; never raises."""
        move = decide(read(messages, questions=QUESTIONS), tools={tool.name: tool for tool in tools})
        if isinstance(move, str):
            return Answer(move, (), "stop", self.name)
        made = sum(len(message.tool_calls) for message in messages)
        calls = tuple(
            ToolCall(id=f"demo{made + place}", name=call.tool, arguments=json.dumps(call.inputs, ensure_ascii=False))
            for place, call in enumerate(move)
        )
        return Answer("", calls, "tool_calls", self.name)

    async def aclose(self) -> None:
        """Nothing is open."""


def decide(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Move:
    """The next text or calls: how requests ended, then an answer to what the customer wrote."""
    told = [_ending(outcome, reading=reading, tools=tools) for outcome in reading.outcomes]
    if reading.pictures:
        told.append(phrases.phrase(CANNOT_SEE, name=reading.first_name))
        if not reading.text.strip():
            told[-1] += " What does it show?"
    if told and not reading.text.strip():
        return "\n\n".join(told)
    move = _respond(reading, tools=tools)
    return "\n\n".join([*told, move]) if isinstance(move, str) else move


def _respond(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Move:
    if not REFUND_ORDER.spoken_of(reading.text) and (said := for_people(reading)):
        return said
    left_alone = phrases.phrase(LEFT_ALONE, name=reading.first_name)
    if any(question in reading.last_reply for question in OPEN_QUESTIONS):
        if reading.said_never_mind:
            return left_alone
        # The answer to an open question belongs to what was asked for before it; a question of their own is none.
        move = _match("\n".join(reading.matter), reading, tools=tools)
        is_same = isinstance(move, str) and move in reading.last_reply and reading.text.rstrip().endswith("?")
        return _talk(reading, tools=tools) if move is None or is_same else move
    asked = _asked_about(reading, tools=tools)
    if asked and reading.said_yes:
        needs_yes = asked.asks_first or asked.question_start in reading.last_reply
        return _pursue(asked, reading, tools=tools, needs_yes=needs_yes)
    move = _match(reading.text, reading, tools=tools)
    if move is None and asked:
        return left_alone if reading.said_no else _pursue(asked, reading, tools=tools, needs_yes=True)
    return move or _talk(reading, tools=tools)


def _talk(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> str:
    abilities = dict.fromkeys(intent.ability for intent in EVERY_INTENT if intent.spec_in(tools))
    return small_talk(reading, abilities=list(abilities))


def _asked_about(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Intent | None:
    """The action that the last reply asked a yes or no about; the refund, when it was offered."""
    if REFUND_OFFER in reading.last_reply:
        return _refund(reading, tools=tools)
    return next(
        (intent for intent in ACTIONS if intent.spec_in(tools) and intent.question_start in reading.last_reply),
        None,
    )


def _refund(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Intent | None:
    refunds = (intent for intent in ACTIONS if intent.what == REFUND_ORDER.what)
    return next((intent for intent in refunds if intent.spec_in(tools) and intent.applies(reading)), None)


def _match(text: str, reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Move | None:
    """What a text asks for: an action, help with a broken order, or look-ups; None when it names nothing of these."""
    for intent in ACTIONS:
        if intent.spec_in(tools) and intent.applies(reading) and intent.spoken_of(text):
            return _pursue(intent, reading, tools=tools, needs_yes=intent.asks_first)
    if REFUND_ORDER.spoken_of(text):
        return phrases.phrase(NO_REFUNDS, name=reading.first_name)
    if PROBLEM.search(text):
        return _help_with_problem(reading, tools=tools)
    wanted = [intent for intent in LOOK_UPS if intent.spec_in(tools) and intent.spoken_of(text)]
    return _look_up(wanted, reading, text=text, tools=tools) if wanted else None


def _pursue(intent: Intent, reading: Reading, *, tools: Mapping[str, ToolSpec], needs_yes: bool) -> Move:
    """Take an action as far as it can go now: look the order up, ask what is missing, ask for a yes, call, tell.

    A yes counts only for exactly the question that was asked: with another order named, it is asked anew.
    """
    inputs = intent.inputs(reading, tools[intent.tool])
    if "orderNumber" in inputs and (first := _order_first(reading, tools=tools)) is not None:
        return first
    missing = next((question for key, question in intent.missing.items() if key not in inputs), None)
    if missing:
        return missing
    question = intent.question_for(inputs, amount=amount_of(reading))
    if needs_yes and not (reading.said_yes and question in reading.last_reply):
        return question
    step = reading.result_of(intent.tool, inputs)
    if step is None:
        return (Call(intent.tool, inputs),)
    return _tell(intent, step.result, inputs=step.arguments, reading=reading, tools=tools)


def _order_first(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Move | None:
    """The look-up of the current order, or why nothing more can be done about it; None: it is seen, go on."""
    number = reading.order
    if number is None or ORDER_STATUS.spec_in(tools) is None:
        return None
    inputs: Inputs = {"orderNumber": number}
    step = reading.result_of(ORDER_STATUS.tool, inputs) or reading.seen_before(ORDER_STATUS.tool, inputs)
    if step is None:
        return (Call(ORDER_STATUS.tool, inputs),)
    is_refunded = isinstance(step.result, dict) and step.result.get("status") == "refunded"
    if kind_of(step.result) == "data" and not is_refunded:
        return None
    return _tell(ORDER_STATUS, step.result, inputs=inputs, reading=reading, tools=tools)


def _help_with_problem(reading: Reading, *, tools: Mapping[str, ToolSpec]) -> Move:
    """Something is wrong with an order and no wish was named: offer the refund where there is one."""
    sorry = phrases.phrase(SORRY, name=reading.first_name)
    if reading.order is None:
        return sorry + WHICH_ORDER
    first = _order_first(reading, tools=tools)
    if first is not None:
        return first
    inputs: Inputs = {"orderNumber": reading.order}
    step = reading.result_of(ORDER_STATUS.tool, inputs)
    seen = _tell(ORDER_STATUS, step.result, inputs=inputs, reading=reading, tools=tools) + " " if step else ""
    return sorry + seen + (REFUND_OFFER if _refund(reading, tools=tools) else NO_TOOL_FOR_PROBLEM)


def _look_up(intents: Sequence[Intent], reading: Reading, *, text: str, tools: Mapping[str, ToolSpec]) -> Move:
    """Every look-up that a text asks for, in one step; then what they brought."""
    wanted: list[tuple[Intent, Inputs]] = []
    for intent in intents:
        if intent is not ORDER_STATUS:
            wanted.append((intent, {}))
            continue
        numbers = orders_in(text) or ([reading.order] if reading.order else [])
        if not numbers:
            return WHICH_ORDER
        wanted += [(intent, {"orderNumber": number}) for number in dict.fromkeys(numbers)]
    steps = [(intent, inputs, reading.result_of(intent.tool, inputs)) for intent, inputs in wanted]
    if calls := tuple(Call(intent.tool, inputs) for intent, inputs, step in steps if step is None):
        return calls
    told = [
        _tell(intent, step.result, inputs=inputs, reading=reading, tools=tools)
        for intent, inputs, step in steps
        if step is not None
    ]
    return " ".join(dict.fromkeys(told))  # the same refusal twice is told once


def _tell(intent: Intent, result: Json, *, inputs: Inputs, reading: Reading, tools: Mapping[str, ToolSpec]) -> str:
    """A tool's result in words."""
    kind, name = kind_of(result), reading.first_name
    fields = result if isinstance(result, dict) else {}
    if kind == "refused":
        return _refused(fields, inputs=inputs, reading=reading, tools=tools)
    if kind == "error":
        template = phrases.NOT_READ if intent in LOOK_UPS else phrases.NOT_DONE
        return phrases.phrase(template, what=intent.what, name=name)
    if kind != "data":
        return phrases.phrase(phrases.STANDINGS[kind], what=intent.what, name=name)
    return intent.done(phrases.Done(inputs=inputs, result=fields, name=name))


def _refused(said: Mapping[str, Json], *, inputs: Inputs, reading: Reading, tools: Mapping[str, ToolSpec]) -> str:
    text = phrases.refusal(said, name=reading.first_name)
    if said.get("reason") == "over_limit" and REFUND_ORDER.spec_in(tools):
        return f"{text} {REFUND_ORDER.question_for(inputs)}"
    return text


def _ending(outcome: Mapping[str, Json], *, reading: Reading, tools: Mapping[str, ToolSpec]) -> str:
    """How a request that waited ended."""
    status, result, said, given = (outcome.get(key) for key in ("status", "result", "refusal", "input"))
    name = reading.first_name
    inputs = given if isinstance(given, dict) else {}
    intent = next((row for row in EVERY_INTENT if row.tool == outcome.get("tool")), None)
    if isinstance(said, dict):
        return _refused(said, inputs=inputs, reading=reading, tools=tools)
    if status == "completed" and intent is None:
        return phrases.anything(result, label=str(outcome.get("label") or "Your request"), name=name)
    if status == "completed" and intent is not None:
        return _tell(intent, result, inputs=inputs, reading=reading, tools=tools)
    template = phrases.ENDINGS.get(status, phrases.NEUTRAL) if isinstance(status, str) else phrases.NEUTRAL
    text = phrases.phrase(template, what=intent.what if intent else "request", name=name)
    if status == "expired" and intent is not None and intent.question and intent.spec_in(tools):
        return f"{text} {intent.question_for(inputs)}"
    return text
