"""The agent process: claims turns, calls, reviews, errands, questions, deliveries and alerts that are due, does them
side by side, keeps claims alive.

The rows are the queue. A doorbell wakes it; without one it looks every second. Any number of such processes may run.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable
from typing import Final

from agent import assistant, assisting, errands, learning, turns, write_up
from agent import turn as turn_module
from agent.models.base import Model
from agent.reviewing import reviewer_of
from agent.rows import ErrandKind, Turn
from approvals import reviews
from approvals.alerts import outbox, presses
from approvals.alerts import sending as alerting
from approvals.reviewer import review as review_module
from conversations import returning
from discord import inbound as discord_inbound
from discord import outbox as discord_outbox
from discord import sending as discord_sending
from mail import outbox as mail_outbox
from mail import sending as mail_sending
from median_site.lib import live
from median_site.lib.db import AWAY, at_once, in_thread
from notifications import digests, pushes
from notifications import sending as pushing
from team import chain
from tools import calls, runs, sync
from webhooks import deliveries, sending

logger = logging.getLogger(__name__)

POLL_S: Final = 1.0
TURNS: Final = 500
# As many as are begun together; the other processes may take the next ones.
TURNS_AT_ONCE: Final = 100
CALLS: Final = 200
REVIEWS: Final = 50
WRITE_UPS: Final = 50
LESSONS: Final = 8
QUESTIONS: Final = 8
SYNCS: Final = 8
DELIVERIES: Final = 64
MAILS: Final = 8
DISCORD_MESSAGES: Final = 16
ALERTS: Final = 32
PRESSES: Final = 32
PUSHES: Final = 64
DIGESTS: Final = 8


class _Hands(dict[str, asyncio.Task[None]]):
    """What is being worked on of one kind, by id, and for how much more there is room."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    @property
    def room(self) -> int:
        return max(0, self._most - len(self))


class AgentProcess:
    """Holds what this process has in hand: turns and calls by their ids."""

    def __init__(
        self, model: Model, *, writer: Model | None = None, judge: Model | None = None, helper: Model | None = None
    ) -> None:
        """`writer` is the model of write-ups, `judge` the reviewer's, `helper` the assistant's; the agent's own where
        there is none."""
        self.name = f"{socket.gethostname()[:30]}:{os.getpid()}:{secrets.token_hex(4)}"
        self.model = model
        self._work = turn_module.Work(model)
        self.writer = writer or model
        self.judge = judge or model
        self.helper = helper or model
        self._writing_up = write_up.WriteUps(self.writer)
        self._reviewer = reviewer_of(self.judge)
        self._turns = _Hands(TURNS)
        self._calls = _Hands(CALLS)
        self._reviews = _Hands(REVIEWS)
        self._write_ups = _Hands(WRITE_UPS)
        self._lessons = _Hands(LESSONS)
        self._questions = _Hands(QUESTIONS)
        self._syncs = _Hands(SYNCS)
        self._deliveries = _Hands(DELIVERIES)  # by webhook/delivery
        self._mails = _Hands(MAILS)
        self._discord_came = _Hands(DISCORD_MESSAGES)
        self._discord_posts = _Hands(DISCORD_MESSAGES)
        self._alerts = _Hands(ALERTS)  # by channel
        self._presses = _Hands(PRESSES)
        self._pushes = _Hands(PUSHES)
        self._digests = _Hands(DIGESTS)
        self._rung, self._call_rung = asyncio.Event(), asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until `stop`; then finish the calls that are out, and leave the turns to the other processes."""
        helpers = [asyncio.create_task(work()) for work in (self._listen, self._beat, self._link, self._take_calls)]
        logger.info("The agent process %s is at work, with %s.", self.name, self.model.name)
        try:
            while not self._stopping.is_set():
                await self._look()
                await self._wait(self._rung)
        finally:
            await self._wind_down(helpers)

    def stop(self) -> None:
        self._stopping.set()
        self._ring()

    async def _look(self) -> None:
        """Take up whatever is due and fits. A database that is away for a while ends nothing, and what breaks of one
        kind holds up none of another."""
        self._rung.clear()
        for look in (
            self._take_turns,
            self._take_reviews,
            self._take_errands,
            self._take_deliveries,
            self._end_snoozes,
        ):
            try:
                await look()
            except Exception:
                logger.exception("Could not look for work; trying again")

    async def _take_calls(self) -> None:
        """What somebody approved or started: a loop of its own, so that it waits for no other look."""
        while True:
            self._call_rung.clear()
            try:
                for run_id in await in_thread(self._due_calls):
                    self._start(self._calls, run_id, self._call(run_id))
            except Exception:
                logger.exception("Could not look for calls; trying again")
            await self._wait(self._call_rung)

    async def _take_turns(self) -> None:
        while free := min(TURNS_AT_ONCE, self._turns.room):
            claimed = await in_thread(turns.claim, self.name, limit=free, holding=set(self._turns))
            for turn in claimed:
                self._start(self._turns, turn.id, self._turn(turn))
            if len(claimed) < free:
                return

    async def _take_reviews(self) -> None:
        held = list(self._reviews)
        for review in await in_thread(reviews.claim, self.name, limit=self._reviews.room, holding=held):
            self._start(self._reviews, review.approval_id, review_module.run(review, self._reviewer))

    async def _take_errands(self) -> None:
        for errand in await in_thread(write_up.claim, limit=self._write_ups.room):
            self._start(self._write_ups, str(errand.id), self._writing_up.run(errand))
        for errand in await in_thread(errands.claim, ErrandKind.LESSON, limit=self._lessons.room):
            self._start(self._lessons, str(errand.id), learning.run(errand, self.model))
        for question in await in_thread(assistant.claim, limit=self._questions.room):
            self._start(self._questions, str(question.id), assisting.run(question, self.helper))
        for workspace_id, endpoint_id in await in_thread(sync.claim_due, limit=self._syncs.room):
            self._start(self._syncs, endpoint_id, sync.run_due(workspace_id, endpoint_id))

    async def _end_snoozes(self) -> None:
        await in_thread(returning.end_snoozes)  # one look at a small index

    async def _take_deliveries(self) -> None:
        """What leaves for webhooks, Slack, Discord, mail and teammates' browsers, and what came from there."""
        under_way = Counter(key.partition("/")[0] for key in self._deliveries)
        for delivery in await in_thread(deliveries.claim, limit=self._deliveries.room, under_way=under_way):
            key = f"{delivery.webhook_id}/{delivery.id}"
            self._start(self._deliveries, key, self._ring_after(sending.run(delivery)))
        for press in await in_thread(presses.claim, limit=self._presses.room):
            self._start(self._presses, press.id, alerting.answer(press))
        for alert in await in_thread(outbox.claim, limit=self._alerts.room, busy=list(self._alerts)):
            self._start(self._alerts, alert.channel_id, self._ring_after(alerting.run(alert)))
        for reply in await in_thread(mail_outbox.claim, limit=self._mails.room):
            self._start(self._mails, reply.id, self._ring_after(mail_sending.run(reply)))
        for came in await in_thread(discord_inbound.claim, limit=self._discord_came.room):
            self._start(self._discord_came, came.id, self._ring_after(discord_inbound.take(came)))
        for post in await in_thread(discord_outbox.claim, limit=self._discord_posts.room):
            self._start(self._discord_posts, post.id, self._ring_after(discord_sending.run(post)))
        for push in await in_thread(pushes.claim, limit=self._pushes.room):
            self._start(self._pushes, push.id, pushing.run(push))
        for digest in await in_thread(digests.claim, limit=self._digests.room):
            self._start(self._digests, digest.pk, digests.run(digest))

    async def _turn(self, turn: Turn) -> None:
        try:
            await self._work.run(turn)
        except AWAY as error:
            logger.warning("The database was away during turn %s; it is taken up again: %s", turn.id, error)
        except Exception as error:
            logger.exception("Turn %s broke", turn.id)
            reason = f"something broke on our side ({type(error).__name__})."
            await in_thread(turns.fail, turn, reason=reason, apology=turn_module.PERSON_WILL_ANSWER)

    async def _call(self, run_id: str) -> None:
        await calls.send(run_id)

    async def _ring_after(self, work: Awaitable[None]) -> None:
        """There is room for the next one to the same receiver."""
        await work
        self._ring()

    def _start(self, held: _Hands, key: str, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        held[key] = task

        def done(finished: asyncio.Future[None]) -> None:
            if not held.room:  # what more there is can be taken now
                self._ring()
            if held.get(key) is task:
                del held[key]
            if not finished.cancelled() and finished.exception():
                logger.error("Work on %s broke", key, exc_info=finished.exception())

        task.add_done_callback(done)

    def _due_calls(self) -> list[str]:
        due = runs.waiting_to_leave().values_list("id", flat=True)[: self._calls.room + len(self._calls)]
        return [id for id in due if id not in self._calls][: self._calls.room]

    async def _listen(self) -> None:
        async for _ in live.bells("agent"):
            self._ring()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(turns.BEAT.total_seconds())
            try:
                await at_once(turns.beat, self.name, list(self._turns))
                await at_once(reviews.beat, self.name, list(self._reviews))
            except Exception:
                logger.exception("Could not say that this process lives")

    async def _link(self) -> None:
        """The log's chain, and what comes of its events, follow what was written within a second."""
        while True:
            try:
                while await in_thread(chain.link_all):
                    self._ring()
            except Exception:
                logger.exception("Could not link the log's newest events; trying again")
            await asyncio.sleep(POLL_S)

    def _ring(self) -> None:
        self._rung.set()
        self._call_rung.set()

    async def _wait(self, rung: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(POLL_S):
                await rung.wait()
        except TimeoutError:
            pass

    async def _wind_down(self, helpers: list[asyncio.Task[None]]) -> None:
        errand_ids = [int(key) for key in [*self._write_ups, *self._lessons]]
        question_ids = [int(key) for key in self._questions]
        beside = [*self._write_ups.values(), *self._lessons.values(), *self._questions.values()]
        held = [*self._turns.values(), *self._reviews.values(), *beside]
        for task in [*helpers, *held]:
            task.cancel()
        out = [
            *self._calls.values(),
            *self._deliveries.values(),
            *self._mails.values(),
            *self._discord_came.values(),
            *self._discord_posts.values(),
            *self._alerts.values(),
            *self._presses.values(),
            *self._pushes.values(),
            *self._digests.values(),
        ]
        await asyncio.gather(*out, *held, *helpers, return_exceptions=True)
        await sync.settle()
        await calls.close()
        await in_thread(turns.give_back, self.name)
        await in_thread(errands.give_back, errand_ids)
        await in_thread(assistant.give_back, question_ids)
        await in_thread(reviews.give_back, self.name)
        for model in {self.model, self.writer, self.judge, self.helper}:
            await model.aclose()
