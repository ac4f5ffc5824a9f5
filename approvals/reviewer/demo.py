"""The reviewer of an installation without a model: it believes everything and quotes what sounds best.

So whatever it approves, the gate alone has let through. That makes it the measure of the gate, too.
"""

import json
from typing import Final

from approvals.reviewer.material import Material
from approvals.reviewer.named import read
from approvals.reviewer.verdict import QUESTIONS

REASON: Final = "The customer said yes to exactly this."


class DemoReviewer:
    """Always approves; see the module."""

    name = "Demo reviewer"

    async def read(self, material: Material, *, wrong: str = "", deadline_s: float = 0) -> str:
        """Answer at once; never raises."""
        return answer(material)


def answer(material: Material) -> str:
    """An approval, with the most plausible words there are for each question."""
    quotes = {
        "said_yes": next(iter(material.answer), ""),
        "as_discussed": material.question.text if material.question else "",
        "own_account": _shown(material),
    }
    findings = {name: {"holds": True, "quote": quotes.get(name, "")} for name in QUESTIONS}
    return json.dumps({"verdict": "approve", "reason": REASON, "findings": findings})


def _shown(material: Material) -> str:
    names = read(material).names
    texts = [text for call in material.look_ups for text in (call.input, call.result)]
    return next((text for text in texts if any(name in text for name in names)), "")
