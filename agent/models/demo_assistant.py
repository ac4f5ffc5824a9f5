"""The assistant of an installation without a model: it understands a handful of questions, in English. Deterministic.

It reads what a model would: the last question, what the teammate looks at, and what the look-ups gave.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.models.base import Answer, Message, ToolCall, ToolSpec
from median_site.lib.strict_json import Json

UNDERSTOOD: Final = """\
I am the demo model. I understand:

- “what is waiting”
- “find” and words, a name or an order number
- “explain this request”
- “approve” or “deny” and what you mean, such as “approve the refund for Ana”: I put it before you, you press
- “which tools failed this week”"""
NOTHING_WAITS: Final = "No request waits for a decision."
WHICH: Final = "I do not know which one you mean. These wait:\n\n"
SHOWN: Final = "Nothing is decided yet: look at {what} and press the button yourself."

_DECIDE: Final = re.compile(r"\W*(?:please |can you |could you )*(approve|deny|refuse)\b(.*)", re.I | re.S)
_EXPLAIN: Final = re.compile(r"\b(?:explain|why|what is this|tell me about)\b(.*)", re.I | re.S)
_FIND: Final = re.compile(r"\W*(?:please )?(?:find|search(?: for)?|look for|look up)\b(.*)", re.I | re.S)
_WAITING: Final = re.compile(r"\bwait(?:s|ing)?\b|\bpending\b|\bneeds? approval\b", re.I)
_FAILING: Final = re.compile(r"\bfail|\bbroken?\b|\berrors?\b", re.I)
_ALL: Final = re.compile(r"\b(?:all|every\w*|both)\b", re.I)
_LOOKING: Final = re.compile(r"looking at ((?:thread|request):[a-z0-9_]+)")
_WORD: Final = re.compile(r"[\w-]+")
# What stands in every way of naming a request, and tells it from no other.
_UNTELLING: Final = re.compile(
    r"(?:an?|and|all|both|every\w*|for|from|its?|of|on|one|please|requests?|that|the|them|these|this|to|waiting|with)"
)


@dataclass(frozen=True, slots=True)
class _Look:
    """A look-up that is to be made."""

    name: str
    given: Mapping[str, Json]


_Move = str | _Look
_Row = Mapping[str, Any]


class DemoAssistant:
    """See the module."""

    name = "Demo model"
    is_demo = True

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline_s: float) -> Answer:
        """Answer at once; never raises."""
        asked = max(place for place, message in enumerate(messages) if message.role == "user")
        looking = _LOOKING.search(messages[0].text)
        made = {
            call.name: _data(result)
            for message in messages[asked:]
            for call, result in zip(message.tool_calls, messages[messages.index(message, asked) + 1 :], strict=False)
        }
        move = decide(messages[asked].text, looking_at=looking[1] if looking else "", looked=made)
        if isinstance(move, str):
            return Answer(move, (), "stop", self.name)
        call = ToolCall("", move.name, json.dumps(move.given, ensure_ascii=False))
        return Answer("", (call,), "tool_calls", self.name)

    async def aclose(self) -> None:
        """Nothing is open."""


def decide(question: str, *, looking_at: str, looked: Mapping[str, _Row]) -> _Move:
    """The next look-up, or the answer; `looked` is what each look-up of this question gave."""
    if found := _DECIDE.match(question):
        answer = "approve" if found[1].lower() == "approve" else "deny"
        return _propose(answer, found[2], looking_at=looking_at, looked=looked)
    if found := _FIND.match(question):
        return _found(found[1].strip(' .?!"“”'), looked=looked)
    if found := _EXPLAIN.search(question):
        return _explain(found[1], looking_at=looking_at, looked=looked)
    if _FAILING.search(question):
        return _failing(looked["failing_tools"]) if "failing_tools" in looked else _Look("failing_tools", {})
    if _WAITING.search(question):
        return _waiting(_rows(looked)) if "list_requests" in looked else _LIST
    return UNDERSTOOD


_LIST: Final = _Look("list_requests", {"status": "waiting"})


def _propose(answer: str, words: str, *, looking_at: str, looked: Mapping[str, _Row]) -> _Move:
    if "propose" in looked:
        proposed = looked["propose"]
        if error := proposed.get("error"):
            return str(error)
        return SHOWN.format(what="it" if len(proposed["proposed"]) == 1 else "them")
    if "list_requests" not in looked:
        return _LIST
    rows = _rows(looked)
    meant = rows if _ALL.search(words) else _meant(rows, words, looking_at=looking_at)
    if not rows:
        return NOTHING_WAITS
    if not meant or (len(meant) > 1 and not _ALL.search(words)):
        return WHICH + _list(rows)
    return _Look("propose", {"answer": answer, "requests": [row["ref"] for row in meant]})


def _meant(rows: Sequence[_Row], words: str, *, looking_at: str) -> list[_Row]:
    """Those that the words name; without a telling word those in view, or the only one there is."""
    telling = [word for word in map(str.lower, _WORD.findall(words)) if not _UNTELLING.fullmatch(word)]
    if telling:
        return [row for row in rows if all(word in _spoken(row) for word in telling)]
    return [row for row in rows if looking_at and looking_at in (row["ref"], row["thread"])] or list(rows)


def _spoken(row: _Row) -> str:
    return " ".join(str(row[key]) for key in ("ref", "tool", "customer", "input")).lower()


def _waiting(rows: Sequence[_Row]) -> str:
    if not rows:
        return NOTHING_WAITS
    return f"{'1 request waits' if len(rows) == 1 else f'{len(rows)} requests wait'}:\n\n{_list(rows)}"


def _list(rows: Sequence[_Row]) -> str:
    return "\n".join(f"- {row['tool']} for {row['customer']} [{row['ref']}]" for row in rows)


def _found(words: str, *, looked: Mapping[str, _Row]) -> _Move:
    if not words:
        return "Find what? Give me words, a name or an order number."
    if "find_threads" not in looked:
        return _Look("find_threads", {"words": words})
    rows = looked["find_threads"].get("threads", [])
    if not rows:
        return f"No thread has “{words}” in it."
    lines = "\n".join(f"- {row['customer']}: {row.get('found') or row['last_message']} [{row['ref']}]" for row in rows)
    return f"{'1 thread' if len(rows) == 1 else f'{len(rows)} threads'} with “{words}”:\n\n{lines}"


def _explain(words: str, *, looking_at: str, looked: Mapping[str, _Row]) -> _Move:
    if "show_request" in looked:
        return _explained(looked["show_request"])
    if looking_at.startswith("request:") and not _telling(words):
        return _Look("show_request", {"request": looking_at})
    if "list_requests" not in looked:
        return _LIST
    rows = _rows(looked)
    meant = _meant(rows, words, looking_at=looking_at)
    if len(meant) == 1:
        return _Look("show_request", {"request": meant[0]["ref"]})
    return WHICH + _list(rows) if rows else NOTHING_WAITS


def _telling(words: str) -> bool:
    return any(not _UNTELLING.fullmatch(word.lower()) for word in _WORD.findall(words))


def _explained(row: _Row) -> str:
    if error := row.get("error"):
        return str(error)
    said = [each["text"] for each in row["said"] if each["by"] == "customer"]
    lines = [f"**{row['tool']}** for {row['customer']}, with `{row['input']}`. [{row['ref']}]"]
    lines += [f"- The customer asked: “{_short(said[-1])}”"] if said else []
    lines += [] if row["customer_is_verified"] else ["- The customer is not verified."]
    lines += [f"- {warning}" for warning in row["warnings"] if warning != "The customer is not verified."]
    lines += [f"- The reviewer: {row['what_the_reviewer_said']}"] if row["what_the_reviewer_said"] else []
    before = len(row["asked_before_with"])
    if before:
        lines.append(f"- It was asked for {'once' if before == 1 else f'{before} times'} before for this customer.")
    return "\n".join(lines[:1] + [""] + lines[1:])


def _failing(looked: _Row) -> str:
    rows = looked.get("failing", [])
    if not rows:
        return f"No tool failed in the last {looked.get('days', 7)} days."
    lines = "\n".join(f"- {row['label']}: {row['failed']} of {row['of']}. {row['last_fault']}" for row in rows)
    return f"In the last {looked['days']} days:\n\n{lines}"


def _short(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= 200 else line[:199] + "…"


def _rows(looked: Mapping[str, _Row]) -> list[_Row]:
    rows: list[_Row] = looked["list_requests"].get("requests", [])
    return rows


def _data(result: Message) -> _Row:
    """What stands between the fences of a result."""
    try:
        value = json.loads("\n".join(result.text.split("\n")[1:-1]))
    except ValueError:
        return {"error": "That was too much to read."}
    return value if isinstance(value, dict) else {}
