"""One turn, from its claim to the agent's answer. It may be killed on any line and run again from its rows."""

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q

from agent import beginnings, budget, endings, session_start, steps, turns
from agent.context import Context
from agent.endings import Ending
from agent.models.base import Answer, Message, Model, ModelError
from agent.rows import Step, Turn
from agent.steps import Asked
from median_site.lib import clock, text
from median_site.lib.batches import Batch
from median_site.lib.db import AWAY, in_thread
from tools import calls, sync
from tools.models import RunState, ToolRun

logger = logging.getLogger(__name__)

# Another process may have taken up a call that was left behind; it is polled for until no call can still be out.
LONGEST_CALL: Final = timedelta(seconds=11)
POLL_S: Final = 0.2
# For as long as this a model is left alone that asks for it; a customer waits meanwhile.
LONGEST_PAUSE_S: Final = 10.0
# In characters. A model that repeats itself without end writes more than anybody reads, or than can be searched.
LONGEST_TEXT: Final = 50_000

# Requests for approval are written one by one, so fewer steps share a transaction than beginnings and endings do.
STEPS_AT_ONCE: Final = 50

PERSON_WILL_ANSWER: Final = "I’m sorry, I can’t answer this right now. A person from the team will reply to you here."
COULD_NOT_DO_IT: Final = "I’m sorry, I could not work this out. A person from the team will reply to you here."


class Work:
    """Works on turns with one model, any number at once. What they read and write is read and written together."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._begin = Batch(beginnings.begin)
        self._write = Batch(steps.write, most=STEPS_AT_ONCE)
        self._so_far = Batch(steps.so_far)
        self._reply = Batch(endings.reply)

    async def run(self, turn: Turn) -> None:
        """Take the turn to its end: an answer, a stop because a teammate has the thread, or an apology."""
        if turn.attempts > turns.ATTEMPTS:
            await _give_up(turn, f"its process ended {turns.ATTEMPTS} times.", PERSON_WILL_ANSWER)
        elif start := await self._start(turn):
            try:
                await self._answer(turn, start)
            except ModelError as error:
                await _give_up(turn, error.message, PERSON_WILL_ANSWER)

    async def _start(self, turn: Turn) -> Context | None:
        if turn.is_first:
            await sync.run_all(turn.workspace_id)
        start = await self._begin(turn)
        if start and start.session_start:
            await _settle(await in_thread(session_start.plan, turn))
            start = await self._begin(turn)
        if start and start.out:
            await _settle(start.out)
            start = await self._begin(turn)
        return start

    async def _answer(self, turn: Turn, start: Context) -> None:
        done = start.steps
        if done:
            await _settle(done[-1].run_ids)
        while not _is_too_much(done):
            so_far = await self._so_far((turn, done)) if done else []
            if so_far is None:
                return
            answer = await self._ask(start.messages + so_far, start)
            if not answer.tool_calls:
                name = self._model.name if self._model.is_demo else ""
                await self._reply(Ending(turn, answer.text, model=name, outcomes=start.outcomes))
                return
            step = await self._write(Asked(turn, number=len(done), answer=answer))
            if step is None:
                return
            done.append(step)
            await _settle(step.run_ids)
        await _give_up(turn, "it took too many steps or calls that no tool takes.", COULD_NOT_DO_IT)

    async def _ask(self, messages: list[Message], start: Context) -> Answer:
        """One answer of the model, tried twice."""
        fitted = budget.fit(messages, limit=settings.MEDIAN_MODEL_CONTEXT)
        try:
            return await self._ask_once(fitted, start)
        except ModelError as error:
            logger.warning("The model gave no answer, asking once more: %s", error.message)
            await asyncio.sleep(min(error.pause_s, LONGEST_PAUSE_S))
            return await self._ask_once(fitted, start)

    async def _ask_once(self, messages: list[Message], start: Context) -> Answer:
        answer = await self._model.complete(messages, tools=start.specs, deadline_s=settings.MEDIAN_MODEL_DEADLINE)
        if not answer.tool_calls and text.is_blank(answer.text):
            raise ModelError("bad_answer", "The model answered with nothing.", retryable=True)
        if len(answer.text) > LONGEST_TEXT:
            raise ModelError("too_large", "The model answered with too much to read.", retryable=True)
        return answer


def _is_too_much(done: list[Step]) -> bool:
    """Whether the model has had its steps, or its errors; however many it makes at once, it may try once more."""
    broken = [step.broken for step in done if step.broken]
    return len(done) >= steps.STEPS or (len(broken) > 1 and sum(broken) >= steps.BROKEN_IN_TURN)


async def _settle(run_ids: Iterable[str]) -> None:
    """Send these calls side by side and wait until every one has its result.

    Raises one of AWAY when the database was away: a call that waits leaves all the same, by whoever takes the turn up
    again, and there is nothing to tell of it yet.
    """
    results = await asyncio.gather(*(_settle_run(run_id) for run_id in run_ids), return_exceptions=True)
    for result in results:
        if isinstance(result, AWAY):
            raise result
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


async def _give_up(turn: Turn, reason: str, apology: str) -> None:
    await in_thread(turns.fail, turn, reason=reason, apology=apology)
