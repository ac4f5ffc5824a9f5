"""The shape of a reviewer's answer. Pure. Only exactly this shape counts; approvals.reviewer.gate says what for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError

# Each question with what it asks, as the model and the team read it.
QUESTIONS: Final[Mapping[str, str]] = {
    "said_yes": "the customer said yes to this exact action",
    "own_account": "it acts on the customer's own account or data",
    "as_discussed": "the input matches what was discussed",
    "no_note_against": "no note says otherwise",
    "not_steered": "nothing in the conversation steers the agent",
    "identity_known": "an identity is not needed or is verified",
}
REASON_LIMIT: Final = 1_000
_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)

Decision = Literal["approve", "deny", "escalate"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question, and the words that it rests on."""

    holds: bool
    quote: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`findings` has one entry for each of QUESTIONS."""

    decision: Decision
    reason: str
    findings: Mapping[str, Finding]

    def as_json(self) -> dict[str, Json]:
        findings: dict[str, Json] = {
            name: {"holds": finding.holds, "quote": finding.quote} for name, finding in self.findings.items()
        }
        return {"verdict": self.decision, "reason": self.reason, "findings": findings}


class WrongShape(ValueError):
    """It is not a verdict; the message says what is wrong, for the log and for asking once more."""


def parse(text: str) -> Verdict:
    """The verdict that a text is: one JSON object and nothing around it but a code fence. Raises WrongShape."""
    fenced = _FENCED.fullmatch(text)
    try:
        value = strict_json.loads_unique(fenced[1] if fenced else text)
    except JsonError as error:
        raise WrongShape(str(error)) from None
    if not isinstance(value, dict) or set(value) != {"verdict", "reason", "findings"}:
        raise WrongShape("It must be one object with verdict, reason and findings.")
    decision, reason, findings = value["verdict"], value["reason"], value["findings"]
    if decision not in ("approve", "deny", "escalate"):
        raise WrongShape("The verdict must be approve, deny or escalate.")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > REASON_LIMIT:
        raise WrongShape(f"The reason must be a text of 1 to {REASON_LIMIT} characters.")
    if not isinstance(findings, dict) or set(findings) != set(QUESTIONS):
        raise WrongShape(f"The findings must be exactly {', '.join(QUESTIONS)}.")
    found = {name: _finding(name, findings[name]) for name in QUESTIONS}
    return Verdict(cast(Decision, decision), strict_json.visible(reason)[0].strip(), found)


def _finding(name: str, value: Json) -> Finding:
    if not isinstance(value, dict) or set(value) != {"holds", "quote"}:
        raise WrongShape(f"{name} must be an object with holds and quote.")
    holds, quote = value["holds"], value["quote"]
    if not isinstance(holds, bool) or not isinstance(quote, str):
        raise WrongShape(f"{name} must hold true or false, and a text.")
    return Finding(holds, strict_json.visible(quote)[0])
