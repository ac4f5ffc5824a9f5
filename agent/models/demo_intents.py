"""What the demo model understands: one row for each tool it can use, with the customer's words for it and its input.

No decisions here: `demo` decides which row applies and whether the call may go out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from agent.models import demo_phrases as phrases
from agent.models.base import ToolSpec
from agent.models.demo_reading import ORDER, Reading, newest
from median_site.lib.strict_json import Json

WHICH_ORDER = "Which order is it? The number looks like ORD-1042."
WHICH_REASON = "What went wrong with it: did it arrive damaged, did it come late, or was it the wrong item?"
WHICH_INVOICE = "Which invoice is it? The number looks like INV-2031."
HOW_MANY_DAYS = "How many more days would you like?"
# Asked when something is wrong with an order and the customer did not say what they want. A yes means the refund.
REFUND_OFFER = "I can ask for a full refund to the card you paid with. Would you like that, or a replacement instead?"

SMALL_ORDER_LIMIT = 50.0  # dollars; the shop's refundSmallOrder has the same
DAYS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "fourteen": 14}

Inputs = dict[str, Json]


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)


NEVER = _words(r"(?!)")
AMOUNT = _words(r"\$\s?(\d+(?:\.\d{1,2})?)")
INVOICE = _words(r"\bINV-\d+\b")
TIME = _words(r"\b(\d{1,3}|a|one|two|three|four|five|six|seven|ten|fourteen)[ -](?:more )?(?:day|week)s?\b")
WEEKS = _words(r"\bweeks?\b")
JUST_A_NUMBER = _words(r"^\W*(\d{1,3})\W*$")
URGENT = _words(r"\b(?:urgent|asap|everyone|outage|is down)\b")
BUG = _words(
    r"\b(?:bug|crash\w*|error|broken page|does nothing"
    r"|(?:doesn't|does not|won't|isn't|not) (?:work|load|sav|open)\w*)\b"
)
REFUND = _words(r"\brefund\w*|\bmoney back\b|\b(?:have|get|want|give|send)\b[^.?!]*\$\s?\d[^?!]*?\bback\b")
NO_REFUND = _words(
    r"\b(?:no|not|don't|without|instead of|rather than)\b[^.,;?!\n]{0,30}\brefund"
    r"|\brefund policy|\bhow (?:long|do refunds)"
    r"|\b(?:where|when)(?:'s| is| will| do)\b[^.?!]*\brefund|\b(?:has|did) (?:my|the)\b[^.?!]*\brefund"
)
PROBLEM = _words(
    r"\b(?:damag|dent|broke|crack|scratch|smash|shatter)\w*|\bwrong (?:item|one|order|size|colou?r|product|thing)\b"
    r"|\b(?:came|arrived|delivered)\b[^.?!]*\blate\b"
)
REASONS = {
    "damaged": _words(r"\b(?:damag|dent|broke|crack|scratch|smash|shatter)\w*"),
    "wrong_item": _words(r"\bwrong\b|\bnot what I ordered\b"),
    "late": _words(r"\blate\b|\bdelay\w*|\btook (?:so|too) long\b"),
    "goodwill": _words(r"\bgoodwill\b|\bgesture\b"),
}
CANCEL_REASONS = {
    "too_expensive": _words(r"\bexpensive\b|\bcosts? too\b|\bafford\b|\bprice\b"),
    "missing_feature": _words(r"\bmissing\b|\blacks?\b|\bfeature\b"),
    "switching": _words(r"\bswitch\w*|\bmoving to\b|\bcompetitor\b"),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """One tool as the demo model uses it.

    `ability` follows "I can"; `what` follows "the". `takes` are the inputs it may send, `inputs` those that the
    conversation gives so far, `missing` the question for each that it cannot do without. With `asks_first` the call
    goes out only after a yes to `question`; otherwise `question` is for asking again. `done` tells a result.
    """

    tool: str
    ability: str
    what: str
    wanted: re.Pattern[str]
    done: Callable[[phrases.Done], str]
    unwanted: re.Pattern[str] = NEVER
    takes: tuple[str, ...] = ()
    inputs: Callable[[Reading, ToolSpec], Inputs] = lambda reading, spec: {}
    missing: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    asks_first: bool = False
    applies: Callable[[Reading], bool] = lambda reading: True

    def spoken_of(self, text: str) -> bool:
        return bool(self.wanted.search(text)) and not self.unwanted.search(text)

    def spec_in(self, tools: Mapping[str, ToolSpec]) -> ToolSpec | None:
        """The offered tool, when its schema is the one this row is made for: no input more, none less."""
        spec = tools.get(self.tool)
        if spec is None:
            return None
        properties, required = spec.input_schema.get("properties", {}), spec.input_schema.get("required", [])
        if not isinstance(properties, dict) or not isinstance(required, list):
            return None
        fits = all(key in self.takes for key in required) and all(key in properties for key in self.takes)
        return spec if fits else None

    @property
    def question_start(self) -> str:
        """The part of the question that is the same for every input; "" without a question."""
        return self.question.partition("{")[0]

    def question_for(self, inputs: Inputs, *, amount: float | None = None) -> str:
        sum_of = f" (${amount:,.2f})" if amount else ""
        return self.question.format(**{key: str(inputs.get(key, "it")) for key in self.takes}, sum_of=sum_of)


def amount_of(reading: Reading) -> float | None:
    """What the current order cost, in dollars: its total where a look-up showed one, else what the customer says."""
    for step in reversed(reading.past + reading.steps):
        total = step.result.get("total") if isinstance(step.result, dict) else None
        if step.arguments.get("orderNumber") == reading.order and isinstance(total, int | float):
            return float(total)
    said = newest(reading.topic, AMOUNT)
    return float(said) if said else None


def _reason(reading: Reading) -> str | None:
    """What was wrong with the order; goodwill when the customer was asked and named nothing of the list."""
    for text in reading.topic:
        if found := next((name for name, words in REASONS.items() if words.search(text)), None):
            return found
    return "goodwill" if WHICH_REASON in reading.last_reply and not reading.said_yes else None


def _order_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    return {"orderNumber": reading.order} if reading.order else {}


def _refund_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    inputs, reason = _order_inputs(reading, spec), _reason(reading)
    if reason and reason in _choices(spec, "reason"):
        inputs["reason"] = reason
    return inputs


def _is_small(reading: Reading) -> bool:
    amount = amount_of(reading)
    return amount is not None and amount <= SMALL_ORDER_LIMIT and _reason(reading) != "goodwill"


def _choices(spec: ToolSpec, key: str) -> list[Json]:
    properties = spec.input_schema.get("properties")
    schema = properties.get(key) if isinstance(properties, dict) else None
    choices = schema.get("enum") if isinstance(schema, dict) else None
    return choices if isinstance(choices, list) else []


def _invoice_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    number = newest(reading.messages[::-1], INVOICE)
    return {"invoiceNumber": number.upper()} if number else {}


def _bug_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    told = next((text for text in reading.matter if BUG.search(text)), "")
    title = re.split(r"(?<=[.!?])\s|\n", told)[0][:80]
    return {"title": title, "detail": told[:2000], "severity": "urgent" if URGENT.search(told) else "normal"}


def _cancel_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    texts = "\n".join(reading.matter)
    reason = next((name for name, words in CANCEL_REASONS.items() if words.search(texts)), None)
    return {"reason": reason} if reason in _choices(spec, "reason") else {}


def _trial_inputs(reading: Reading, spec: ToolSpec) -> Inputs:
    for text in reading.matter:
        if span := TIME.search(text):
            number = span.group(1).lower()
            count = DAYS.get(number) or int(number)
            return {"days": count * (7 if WEEKS.search(span.group()) else 1)}
        if number := newest([text], JUST_A_NUMBER) or "":
            return {"days": int(number)}
    return {}


ORDER_STATUS = Intent(
    tool="orderStatus",
    ability="look up an order",
    what="order",
    wanted=_words(
        rf"{ORDER.pattern}|\b(?:my|the|an) (?:order|parcel|package|delivery)\b|\btrack\w*"
        r"|(?<!do you )(?<!does )\b(?:deliver|arriv|ship)\w*"
        r"|\border status\b|\bwhere(?:'s| is| are) my (?!refund|money|invoice|receipt)"
    ),
    takes=("orderNumber",),
    inputs=_order_inputs,
    missing={"orderNumber": WHICH_ORDER},
    done=phrases.order,
)
LOOK_UPS = (
    ORDER_STATUS,
    Intent(
        tool="usageThisMonth",
        ability="check your usage",
        what="usage",
        wanted=_words(
            r"\b(?:usage|quota|overage)\b|\bhow many (?:requests|cups)\b|\brequests? (?:left|used)\b|\blimits?\b"
        ),
        done=phrases.usage,
    ),
    Intent(
        tool="subscription",
        ability="check your plan",
        what="subscription",
        wanted=_words(r"\b(?:plan|subscription|seats?|renew\w*)\b"),
        done=phrases.subscription,
    ),
)
REFUND_ORDER = Intent(
    tool="refundOrder",
    ability="ask for a refund",
    what="refund",
    wanted=REFUND,
    unwanted=NO_REFUND,
    takes=("orderNumber", "reason"),
    inputs=_refund_inputs,
    missing={"orderNumber": WHICH_ORDER, "reason": WHICH_REASON},
    question="Shall I ask the team to refund {orderNumber}?",
    done=phrases.refund,
)
ACTIONS = (
    replace(
        REFUND_ORDER,
        tool="refundSmallOrder",
        question="Shall I refund {orderNumber} in full{sum_of}, back to the card you paid with?",
        asks_first=True,
        applies=_is_small,
    ),
    REFUND_ORDER,
    Intent(
        tool="cancelSubscription",
        ability="cancel a subscription",
        what="cancellation",
        wanted=_words(r"\b(?:cancel|end|stop)\b[^.?!]*\b(?:subscription|plan|membership)\b|\bunsubscribe\b"),
        unwanted=_words(r"\b(?:not|don't|never|without|how|can't)\b[^.,;?!\n]{0,30}\b(?:cancel|end|stop)"),
        takes=("reason",),
        inputs=_cancel_inputs,
        question="Shall I ask the team to cancel your subscription?",
        done=phrases.cancellation,
    ),
    Intent(
        tool="extendTrial",
        ability="extend a trial",
        what="trial extension",
        wanted=_words(r"\b(?:extend|extension|longer|more)\b[^.?!]*\btrial\b|\btrial\b[^.?!]*\b(?:extend|longer|more)"),
        unwanted=_words(r"\bhow (?:many|much|long)\b"),
        takes=("days",),
        inputs=_trial_inputs,
        missing={"days": HOW_MANY_DAYS},
        question="Shall I ask the team for more trial days?",
        done=phrases.trial,
    ),
    Intent(
        tool="sendPasswordReset",
        ability="send a password reset link",
        what="password reset",
        wanted=_words(r"\bpassword\b|\blocked out\b|\b(?:can't|cannot|can not|unable to) (?:log|sign) ?in\b"),
        question="Shall I email you a fresh password reset link? It replaces any earlier one.",
        asks_first=True,
        done=phrases.password,
    ),
    Intent(
        tool="resendInvoice",
        ability="resend an invoice",
        what="invoice",
        wanted=_words(r"\b(?:invoice|receipt)\b|\bINV-\d"),
        takes=("invoiceNumber",),
        inputs=_invoice_inputs,
        missing={"invoiceNumber": WHICH_INVOICE},
        question="Shall I email a copy of {invoiceNumber} to your billing address?",
        asks_first=True,
        done=phrases.invoice,
    ),
    Intent(
        tool="flagForEngineering",
        ability="report a bug",
        what="bug report",
        wanted=BUG,
        takes=("title", "detail", "severity"),
        inputs=_bug_inputs,
        question="Shall I file a bug report for our engineers?",
        asks_first=True,
        done=phrases.bug,
    ),
)
EVERY_INTENT = LOOK_UPS + ACTIONS
OPEN_QUESTIONS = (WHICH_ORDER, WHICH_REASON, WHICH_INVOICE, HOW_MANY_DAYS)
QUESTIONS = (*OPEN_QUESTIONS, REFUND_OFFER, *(intent.question_start for intent in ACTIONS))
