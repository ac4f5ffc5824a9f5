"""Plays the demo's threads into the database, through the functions that customers, the agent and the team use."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Final, cast

from django.db.models.functions import Now

from agent import context, steps, turns
from agent.models.base import Answer, ToolCall
from agent.models.demo import DemoModel
from agent.rows import Turn, TurnState
from approvals import decisions
from approvals.models import DECIDABLE, ExpiredBecause, Review, State, ToolApproval
from approvals.reviewer import review as reviewing
from approvals.reviewer.demo import DemoReviewer, answer
from approvals.reviewer.verdict import parse
from conversations import reading, threads
from conversations.models import Conversation, Customer
from median_site.demo import script
from median_site.demo.script import Beat, Call, Thread
from median_site.demo.shop import Shop
from median_site.lib import clock, ids, strict_json
from median_site.lib.actors import Actor
from median_site.lib.strict_json import Json
from team.models import Workspace
from tools import client, outcomes, runs
from tools.models import Starter, Tool, ToolRun
from tools.outcomes import Outcome

ANSWERED_IN: Final = timedelta(milliseconds=340)
DEADLINE: Final = timedelta(seconds=10)  # of a call that nobody answers
THINKING: Final = timedelta(seconds=5)


def play(workspace: Workspace, past: Iterable[Thread], *, team: Mapping[str, Actor], shop: Shop) -> None:
    """Write these threads down, inside the caller's transaction. `team` has the actor of every `by` in them.

    All beats go in the order of time, so that the log is in order too. No turn is left waiting: the agent must not
    answer what is long past.
    """
    now = clock.now()
    tools = {tool.name: tool for tool in Tool.objects.filter(workspace=workspace)}
    stages: dict[str, Stage] = {}
    beats = [(beat, thread) for thread in past for beat in thread.beats]
    for beat, thread in sorted(beats, key=lambda pair: -pair[0].ago):
        with clock.at(now - timedelta(minutes=beat.ago)):
            if thread.subject not in stages:
                stages[thread.subject] = Stage(workspace, thread, team=team, shop=shop, tools=tools)
            stages[thread.subject].play(beat)
    for stage in stages.values():
        stage.close()
    Turn.objects.filter(workspace=workspace, state=TurnState.QUEUED).delete()


class Stage:
    """One thread and whoever acts in it."""

    def __init__(
        self, workspace: Workspace, thread: Thread, *, team: Mapping[str, Actor], shop: Shop, tools: Mapping[str, Tool]
    ) -> None:
        self._thread, self._team, self._shop, self._tools = thread, team, shop, tools
        self._customer = Customer.objects.create(
            workspace=workspace, subject=thread.subject, verified=thread.verified, name=thread.name, email=thread.email
        )
        self._id = threads.start(self._customer, channel=thread.channel).id
        # Django stamps new rows itself, and not by our clock.
        Customer.objects.filter(id=self._customer.id).update(created_at=clock.now())
        Conversation.objects.filter(id=self._id).update(created_at=clock.now())

    def play(self, beat: Beat) -> None:
        """Do what the beat says, now."""
        match beat:
            case script.Writes(text=text):
                threads.customer_wrote(self._id, body=text, client_id=ids.new_id())
            case script.Answers(text=text, call=call):
                self._answer(text, call)
            case script.Approves(by=by, then=then, reply=reply):
                self._approve(self._team[by], then=then, reply=reply)
            case script.Reviewed(then=then, reply=reply):
                self._review(then=then, reply=reply)
            case script.Denies(by=by, reason=reason, then=then):
                with self._decidable(self._team[by]) as approval:
                    decisions.deny(approval.id, by=self._team[by], reason=reason)
                self._answer(then)
            case script.Expires():
                decisions.expire_all([self._waiting().id], because=ExpiredBecause.UNANSWERED)
            case script.Replies(by=by, text=text):
                threads.reply(self._id, by=self._team[by], body=text)
            case script.Notes(by=by, text=text):
                threads.note(self._id, by=self._team[by], body=text)
            case script.TakesOver(by=by):
                threads.take_over(self._id, by=self._team[by])
            case script.HandsBack(by=by):
                threads.hand_back(self._id, by=self._team[by])
            case script.Runs(by=by, call=call):
                self._run_by_hand(call, by=self._team[by])
            case script.Ends(by=by, to=to):
                with ExitStack() as still:
                    for approval in ToolApproval.objects.filter(conversation_id=self._id, state__in=DECIDABLE):
                        still.enter_context(self._timely(approval))
                    threads.end(self._id, by=self._team[by], to=to)

    def close(self) -> None:
        """Leave the thread read, where it is not to be unread."""
        if not self._thread.unread:
            for teammate in self._team.values():
                self._read(teammate)

    def _answer(self, text: str, call: Call | None = None, *, after: timedelta = timedelta()) -> None:
        """A turn as the agent process takes it, with the script in the model's place."""
        turn = self._claim()
        took = self._ask(turn, call) if call else after
        with clock.at(clock.now() + took + THINKING):
            self._say(turn, text)

    def _ask(self, turn: Turn, call: Call) -> timedelta:
        """Make the call in a step of the turn, and give how long it took: nothing when it waits for a decision."""
        asked = ToolCall("", call.tool, strict_json.dumps(dict(call.input)))
        answer = Answer("", (asked,), finish="tool_calls", model="script")
        [step] = steps.write([steps.Asked(turn, number=0, answer=answer)])
        run_id = step.calls[0]["run"] if step else ""
        return self._run(run_id, call) if run_id else timedelta()

    def _claim(self) -> Turn:
        """The turn that a message or an outcome has asked for; a claim of all waiting ones could take another's."""
        turn = Turn.objects.get(conversation_id=self._id, state=TurnState.QUEUED)
        turn.state, turn.claimed_by, turn.beat_at, turn.attempts = TurnState.RUNNING, "demo", clock.now(), 1
        turn.save(update_fields=["state", "claimed_by", "beat_at", "attempts"])
        return turn

    def _say(self, turn: Turn, text: str) -> None:
        conversation = threads.lock(self._id)
        [read] = context.build([turn], {conversation.id: conversation})
        threads.agent_replied(conversation, body=text, ref=turn.id, model=DemoModel.name)
        ToolApproval.objects.filter(id__in=read.outcomes).update(told_in_turn=turn.id)
        turns.end([turn], TurnState.DONE)

    def _approve(self, by: Actor, *, then: str, reply: script.Reply | None) -> None:
        with self._decidable(by) as approval:
            decisions.approve(approval.id, by=by)
        self._run_approved(approval, then=then, reply=reply)

    def _review(self, *, then: str, reply: script.Reply | None) -> None:
        """A review as the agent process does it, with the demo reviewer."""
        (review,) = Review.objects.filter(approval=self._waiting())
        with self._timely(self._waiting()) as approval:
            material, _ = reviewing.start(approval.id)
            if material:
                reviewing.conclude(review, parse(answer(material)), material, model=DemoReviewer.name)
        approval.refresh_from_db()
        if approval.state == State.EXECUTING:
            self._run_approved(approval, then=then, reply=reply)
        else:
            self._answer(then)

    def _run_approved(self, approval: ToolApproval, *, then: str, reply: script.Reply | None) -> None:
        sent = cast(dict[str, Json], strict_json.loads(approval.input))
        took = self._run(approval.id, Call(approval.tool_name, sent, reply))
        self._answer(then, after=took)

    @contextmanager
    def _decidable(self, by: Actor) -> Iterator[ToolApproval]:
        """The waiting request, read by the one who decides it."""
        self._read(by)
        with self._timely(self._waiting()) as approval:
            yield approval

    @contextmanager
    def _timely(self, approval: ToolApproval) -> Iterator[ToolApproval]:
        """Deadlines are the database's clock's, which knows of no made-up past: while it is decided, an old request is
        new."""
        row = ToolApproval.objects.filter(id=approval.id)
        row.update(requested_at=Now(), expires_at=Now() + decisions.LIFETIME)
        yield approval
        row.update(requested_at=approval.requested_at, expires_at=approval.expires_at)

    def _waiting(self) -> ToolApproval:
        return ToolApproval.objects.get(conversation_id=self._id, state__in=DECIDABLE)

    def _run_by_hand(self, call: Call, *, by: Actor) -> None:
        run = runs.queue(
            threads.lock(self._id), self._tools[call.tool], input_text=strict_json.dumps(dict(call.input)),
            started_by=Starter.TEAMMATE, by=by,
        )  # fmt: skip
        self._run(run.id, call)

    def _run(self, run_id: str, call: Call) -> timedelta:
        """Take a queued call through its life, with the shop's answer and no request. Gives how long it took."""
        runs.begin(run_id)
        run = ToolRun.objects.get(id=run_id)
        reply = self._shop.reply(call, customer=self._customer, approved_by=run.approver_name)
        took = DEADLINE if reply.status is None else ANSWERED_IN
        with clock.at(clock.now() + took):
            runs.finish(run_id, _outcome(reply, elapsed_s=took.total_seconds()))
            if reply.status == HTTPStatus.OK:
                runs.write_up(run_id)
        return took

    def _read(self, by: Actor) -> None:
        version = Conversation.objects.values_list("version", flat=True).get(id=self._id)
        reading.mark_read(self._id, by=by, number=version)


def _outcome(reply: script.Reply, *, elapsed_s: float) -> Outcome:
    answer: client.Answer | client.Failure
    if reply.status is None:
        answer = client.Failure(kind="timed_out", status=None, detail="", sent=True, elapsed_s=elapsed_s)
    else:
        text = strict_json.dumps(reply.body)
        answer = client.Answer(
            status=reply.status,
            headers={"content-type": "application/json"},
            body=text.encode(),
            text=text,
            replaced=False,
            truncated=False,
            elapsed_s=elapsed_s,
        )
    return outcomes.from_answer(answer, kind="manifest")
