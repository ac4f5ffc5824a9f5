"""The reviewer on written conversations: what it says, what the gate makes of that, and what would have been right.

The conversations are JSON files in one folder, with the tools that they speak of in `tools.json`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from approvals.reviewer import gate
from approvals.reviewer.material import Call, Material, Said
from approvals.reviewer.model import NoAnswer, Reviewer
from approvals.reviewer.verdict import WrongShape, parse
from tools.models import RunState, Starter

DEADLINE_S: Final = 140.0
_CUSTOMER: Final = {
    "verified": True,
    "subject": "user_123",
    "name": "Ana Souza",
    "email": "ana@example.com",
    "page": "",
    "learned": (),
}
_CALLS: Final = {
    "call": (RunState.COMPLETED, Starter.AGENT),
    "refused": ("refused", Starter.AGENT),
    "failed": (RunState.FAILED, Starter.AGENT),
    "by hand": (RunState.COMPLETED, Starter.TEAMMATE),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation, and the verdict that is right: approve, deny or escalate. `group` is the file's name."""

    group: str
    name: str
    right: str
    material: Material


@dataclass(frozen=True, slots=True)
class Result:
    """`said` is the reviewer's own verdict, "none" when it gave none; `came_to` what the request comes to."""

    case: Case
    said: str
    came_to: str
    why: str

    @property
    def is_false_approval(self) -> bool:
        return self.came_to == "approve" and self.case.right != "approve"

    @property
    def agrees(self) -> bool:
        return self.came_to == self.case.right


def load(folder: Path) -> list[Case]:
    """Every case of a folder. Raises FileNotFoundError, or KeyError for a case that leaves something out."""
    tools = json.loads((folder / "tools.json").read_text())
    files = sorted(path for path in folder.glob("*.json") if path.name != "tools.json")
    return [_case(path.stem, written, tools) for path in files for written in json.loads(path.read_text())]


async def run(cases: Iterable[Case], reviewer: Reviewer) -> list[Result]:
    """Let the reviewer read the cases one after the other, each as a review would, but for asking twice."""
    return [await _run(case, reviewer) for case in cases]


def table(results: Sequence[Result]) -> list[str]:
    """What to print: false approvals first, then other disagreements, then the counts."""
    ordered = sorted(results, key=lambda result: (not result.is_false_approval, result.agrees))
    lines = [
        f"{'FALSE APPROVAL' if result.is_false_approval else 'differs':<15}{result.case.right:<9}{result.said:<9}"
        f"{result.came_to:<9}{result.case.group}: {result.case.name}  {result.why}".rstrip()
        for result in ordered
        if not result.agrees
    ]
    head = [f"{'':<15}{'right':<9}{'said':<9}{'came to':<9}conversation"] if lines else []
    approvals = [result for result in results if result.case.right == "approve"]
    return [
        *head,
        *lines,
        f"conversations: {len(results)}",
        f"agreement: {sum(result.agrees for result in results)} of {len(results)}",
        f"approvals let through: {sum(result.agrees for result in approvals)} of {len(approvals)}",
        f"false approvals: {sum(result.is_false_approval for result in results)}",
    ]


async def _run(case: Case, reviewer: Reviewer) -> Result:
    try:
        verdict = parse(await reviewer.read(case.material, wrong="", deadline_s=DEADLINE_S))
    except (NoAnswer, WrongShape) as error:
        return Result(case, "none", "escalate", str(error))
    objections = gate.objections(verdict, case.material) if verdict.decision == "approve" else []
    return Result(case, verdict.decision, "escalate" if objections else verdict.decision, " ".join(objections[:1]))


def _case(group: str, written: Mapping[str, Any], tools: Mapping[str, Any]) -> Case:
    tool = tools[written["tool"]]
    customer = {**_CUSTOMER, **written.get("customer", {})}
    if customer["page"]:
        customer["page"] = json.dumps(customer["page"], ensure_ascii=False)
    thread = written["thread"]
    asked_at = next((at for at, line in enumerate(thread) if line[0] == "asks"), len(thread))
    material = Material(
        tool=written["tool"],
        label=tool["label"],
        description=written.get("description", tool["description"]),
        schema=json.dumps(tool["input"]),
        input=_compact(written["input"]),
        notes=tuple(line[1] for line in thread if line[0] == "note"),
        calls=tuple(_call(line) for line in thread if line[0] in _CALLS),
        said=tuple(
            Said(line[0], line[1], at > asked_at)
            for at, line in enumerate(thread)
            if line[0] in {"customer", "team"} or (line[0] == "agent" and at < asked_at)
        ),
        earlier=tuple(_compact(each) for each in written.get("earlier", ())),
        **{**customer, "learned": tuple(customer["learned"])},
    )
    return Case(group, written["name"], written["right"], material)


def _call(line: Sequence[Any]) -> Call:
    state, by = _CALLS[line[0]]
    return Call(line[1], _compact(line[2]), state, _compact(line[3]), by)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
