"""The rows of the queue of turns: asking for one, claiming one, keeping a claim alive, ending one.

At most one turn runs and one waits in a conversation; two constraints hold that under any interleaving.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from agent.rows import Turn, TurnState
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Conversation, ItemKind
from median_site.lib import clock, live
from median_site.lib.statement import Statement
from team import events
from team.events import Kind

# A process says that it lives every BEAT; a turn whose process was silent for SILENT is taken up by another.
BEAT: Final = timedelta(seconds=2)
SILENT: Final = timedelta(seconds=8)
ATTEMPTS: Final = 5

_BEAT: Final = """
    update agent_turn set beat_at = %s where id in (
        select id from agent_turn where id = any(%s) and state = 'running' and claimed_by = %s
           for no key update skip locked
    )
"""


def ask(conversation: Conversation, *, because: str) -> None:
    """Ask for a turn in a locked conversation, if the agent has it and it is open. One that waits already is enough."""
    if not _has_it(conversation):
        return
    # Lines are added to a copy of the row, so this one may be behind.
    needs = Conversation.objects.values_list("version", flat=True).get(id=conversation.id)
    if not Turn.objects.filter(conversation=conversation, state=TurnState.QUEUED).update(needs=needs):
        Turn.objects.create(
            workspace_id=conversation.workspace_id, conversation=conversation, because=because, needs=needs,
            queued_at=clock.now(),
        )  # fmt: skip
    # The widget shows that an answer is coming.
    live.changed("thread", workspace_id=conversation.workspace_id, id=conversation.id, version=conversation.version)
    live.wake("agent")


def add(because: str, *, source: str, to: Statement) -> None:
    """Have a statement ask for a turn in each conversation of `source` that the agent has."""
    theirs = f"id in (select conversation_id from {source})"  # noqa: S608
    asking = f"advanced where status = 'open' and handler = 'agent' and {theirs}"
    waiting = "select from agent_turn t where t.conversation_id = advanced.id and t.state = 'queued'"
    to.add(
        "needed",
        f"update agent_turn t set needs = asking.version from (select * from {asking}) asking"  # noqa: S608
        " where t.conversation_id = asking.id and t.state = 'queued'",
    )
    turn = Turn(because=because, queued_at=clock.now())
    columns = {
        "id": "replace(gen_random_uuid()::text, '-', '')",  # as ids.turn_id, one for each
        "workspace_id": "advanced.workspace_id",
        "conversation_id": "advanced.id",
        "needs": "advanced.version",
    }
    to.insert("turn", turn, source=f"{asking} and not exists ({waiting})", **columns)
    to.ring(live.wakes("agent", source=source))


def stop(conversation: Conversation) -> None:
    """A locked conversation was taken over or ended: what runs ends before its next step, what waits does not start."""
    going = Turn.objects.filter(conversation=conversation, state__in=[TurnState.QUEUED, TurnState.RUNNING])
    going.update(state=TurnState.STOPPED, ended_at=clock.now())


def resume(conversation: Conversation) -> None:
    """A locked conversation was handed back, or opened again: an agent that has it tells the outcomes that came since,
    and answers a customer whom nobody has answered."""
    if _untold().filter(conversation=conversation).exists() or _owes_an_answer(conversation):
        ask(conversation, because="handed_back")


def claim(process: str, *, limit: int, holding: Collection[str] = ()) -> list[Turn]:
    """Take up to `limit` turns: those left behind by a silent process first, then the oldest that wait.

    Any number of processes may claim at once; each turn goes to one. `holding` are the ids that this process works on,
    however late its signs of life come.
    """
    with transaction.atomic():
        silent = _left_behind()[: limit + len(holding)]
        left = [turn for turn in silent if turn.id not in holding][:limit]
        taken = left + list(_waiting()[: limit - len(left)])
        _take(taken, process)
    return taken


def beat(process: str, turn_ids: list[str]) -> None:
    """Say that `process` still works on these turns. One that a transaction holds right now needs no sign of life."""
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, [clock.now(), turn_ids, process])


def give_back(process: str) -> None:
    """A process that ends in good order leaves its turns to the others at once; that is no failed attempt."""
    with transaction.atomic():
        mine = Turn.objects.filter(state=TurnState.RUNNING, claimed_by=process)
        mine.update(beat_at=clock.now() - SILENT, attempts=F("attempts") - 1)
        live.wake("agent")


def begin(held: Sequence[Turn], conversations: Mapping[str, Conversation]) -> list[Turn]:
    """Those of these claimed turns that have something to do in their locked conversations; the others end here.

    A turn that ended with words has seen a version of the conversation: whatever asked for this one by then has been
    answered, unless it is an outcome that was not told.
    """
    going = go_on(held, conversations)
    ended = Turn.objects.filter(conversation=OuterRef("conversation"), state__in=[TurnState.DONE, TurnState.FAILED])
    answered = ended.filter(seen__gte=OuterRef("needs"))
    rows = Turn.objects.filter(Exists(answered), ~Exists(_untold().filter(conversation=OuterRef("conversation"))))
    idle = set(rows.filter(id__in=[turn.id for turn in going]).values_list("id", flat=True))
    end([turn for turn in going if turn.id in idle], TurnState.DONE)
    return [turn for turn in going if turn.id not in idle]


def may_go_on(turn: Turn, conversation: Conversation) -> bool:
    """Whether a turn may take its next step in this locked conversation; if not, it is stopped here."""
    return bool(go_on([turn], {conversation.id: conversation}))


def go_on(held: Sequence[Turn], conversations: Mapping[str, Conversation]) -> list[Turn]:
    """Those of these turns that may take their next step in their locked conversations; the others are stopped here.

    A claim stands no more when somebody has taken the turn up since, or it has ended. Until the transaction ends,
    nobody can take up those given here.
    """
    running = Turn.objects.filter(id__in=[turn.id for turn in held], state=TurnState.RUNNING).order_by("id")
    claims = set(running.select_for_update(no_key=True).values_list("id", "claimed_by", "attempts"))
    mine = [turn for turn in held if (turn.id, turn.claimed_by, turn.attempts) in claims]
    end([turn for turn in mine if not _has_it(conversations[turn.conversation_id])], TurnState.STOPPED)
    return [turn for turn in mine if _has_it(conversations[turn.conversation_id])]


def end(held: Sequence[Turn], state: TurnState, *, error: str = "") -> None:
    """End turns that may go on: that was asked for in this transaction."""
    if held:
        rows = Turn.objects.filter(id__in=[turn.id for turn in held], state=TurnState.RUNNING)
        rows.update(state=state, ended_at=clock.now(), error=error[:500])
        conversations = [turn.conversation_id for turn in held]
        if Turn.objects.filter(conversation__in=conversations, state=TurnState.QUEUED).exists():
            live.wake("agent")


def fail(turn: Turn, *, reason: str, apology: str) -> None:
    """The agent cannot answer: tell the customer that a person will, and the team why."""
    with transaction.atomic():
        conversation = threads.lock(turn.conversation_id)
        if not may_go_on(turn, conversation):
            return
        agent = threads.agent_actor(conversation)
        threads.agent_replied(conversation, body=apology, ref=turn.id)
        events.record(
            Kind.TURN_FAILED, by=agent, conversation_id=conversation.id, subject_id=turn.id, data={"reason": reason}
        )
        end([turn], TurnState.FAILED, error=reason)


def _has_it(conversation: Conversation) -> bool:
    return conversation.is_open and conversation.agent_has_it


def _untold() -> QuerySet[ToolApproval]:
    """Requests of which the customer should hear and has not: how they ended, or that the reviewer left them to the
    team. Expiry is no reason to speak up."""
    ended = Q(state__in=[State.COMPLETED, State.FAILED, State.DENIED])
    left_to_team = Q(state=State.PENDING) & ~Q(review="")
    return ToolApproval.objects.filter(ended | left_to_team, told_in_turn="")


def _owes_an_answer(conversation: Conversation) -> bool:
    """Whether the last word in the thread is the customer's."""
    said = conversation.items.filter(kind__in=[ItemKind.CUSTOMER, ItemKind.TEAM, ItemKind.AGENT])
    return said.order_by("-number").values_list("kind", flat=True).first() == ItemKind.CUSTOMER


def _left_behind() -> QuerySet[Turn]:
    silent = Turn.objects.filter(state=TurnState.RUNNING, beat_at__lt=clock.now() - SILENT)
    return silent.order_by("beat_at").select_for_update(skip_locked=True)


def _waiting() -> QuerySet[Turn]:
    running = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.RUNNING)
    queued = Turn.objects.filter(~Exists(running), state=TurnState.QUEUED)
    return queued.order_by("queued_at").select_for_update(skip_locked=True)


def _take(taken: list[Turn], process: str) -> None:
    now = clock.now()
    rows = Turn.objects.filter(id__in=[turn.id for turn in taken])
    rows.update(state=TurnState.RUNNING, claimed_by=process, beat_at=now, attempts=F("attempts") + 1)
    done = Turn.objects.filter(conversation__in=[turn.conversation_id for turn in taken], state=TurnState.DONE)
    answered = set(done.values_list("conversation", flat=True).distinct())
    for turn in taken:
        turn.state, turn.claimed_by, turn.beat_at = TurnState.RUNNING, process, now
        turn.attempts += 1
        turn.is_first = turn.conversation_id not in answered
