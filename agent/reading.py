"""The rows that turns read when they start, for many conversations at once: as many statements for fifty as for one,
but for the tools, which are read once for each workspace. What the model is told of them is agent.context's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from django.db.models import Q

from agent.rows import Step, Turn, TurnState
from approvals.models import ToolApproval
from conversations import attachments, lessons
from conversations.models import SAID, Conversation, Item, ItemKind
from tools import offered, outcomes
from tools.models import Starter, Tool, ToolRun

Row = TypeVar("Row", Item, Turn, ToolApproval)

NEWEST: Final = 200
# The newest of a conversation that the model sees; of older ones it is only told.
PICTURES: Final = 6
_BY_HAND: Final = [Starter.TEAMMATE, Starter.API]

_NEWEST_SAID: Final = """
select item.* from conversations_conversation c cross join lateral (
    select * from conversations_item
    where workspace_id = c.workspace_id and conversation_id = c.id and kind = any(%s) order by number desc limit %s
) item where c.id = any(%s)"""
_NEWEST_TURNS: Final = """
select turn.* from conversations_conversation c cross join lateral (
    select * from agent_turn
    where workspace_id = c.workspace_id and conversation_id = c.id order by queued_at desc limit %s
) turn where c.id = any(%s)"""


@dataclass(frozen=True, slots=True)
class Rows:
    """One conversation: the newest that was said, and what belongs to the time since; `since` is a version of it.

    `turns` and `said` are newest first, `steps` are by turn, `runs` by id. `lost` are the cards of runs by hand that
    never reported back. `pictures` are those that the model is to see, by their files' ids.
    """

    since: int
    said: Sequence[Item]
    pictures: Mapping[str, bytes]
    turns: Sequence[Turn]
    steps: Mapping[str, Sequence[Step]]
    approvals: Sequence[ToolApproval]
    runs: Mapping[str, ToolRun]
    lost: Sequence[Item]
    tools: Sequence[Tool]
    lessons: Sequence[str]

    @property
    def session_start(self) -> list[ToolRun]:
        """What ran when the conversation started, in its order."""
        started = [run for run in self.runs.values() if run.started_by == Starter.SESSION_START]
        return sorted(started, key=lambda run: (run.queued_at, run.tool_name))


def read(conversations: Sequence[Conversation]) -> dict[str, Rows]:
    """What stands in these conversations, by their ids. Locked, they stay so until the transaction ends."""
    ids = [conversation.id for conversation in conversations]
    said = _by_conversation(Item.objects.raw(_NEWEST_SAID, [SAID, NEWEST, ids]))
    turns = _by_conversation(Turn.objects.raw(_NEWEST_TURNS, [NEWEST, ids]))
    pictures = attachments.readings([id for items in said.values() for id in _pictures(items)])
    since = {id: min((item.number for item in said[id]), default=0) for id in ids}
    steps = _steps(turns, since)
    approvals = _by_conversation(ToolApproval.objects.filter(conversation__in=ids).order_by("requested_at"))
    runs = _runs(conversations, steps, approvals)
    lost = _lost(runs)
    tools = offered.to_agent_in(conversations)
    learned = lessons.about_each({conversation.customer_id for conversation in conversations})
    return {
        row.id: Rows(
            since=since[row.id],
            said=said[row.id],
            pictures=pictures,
            turns=turns[row.id],
            steps={turn.id: steps[turn.id] for turn in turns[row.id] if turn.id in steps},
            approvals=approvals[row.id],
            runs=runs[row.id],
            lost=lost[row.id],
            tools=tools[row.id],
            lessons=[lesson.text for lesson in learned.get(row.customer_id, ())],
        )
        for row in conversations
    }


def _by_conversation(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.conversation_id].append(row)
    return found


def _pictures(said: Iterable[Item]) -> list[str]:
    sent = (file for item in said if item.kind == ItemKind.CUSTOMER for file in item.sent if file.is_picture)
    return [file.id for file in sent][:PICTURES]


def _steps(turns: Mapping[str, Sequence[Turn]], since: Mapping[str, int]) -> dict[str, list[Step]]:
    """The steps of the turns that run or have seen what is read, by turn."""
    ids = [
        turn.id
        for id, rows in turns.items()
        for turn in rows
        if turn.state == TurnState.RUNNING or (turn.seen is not None and turn.seen >= since[id])
    ]
    found: dict[str, list[Step]] = defaultdict(list)
    for step in Step.objects.filter(turn__in=ids).order_by("number"):
        found[step.turn_id].append(step)
    return found


def _runs(
    conversations: Sequence[Conversation], steps: Mapping[str, Sequence[Step]],
    approvals: Mapping[str, Sequence[ToolApproval]],
) -> dict[str, dict[str, ToolRun]]:  # fmt: skip
    """The runs of these steps and requests, those of session start, and those by hand that never reported back."""
    ids = {run_id for made in steps.values() for step in made for run_id in step.run_ids}
    ids |= {row.id for rows in approvals.values() for row in rows}
    lost = Q(code=outcomes.no_result().code, started_by__in=_BY_HAND)
    rows = ToolRun.objects.filter(
        Q(id__in=ids) | Q(started_by=Starter.SESSION_START) | lost,
        workspace__in={row.workspace_id for row in conversations},
        conversation__in=[row.id for row in conversations],
    )
    found: dict[str, dict[str, ToolRun]] = defaultdict(dict)
    for run in rows.defer("raw"):
        found[run.conversation_id or ""][run.id] = run
    return found


def _lost(runs: Mapping[str, Mapping[str, ToolRun]]) -> dict[str, list[Item]]:
    lost = [
        run
        for rows in runs.values()
        for run in rows.values()
        if run.started_by in _BY_HAND and run.code == outcomes.no_result().code
    ]
    if not lost:
        return defaultdict(list)
    conversations = {run.conversation_id for run in lost if run.conversation_id}
    places = Item.objects.filter(conversation__in=conversations, kind=ItemKind.RUN, ref__in=[run.id for run in lost])
    return _by_conversation(places.order_by("number"))
