"""What the model gets: instructions, tools, and the conversation as it stood when the turn began.

Never in it: notes, runs by hand (but for those that never reported back), the reviewer's reasons, a teammate's reason
to deny, subjects, secrets.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from agent import prompts, session_start, transcript
from agent.models.base import Message, ToolSpec
from agent.rows import Step, Turn
from agent.transcript import Part
from approvals.models import OPEN, State, ToolApproval
from conversations import attachments, lessons, threads
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock
from tools import offered, outcomes, schema
from tools.models import Starter, Tool, ToolRun

ITEMS: Final = 200
# The newest that the model sees; of older ones it is only told.
PICTURES: Final = 6


@dataclass(frozen=True, slots=True)
class Context:
    """`messages` up to the turn's own `steps`; `outcomes`: the requests they tell of, each with its state as told."""

    messages: list[Message]
    steps: list[Step]
    tools: list[Tool]
    specs: list[ToolSpec]
    outcomes: dict[str, str]

    @property
    def by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}


def build(turn: Turn) -> Context:
    """Read everything the turn starts from, in a constant number of statements, and note which version that is.

    The conversation is locked meanwhile: whatever comes later has a higher version and starts a turn of its own.
    """
    with transaction.atomic():
        conversation = threads.lock(turn.conversation_id)
        Turn.objects.filter(id=turn.id).update(seen=conversation.version)
        said = _said(conversation)
        since = min((part.at for part in said), default=0)
        ended, untold = _ended(conversation, turn)
        steps = _steps(conversation, since=since)
        own = steps.pop(turn.id, [])
        results = _results(conversation, steps, [*ended, *untold])
        turns = Turn.objects.filter(conversation=conversation, seen__gte=since).exclude(id=turn.id)
        parts = [*said, *_turns(turns, ended, steps, results), *_lost(conversation)]
        tools = offered.to_agent(conversation)
        started = session_start.messages(conversation)
        learned = [lesson.text for lesson in lessons.about(conversation.customer_id)]
    messages = [Message("system", prompts.system(conversation.workspace, conversation.customer, learned=learned))]
    messages += [*started, *transcript.in_order(parts)]
    messages += transcript.outcomes_of(untold, results)
    specs = [_spec(tool) for tool in tools]
    return Context(messages, own, tools, specs, {row.id: row.state for row in untold})


def so_far(turn: Turn, steps: Sequence[Step]) -> list[Message]:
    """The steps that the turn itself has made, with their results."""
    runs = ToolRun.objects.filter(workspace_id=turn.workspace_id, turn_id=turn.id).defer("raw")
    return transcript.steps_of(steps, {run.id: run for run in runs})


def _said(conversation: Conversation) -> list[Part]:
    """The newest messages of both sides."""
    said = [ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM]
    newest = list(conversation.items.filter(kind__in=said).order_by("-number")[:ITEMS])
    sent = (file for item in newest if item.kind == ItemKind.CUSTOMER for file in item.sent if file.is_picture)
    pictures = attachments.readings([file.id for file in sent][:PICTURES])
    return [transcript.said(item, pictures=pictures) for item in newest]


def _ended(conversation: Conversation, turn: Turn) -> tuple[list[ToolApproval], list[ToolApproval]]:
    """Requests that are over, whether or not that is written down yet, or that the reviewer left to the team: those
    told in earlier turns, and the others."""
    now = clock.now()
    rows = ToolApproval.objects.filter(conversation=conversation).order_by("requested_at")
    ended = [row for row in rows if row.state_at(now) not in OPEN or (row.state == State.PENDING and row.review)]
    untold = [row for row in ended if row.told_in_turn in {"", turn.id}]
    return [row for row in ended if row not in untold], untold


def _steps(conversation: Conversation, *, since: int) -> dict[str, list[Step]]:
    steps: dict[str, list[Step]] = defaultdict(list)
    for step in Step.objects.filter(turn__conversation=conversation, turn__seen__gte=since).order_by("id"):
        steps[step.turn_id].append(step)
    return steps


def _results(
    conversation: Conversation, steps: dict[str, list[Step]], approvals: Sequence[ToolApproval]
) -> dict[str, ToolRun]:
    ids = {call["run"] for made in steps.values() for step in made for call in step.calls}
    ids |= {row.id for row in approvals}
    rows = ToolRun.objects.filter(workspace_id=conversation.workspace_id, id__in=ids - {""})
    return {run.id: run for run in rows.defer("raw")}


def _turns(
    turns: Iterable[Turn], ended: Sequence[ToolApproval], steps: dict[str, list[Step]], results: dict[str, ToolRun]
) -> list[Part]:
    """What earlier turns were told and did, each at the version that it had read."""
    told: dict[str, list[ToolApproval]] = defaultdict(list)
    for row in ended:
        told[row.told_in_turn].append(row)
    return [
        transcript.turn(row, told=told.get(row.id, []), steps=steps.get(row.id, []), results=results) for row in turns
    ]


def _lost(conversation: Conversation) -> list[Part]:
    """Runs by hand that never reported back: the only ones that the agent hears of."""
    rows = ToolRun.objects.filter(
        workspace_id=conversation.workspace_id, conversation=conversation, code=outcomes.no_result().code,
        started_by__in=[Starter.TEAMMATE, Starter.API],
    ).defer("raw")  # fmt: skip
    lost = {run.id: run for run in rows}
    places = Item.objects.filter(conversation=conversation, kind=ItemKind.RUN, ref__in=list(lost)) if lost else []
    return [transcript.lost(lost[item.ref], at=item.version) for item in places]


def _spec(tool: Tool) -> ToolSpec:
    shown = schema.for_model(tool.input_schema)
    return ToolSpec(tool.name, prompts.describe(tool.description, tool.risk), shown)
