"""What the model gets: instructions, tools, and the conversation as it stood when the turn began.

Never in it: notes, runs by hand (but for those that never reported back), the reviewer's reasons, a teammate's reason
to deny, subjects, secrets.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from django.db.models import OuterRef

from agent import prompts, reading, session_start, transcript
from agent.models.base import Message, ToolSpec
from agent.reading import Rows
from agent.rows import Step, Turn
from agent.transcript import Part
from approvals.models import OPEN, State, ToolApproval
from conversations.models import Conversation
from median_site.lib import clock
from tools import schema


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` up to the turn's own `steps`; `outcomes`: the requests they tell of, each with its state as told.

    After these all this is to be read again: `session_start`, tools of the conversation's start that have not run, and
    `out`, calls of turns that were stopped while they were out.
    """

    messages: list[Message]
    steps: list[Step]
    specs: list[ToolSpec]
    outcomes: dict[str, str]
    session_start: bool
    out: list[str]


def build(held: Sequence[Turn], conversations: Mapping[str, Conversation]) -> list[Context]:
    """Read everything these turns start from, each in its locked conversation, and note which version that is.

    Whatever comes later has a higher version and starts a turn of its own. The statements do not grow with the turns.
    """
    version = Conversation.objects.filter(id=OuterRef("conversation")).values("version")
    Turn.objects.filter(id__in=[turn.id for turn in held]).update(seen=version)
    read = reading.read(list(conversations.values()))
    told = session_start.messages({id: (conversations[id], rows.session_start) for id, rows in read.items()})
    ids = [turn.conversation_id for turn in held]
    return [_context(turn, conversations[id], read[id], told[id]) for id, turn in zip(ids, held, strict=True)]


def _context(turn: Turn, conversation: Conversation, rows: Rows, started: Sequence[Message]) -> Context:
    ended, untold = _ended(rows.approvals, turn)
    earlier = [row for row in rows.turns if row.id != turn.id and row.seen is not None and row.seen >= rows.since]
    parts = [transcript.said(item, pictures=rows.pictures) for item in rows.said]
    parts += _turns(earlier, ended, rows)
    parts += [transcript.lost(rows.runs[item.ref], at=item.version) for item in rows.lost]
    own = {run_id for step in rows.steps.get(turn.id, ()) for run_id in step.run_ids}
    system = prompts.system(conversation.workspace, conversation.customer, learned=rows.lessons)
    return Context(
        messages=[
            Message("system", system),
            *started,
            *transcript.in_order(parts),
            *transcript.outcomes_of(untold, rows.runs),
        ],
        steps=list(rows.steps.get(turn.id, ())),
        specs=[_spec(tool.name, tool.description, tool.risk, tool.input_schema) for tool in rows.tools],
        outcomes={row.id: row.state for row in untold},
        session_start=turn.is_first and session_start.is_due(rows),
        out=[run.id for run in rows.runs.values() if run.is_turns_own and not run.is_over and run.id not in own],
    )


def _ended(approvals: Sequence[ToolApproval], turn: Turn) -> tuple[list[ToolApproval], list[ToolApproval]]:
    """Requests that are over, whether or not that is written down yet, or that the reviewer left to the team: those
    told in earlier turns, and the others."""
    now = clock.now()
    ended = [row for row in approvals if row.state_at(now) not in OPEN or (row.state == State.PENDING and row.review)]
    untold = [row for row in ended if row.told_in_turn in {"", turn.id}]
    return [row for row in ended if row not in untold], untold


def _turns(turns: Iterable[Turn], ended: Sequence[ToolApproval], rows: Rows) -> list[Part]:
    """What earlier turns were told and did, each at the version that it had read."""
    told: dict[str, list[ToolApproval]] = defaultdict(list)
    for row in ended:
        told[row.told_in_turn].append(row)
    return [
        transcript.turn(row, told=told.get(row.id, []), steps=rows.steps.get(row.id, []), results=rows.runs)
        for row in turns
    ]


@lru_cache(maxsize=512)
def _spec(name: str, description: str, risk: str, input_schema: str) -> ToolSpec:
    return ToolSpec(name, prompts.describe(description, risk), schema.for_model(input_schema))
