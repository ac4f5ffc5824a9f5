"""The state of a run, and the only place that moves it: queued → running → completed or failed.

A call may leave only after `begin` gave True, which happens once in a run's life. What is running when its process
dies is never sent again: the hourly check fails it.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final, cast

from django.db import transaction
from django.db.models import Q, QuerySet
from psycopg.types.json import Jsonb

from conversations import bulk, threads
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock, ids, live, strict_json
from median_site.lib.actors import Actor, system
from median_site.lib.statement import Statement, among, fetch
from median_site.lib.strict_json import Json
from team import events
from team.events import Entry, Kind
from tools import outcomes, signals, writeups
from tools.models import OWN, RunState, Starter, Tool, ToolRun
from tools.outcomes import Outcome
from tools.writeups import WriteUp

logger = logging.getLogger(__name__)

# A turn sends its own calls at once; whatever still waits after this was left behind by a process that died.
LEFT_BEHIND: Final = timedelta(seconds=10)
STUCK: Final = timedelta(minutes=10)
STUCK_AT_ONCE: Final = 1_000

_BEGIN: Final = """
    update tools_toolrun set state = 'running', started_at = %s where state = 'queued' and id in (
        select id from tools_toolrun where id {} and state = 'queued' order by id for no key update skip locked
    ) returning id
"""


def queue(
    conversation: Conversation,
    tool: Tool,
    *,
    input_text: str,
    started_by: Starter,
    by: Actor | None = None,
    turn_id: str = "",
    approval: dict[str, Json] | None = None,
    client_id: str = "",
) -> ToolRun:
    """Write down a call that is to leave, in a locked conversation. `input_text` is the exact JSON that leaves.

    An approved call has its card already; any other gets a place in the thread.
    """
    run = ToolRun.objects.create(
        workspace_id=conversation.workspace_id, id=ids.call_id(), conversation=conversation,
        tool_id=tool.id, endpoint_id=tool.served_by, tool_name=tool.name, tool_label=tool.label, risk=tool.risk,
        input=input_text, started_by=started_by, by_id=by.id if by else "", by_name=by.name if by else "",
        approval=approval, turn_id=turn_id, client_id=client_id, queued_at=clock.now(),
    )  # fmt: skip
    if not approval:
        threads.add(conversation, kind=ItemKind.RUN, by=by, ref=run.id)
    live.wake("agent")
    return run


def queue_own(runs: Sequence[ToolRun]) -> None:
    """Write down unsaved calls of turns, in as many locked conversations, in a few statements for all. Each gets a
    place in its thread; its turn sends it, so that nobody else needs to wake."""
    if runs:
        ToolRun.objects.bulk_create(runs)
        places = [
            Item(
                workspace_id=run.workspace_id, conversation_id=run.conversation_id or "", kind=ItemKind.RUN, ref=run.id,
                author_id=run.by_id, author_name=run.by_name, created_at=run.queued_at,
            )
            for run in runs
        ]  # fmt: skip
        bulk.add(places, unread=())


def queue_approved(*, by: Actor, to: Statement) -> None:
    """Have a statement write down the call of each request in its part `moved`, in the name of `by`."""
    approval = {"kind": by.kind.value, "name": by.approver_name, "at": int(clock.now().timestamp())}
    run = ToolRun(started_by=Starter.AGENT.value, approval=approval, queued_at=clock.now())
    asked = ("workspace_id", "id", "conversation_id", "tool_id", "endpoint_id", "tool_name", "tool_label", "risk")
    columns = {name: f"moved.{name}" for name in (*asked, "input", "turn_id")}
    to.insert("queued", run, source="moved", **columns)
    to.ring(live.wakes("agent", source="moved"))


def begin_test(tool: Tool, *, call_id: str, by: Actor, input_text: str, tested_as: str, tested_in: str) -> ToolRun:
    """Write down a test that leaves now, from this process: it stands in no thread and in no queue."""
    return ToolRun.objects.create(
        workspace_id=tool.workspace_id,
        id=call_id,
        tool=tool,
        endpoint_id=tool.served_by,
        tool_name=tool.name,
        tool_label=tool.label,
        risk=tool.risk,
        input=input_text,
        started_by=Starter.TEST,
        by_id=by.id,
        by_name=by.name,
        tested_as=tested_as,
        tested_in=tested_in,
        state=RunState.RUNNING,
        queued_at=clock.now(),
        started_at=clock.now(),
    )


def waiting_to_leave() -> QuerySet[ToolRun]:
    """Queued runs that any agent process may take: approved and by hand at once, a turn's own once left behind."""
    own_turns = Q(started_by__in=OWN, approval=None)
    left_behind = Q(queued_at__lt=clock.now() - LEFT_BEHIND)
    return ToolRun.objects.filter(~own_turns | left_behind, state=RunState.QUEUED).order_by("queued_at")


def begin(call_id: str) -> bool:
    """Claim the right to send this call, once in its life: True for exactly one caller."""
    return bool(begin_all([call_id]))


def begin_all(call_ids: Collection[str]) -> set[str]:
    """The same for many, in one statement that waits for nobody. Gives those that the caller may send."""
    if not call_ids:
        return set()
    among_them, value = among(call_ids)
    return {str(id) for (id,) in fetch(_BEGIN.format(among_them), clock.now(), value)}


def finish(call_id: str, outcome: Outcome, *, run: ToolRun | None = None) -> bool:
    """Record what came back of a running call. False when it is over already: the first outcome stands.

    `run` is its row, however old, where the caller has it.
    """
    return bool(_end([(run or ToolRun.objects.get(id=call_id), outcome)], was=RunState.RUNNING))


def finish_all(over: Sequence[tuple[ToolRun, Outcome]]) -> list[bool]:
    """The same for many at once, in one transaction; those of which the log says the same are one statement."""
    alike: dict[tuple[object, ...], list[tuple[ToolRun, Outcome]]] = defaultdict(list)
    for run, outcome in over:
        entry = _entry(run, outcome)
        alike[entry.kind, entry.by, strict_json.dumps(entry.data), bool(run.approval)].append((run, outcome))
    if len(alike) == 1:
        ended = _end(over, was=RunState.RUNNING)
    else:
        with transaction.atomic():
            bulk.lock(run.conversation_id for run, _ in over if run.conversation_id)
            ended = set[str]().union(*(_end(these, was=RunState.RUNNING) for these in alike.values()))
    return [run.id in ended for run, _ in over]


def refuse(call_id: str, outcome: Outcome, *, run: ToolRun | None = None) -> bool:
    """End a queued call that must not leave. False when it has left or is over. `run` as in `finish`."""
    return bool(_end([(run or ToolRun.objects.get(id=call_id), outcome)], was=RunState.QUEUED))


def fail_stuck() -> int:
    """Fail calls that have run for ten minutes without reporting back, a bounded number at a time. Gives how many."""
    stuck = ToolRun.objects.filter(state=RunState.RUNNING, started_at__lte=clock.now() - STUCK).order_by("started_at")
    failed = 0
    for run in stuck[:STUCK_AT_ONCE]:
        try:
            failed += len(_end([(run, outcomes.no_result(kind=run.kind))], was=RunState.RUNNING, stuck=True))
        except Exception:  # one row that cannot be ended must not keep the others from it
            logger.exception("The stuck run %s could not be failed", run.id)
    return failed


def write_up(call_id: str) -> None:
    """Keep the deterministic headline and rows of a completed run, once."""
    write_up_all([(ToolRun.objects.get(id=call_id), None)])


def write_up_all(written: Sequence[tuple[ToolRun, WriteUp | None]]) -> None:
    """Keep the headlines and rows of these completed runs, each once, in one statement. None: the deterministic ones.

    Of a run what it asked and what came back is read, which never changes.
    """
    made = [
        each or writeups.write_up(label=run.tool_label, result=outcomes.stored_result(run.raw), refusal=run.refusal)
        for run, each in written
    ]
    statement = Statement()
    statement.add(
        "moved",
        "update tools_toolrun r set headline = made.headline, rows = made.rows"
        " from unnest(%s::text[], %s::text[], %s::jsonb[]) made (id, headline, rows)"
        " where r.id = made.id and r.state = 'completed' and r.headline = ''"
        " returning r.workspace_id, r.conversation_id, r.id, r.tool_label as label,"
        " case when r.approval is null then %s else %s end as card",
        [run.id for run, _ in written], [each.headline for each in made], [Jsonb(each.as_json()) for each in made],
        ItemKind.RUN.value, ItemKind.APPROVAL.value,
    )  # fmt: skip
    bulk.advance(to=statement)
    these, value = among({run.conversation_id or "" for run, _ in written})
    statement.run(lock=bulk.LOCK.format(these), values=[value], give="count(*) from moved")


def unwritten() -> QuerySet[ToolRun]:
    """Completed runs that have no headline yet, oldest first."""
    return ToolRun.objects.filter(state=RunState.COMPLETED, headline="").order_by("ended_at")


def _end(over: Sequence[tuple[ToolRun, Outcome]], *, was: RunState, stuck: bool = False) -> set[str]:
    """Runs of which the log says the same, their rows of the log, their cards and what comes of it: one statement. Of a
    run only its request is read. Gives those that ended in it."""
    run, outcome = over[0]
    statement = Statement()
    _add_move(over, was=was, to=statement)
    signals.run_ended.send(sender=ToolRun, run=run, failed=outcome.state == "failed", stuck=stuck, statement=statement)
    events.add(_entry(run, outcome, stuck=stuck), to=statement)
    bulk.advance(to=statement)
    statement.ring(live.wakes("agent", source="moved"))
    these, value = among({run.conversation_id or "" for run, _ in over})
    ((ended,),) = statement.run(lock=bulk.LOCK.format(these), values=[value], give="array_agg(moved.id) from moved")
    return set(cast(list[str], ended or ()))


def _add_move(over: Sequence[tuple[ToolRun, Outcome]], *, was: RunState, to: Statement) -> None:
    """The conditional update that ends the runs: the first outcome stands."""
    run, outcome = over[0]
    columns = {
        "id": ("text", [run.id for run, _ in over]),
        "error": ("text", [outcome.sentence for _, outcome in over]),
        "detail": ("text", [outcome.detail for _, outcome in over]),
        "refusal": ("jsonb", [Jsonb(outcome.refusal.as_json()) if outcome.refusal else None for _, outcome in over]),
        "raw": ("text", [outcome.raw_text for _, outcome in over]),
        "raw_flags": ("jsonb", [Jsonb(outcome.raw_flags) for _, outcome in over]),
        "for_model": ("text", [strict_json.dumps(outcome.for_model) for _, outcome in over]),
    }
    # One text for any number of runs, whose plan is kept.
    to.add(
        "moved",
        "update tools_toolrun r set state = %s, ended_at = %s, code = %s, http_status = %s,"  # noqa: S608  # named above
        f" {', '.join(f'{name} = over.{name}' for name in columns if name != 'id')}"
        f" from unnest({', '.join(f'%s::{kind}[]' for kind, _ in columns.values())}) over ({', '.join(columns)})"
        " where r.id = over.id and r.state = %s returning r.workspace_id, r.conversation_id, r.id, r.tool_name,"
        " r.tool_label as label, %s as card, '{}'::jsonb as data",
        outcome.state, clock.now(), outcome.code, outcome.http_status, *(values for _, values in columns.values()),
        was.value, (ItemKind.APPROVAL if run.approval else ItemKind.RUN).value,
    )  # fmt: skip


def _entry(run: ToolRun, outcome: Outcome, *, stuck: bool = False) -> Entry:
    ended = Kind.RUN_COMPLETED if outcome.state == "completed" else Kind.RUN_FAILED
    data: dict[str, Json] = {
        "label": run.tool_label, "risk": run.risk, "code": outcome.code, "started_by": run.started_by,
    }  # fmt: skip
    if run.started_by == Starter.TEST:
        data["by"] = run.by_name
    if outcome.http_status:
        data["http_status"] = outcome.http_status
    if outcome.refusal:
        data["refused"] = outcome.refusal.reason
    by = system(run.workspace_id) if stuck else run.starter
    return Entry(kind=Kind.RUN_STUCK if stuck else ended, by=by, data=data)
