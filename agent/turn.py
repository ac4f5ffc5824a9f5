"""One turn, from its claim to the agent's answer. It may be killed on any line and run again from its rows."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final, Literal

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from agent import budget, context, session_start, steps, turns
from agent.models.base import Answer, Message, Model, ModelError
from agent.rows import Step, Turn, TurnState
from approvals.models import ToolApproval
from conversations import threads
from conversations.models import ItemKind
from median_site.lib import clock
from median_site.lib.db import in_thread
from tools import calls, sync
from tools.models import RunState, ToolRun

logger = logging.getLogger(__name__)

# Another process may have taken up a call that was left behind; it is polled for until no call can still be out.
LONGEST_CALL: Final = timedelta(seconds=11)
POLL_S: Final = 0.2

PERSON_WILL_ANSWER: Final = "I’m sorry, I can’t answer this right now. A person from the team will reply to you here."
COULD_NOT_DO_IT: Final = "I’m sorry, I could not work this out. A person from the team will reply to you here."


async def run(turn: Turn, model: Model) -> None:
    """Take the turn to its end: an answer, a stop because a teammate has the thread, or an apology."""
    if turn.attempts > turns.ATTEMPTS:
        await _give_up(turn, f"its process ended {turns.ATTEMPTS} times.", PERSON_WILL_ANSWER)
        return
    begun = await in_thread(_begin, turn)
    if begun is None:
        return
    if begun == "first":
        await sync.run_all(turn.workspace_id)
        await _settle(await in_thread(session_start.plan, turn))
    start = await in_thread(context.build, turn)
    done = start.steps
    if done:
        await _settle(done[-1].run_ids)
    while not _is_too_much(done):
        so_far = await in_thread(_so_far, turn, done) if done else []
        if so_far is None:
            return
        try:
            answer = await _ask(model, start.messages + so_far, start)
        except ModelError as error:
            await _give_up(turn, error.message, PERSON_WILL_ANSWER)
            return
        if not answer.tool_calls:
            await in_thread(_reply, turn, answer, start.outcomes, model=model.name if model.is_demo else "")
            return
        step = await in_thread(steps.write, turn, number=len(done), answer=answer, tools=start.by_name)
        if step is None:
            return
        done.append(step)
        await _settle(step.run_ids)
    await _give_up(turn, "it took too many steps or calls that no tool takes.", COULD_NOT_DO_IT)


def _is_too_much(done: list[Step]) -> bool:
    return len(done) >= steps.STEPS or sum(step.is_broken for step in done) >= steps.BROKEN_IN_TURN


async def _ask(model: Model, messages: list[Message], start: context.Context) -> Answer:
    """One answer of the model, tried twice."""
    fitted = budget.fit(messages, limit=settings.MEDIAN_MODEL_CONTEXT)
    try:
        return await _ask_once(model, fitted, start)
    except ModelError as error:
        logger.warning("The model gave no answer, asking once more: %s", error.message)
        return await _ask_once(model, fitted, start)


async def _ask_once(model: Model, messages: list[Message], start: context.Context) -> Answer:
    answer = await model.complete(messages, tools=start.specs, deadline_s=settings.MEDIAN_MODEL_DEADLINE)
    if not answer.tool_calls and not answer.text.strip():
        raise ModelError("bad_answer", "The model answered with nothing.", retryable=True)
    return answer


async def _settle(run_ids: Iterable[str]) -> None:
    """Send these calls side by side and wait until every one has its result."""
    results = await asyncio.gather(*(_settle_run(run_id) for run_id in run_ids), return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            logger.error("A tool call broke", exc_info=result)


async def _settle_run(run_id: str) -> None:
    while not await calls.send(run_id) and not await in_thread(_is_settled, run_id):
        await asyncio.sleep(POLL_S)


def _is_settled(run_id: str) -> bool:
    """Whether nothing more will come of a run now: it is over, or its process died with the call out."""
    lost = Q(state=RunState.RUNNING, started_at__lt=clock.now() - LONGEST_CALL)
    over = Q(state__in=[RunState.COMPLETED, RunState.FAILED])
    return ToolRun.objects.filter(lost | over, id=run_id).exists()


def _begin(turn: Turn) -> Literal["first", "later"] | None:
    """Whether there is anything to do, and whether the agent has answered in this conversation before."""
    with transaction.atomic():
        if not turns.begin(turn, threads.lock(turn.conversation_id)):
            return None
        answered = Turn.objects.filter(conversation_id=turn.conversation_id, state=TurnState.DONE)
        return "later" if answered.exists() else "first"


def _so_far(turn: Turn, done: list[Step]) -> list[Message] | None:
    """What the turn has done, as the model reads it; None when it may not go on."""
    with transaction.atomic():
        if not turns.may_go_on(turn, threads.lock(turn.conversation_id)):
            return None
        return context.so_far(turn, done)


async def _give_up(turn: Turn, reason: str, apology: str) -> None:
    await in_thread(turns.fail, turn, reason=reason, apology=apology)


def _reply(turn: Turn, answer: Answer, outcomes: Mapping[str, str], *, model: str) -> None:
    """Say it to the customer, unless a teammate has the thread by now; and know which outcomes have been told."""
    with transaction.atomic():
        conversation = threads.lock(turn.conversation_id)
        if not turns.may_go_on(turn, conversation):
            return
        if not conversation.items.filter(kind=ItemKind.AGENT, ref=turn.id).exists():
            threads.agent_replied(conversation, body=answer.text, ref=turn.id, model=model)
        for approval_id, told in outcomes.items():  # one that has moved on since is told again
            ToolApproval.objects.filter(id=approval_id, state=told).update(told_in_turn=turn.id)
        turns.end(turn, TurnState.DONE)
