"""What the demo model reads out of a conversation: who writes, what is new, what calls brought. No sentences here."""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.models.base import Message, ToolCall
from median_site.lib.strict_json import Json

Kind = Literal["data", "waiting", "checking", "still_waiting", "too_many", "denied_before", "refused", "error"]

OUTCOME = "OUTCOME "
FILE = "[The customer sent "
QUOTED = "\n[Below their message the customer quotes an earlier mail."
KINDS: dict[str, Kind] = {
    "waiting_for_approval": "waiting",
    "waiting_for_review": "checking",
    "still_waiting": "still_waiting",
    "too_many_open": "too_many",
    "denied_before": "denied_before",
    "error": "error",
}
# As it is printed, and as people shorten it: order 1042, #1042, or the number alone.
ORDER = re.compile(
    r"\bORD[- ]?(\d+)\b|\border (?:number |no\.? ?|#)?(\d{3,})\b|#(\d{3,})\b|^[^\w\n]*(\d{4,})[^\w\n]*$", re.I | re.M
)
CUSTOMER_NAME = re.compile(
    r"""(?:\bcustomer(?:'s)?\ name(?:\ is)? | \bgo\ by\ the\ name | ^[\s*-]*name | "name") \s*:?\s*"?
    (?!(?:unknown|none|null|not)\b) ([^\W\d_][\w'-]{0,39})""",
    re.I | re.M | re.X,
)
OWN_NAME = re.compile(r"\bYour name is ([^.\n]{1,80})\.")
YES = re.compile(r"\W*(?:yes|yep|yeah|sure|ok|okay|please do|go ahead|do it|correct|confirm(?:ed)?|of course)\b", re.I)
NO = re.compile(r"\b(?:no|nope|not|don't|never|wait|stop|leave it)\b", re.I)

NEVER_MIND = re.compile(r"\W*(?:no|nope|never ?mind|forget it|leave it)(?:,? thank(?:s| you))?\W*", re.I)


@dataclass(frozen=True, slots=True)
class Step:
    """A call and its result: the parsed JSON, or the text where it is none."""

    tool: str
    arguments: dict[str, Json]
    result: Json


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation as the demo model understands it.

    `messages` are the customer's, oldest first; `fresh` are those since the last reply, in which `pictures` came;
    `matter` are `fresh` and those before them, newest first, as far as the replies in between were only questions.
    `outcomes` came since the last reply; `steps` since the customer last wrote or an outcome came, `past` before that.
    """

    first_name: str
    own_name: str
    messages: tuple[str, ...]
    fresh: tuple[str, ...]
    matter: tuple[str, ...]
    replies: tuple[str, ...]
    outcomes: tuple[dict[str, Json], ...]
    steps: tuple[Step, ...]
    past: tuple[Step, ...]
    pictures: int = 0

    @property
    def text(self) -> str:
        """What the customer wrote since the last reply."""
        return "\n".join(self.fresh)

    @property
    def last_reply(self) -> str:
        return self.replies[-1] if self.replies else ""

    @property
    def order(self) -> str | None:
        """The order that the customer named last."""
        numbers = orders_in("\n".join(self.messages))
        return numbers[-1] if numbers else None

    @property
    def topic(self) -> tuple[str, ...]:
        """The customer's messages about the current order, newest first, back to one that names only others."""
        about: list[str] = []
        for text in reversed(self.messages):
            named = orders_in(text)
            if named and self.order not in named:
                break
            about.append(text)
        return tuple(about)

    @property
    def said_yes(self) -> bool:
        """A clear yes: it begins with one and takes nothing back."""
        return bool(YES.match(self.text)) and not self.said_no

    @property
    def said_no(self) -> bool:
        return bool(NO.search(self.text))

    @property
    def said_never_mind(self) -> bool:
        """Nothing but a no, which answers an open question as well."""
        return bool(NEVER_MIND.fullmatch(self.text))

    def result_of(self, tool: str, arguments: dict[str, Json]) -> Step | None:
        """The step that made exactly this call since the customer last wrote."""
        return next((step for step in self.steps if (step.tool, step.arguments) == (tool, arguments)), None)

    def seen_before(self, tool: str, arguments: dict[str, Json]) -> Step | None:
        """The newest earlier step that made exactly this call and brought data."""
        same = (step for step in reversed(self.past) if (step.tool, step.arguments) == (tool, arguments))
        return next((step for step in same if kind_of(step.result) == "data"), None)


def read(messages: Sequence[Message], *, questions: Collection[str]) -> Reading:
    """Read a whole conversation; `questions` are the beginnings by which the model knows its own questions again."""
    replied = _last([_is_reply(message) for message in messages])
    prompted = _last([message.role == "user" or _is_outcome(message) for message in messages])
    instructions = "\n".join(_plain(m.text) for m in messages if m.role == "system")
    return Reading(
        first_name=_first(CUSTOMER_NAME, instructions),
        own_name=_first(OWN_NAME, instructions),
        messages=tuple(_plain(m.text) for m in messages if m.role == "user"),
        fresh=tuple(_plain(m.text) for m in messages[replied + 1 :] if m.role == "user"),
        matter=_matter(messages, questions=questions),
        replies=tuple(m.text for m in messages if _is_reply(m)),
        outcomes=tuple(_object(m.text.removeprefix(OUTCOME)) for m in messages[replied + 1 :] if _is_outcome(m)),
        steps=_steps(messages[prompted + 1 :]),
        past=_steps(messages[: prompted + 1]),
        pictures=sum(len(message.pictures) for message in messages[replied + 1 :]),
    )


def kind_of(result: Json) -> Kind:
    """What a tool's result is: data, one of the ways of waiting, a refusal or an error."""
    if not isinstance(result, dict):
        return "data"
    if result.get("refused") is True:
        return "refused"
    status = result.get("status")
    if isinstance(status, str) and status in KINDS:
        return KINDS[status]
    return "error" if isinstance(result.get("error"), str) else "data"


def orders_in(text: str) -> list[str]:
    """The order numbers that a text names, in its order."""
    return [f"ORD-{''.join(number)}" for number in ORDER.findall(text)]


def newest(texts: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    """What the pattern finds (its first group, if it has one) in the first of the texts that holds it."""
    found = next((match for text in texts if (match := pattern.search(text))), None)
    return found.group(1 if pattern.groups else 0) if found else None


def _is_reply(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls


def _is_outcome(message: Message) -> bool:
    return message.role == "notice" and message.text.startswith(OUTCOME)


def _last(marks: Sequence[bool]) -> int:
    return max((place for place, marked in enumerate(marks) if marked), default=-1)


def _plain(text: str) -> str:
    """What somebody wrote, without the lines that tell of their files."""
    written = [line for line in text.partition(QUOTED)[0].split("\n") if not line.startswith(FILE)]
    return "\n".join(written).replace("\u2019", "'")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""


def _matter(messages: Sequence[Message], *, questions: Collection[str]) -> tuple[str, ...]:
    texts: list[str] = []
    for message in reversed(messages):
        if message.role == "user":
            texts.append(_plain(message.text))
        elif _is_reply(message) and not any(question in message.text for question in questions):
            break
    return tuple(texts)


def _steps(messages: Sequence[Message]) -> tuple[Step, ...]:
    """Calls with their results, paired by position."""
    steps: list[Step] = []
    waiting: list[ToolCall] = []
    for message in messages:
        if message.tool_calls:
            waiting = list(message.tool_calls)
        elif message.role == "tool" and waiting:
            call = waiting.pop(0)
            steps.append(Step(tool=call.name, arguments=_object(call.arguments or "{}"), result=_parsed(message.text)))
    return tuple(steps)


def _parsed(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _object(text: str) -> dict[str, Json]:
    value = _parsed(text)
    return value if isinstance(value, dict) else {}
