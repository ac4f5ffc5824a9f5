"""One review, from its claim to its end: read, ask, check, decide. It may be killed on any line and done again.

Nothing is locked while the model reads. A verdict counts for what was read: if anything has changed by then, the
reviewer reads again.
"""

import asyncio
import logging
from datetime import timedelta
from typing import Final

from django.db import transaction

from approvals import decisions, reviews
from approvals.expiry import REVIEW_TIMED_OUT
from approvals.models import Review, State, ToolApproval
from approvals.reviewer import gate
from approvals.reviewer.material import Material, gather
from approvals.reviewer.model import NoAnswer, Reviewer
from approvals.reviewer.verdict import Verdict, WrongShape, parse
from conversations import threads
from median_site.lib import clock
from median_site.lib.actors import reviewer as reviewer_actor
from median_site.lib.db import in_thread
from median_site.lib.errors import DomainError

logger = logging.getLogger(__name__)

NO_VERDICT: Final = "The reviewer gave no verdict. A teammate must approve or decline this request."
FAILED: Final = "The reviewer failed. A teammate must approve or decline this request."
TOO_LONG: Final = "The conversation is too long for the reviewer."
MOST_CHARACTERS: Final = 400_000
OBJECTIONS_TOLD: Final = 3


async def run(review: Review, reviewer: Reviewer) -> None:
    """Take the review to its end. Whatever goes wrong with the reviewer, the team gets the request and reads why.

    A database that is away breaks it off: a process takes it up again.
    """
    material, left_s = await in_thread(start, review.approval_id)
    if material:
        answer = await ask(reviewer, material, left_s=left_s)
        await in_thread(conclude, review, answer, material, model=reviewer.name)


async def ask(reviewer: Reviewer, material: Material, *, left_s: float) -> Verdict | str:
    """The reviewer's verdict within `left_s` seconds, or the sentence that tells the team why there is none."""
    if left_s <= 0:
        return REVIEW_TIMED_OUT
    if len(str(material)) > MOST_CHARACTERS:
        return TOO_LONG
    try:
        async with asyncio.timeout(left_s):
            return await _ask_twice(reviewer, material, until=asyncio.get_running_loop().time() + left_s)
    except TimeoutError:
        return REVIEW_TIMED_OUT
    except Exception:
        logger.exception("The reviewer broke")
        return FAILED


async def _ask_twice(reviewer: Reviewer, material: Material, *, until: float) -> Verdict | str:
    wrong = failure = ""
    for _ in range(2):
        deadline_s = until - asyncio.get_running_loop().time()
        try:
            return parse(await reviewer.read(material, wrong=wrong, deadline_s=deadline_s))
        except WrongShape as error:
            wrong, failure = str(error), NO_VERDICT
        except NoAnswer as error:
            wrong, failure = "", REVIEW_TIMED_OUT if error.timed_out else FAILED
            logger.warning("The reviewer gave no answer: %s", error)
    return failure


def conclude(review: Review, answer: Verdict | str, material: Material, *, model: str) -> None:
    """Do what a verdict says, as far as code lets it. A request that is decided by now stays as it is."""
    approval = _approval(review.approval_id)
    with transaction.atomic():
        threads.lock(approval.conversation_id)
        row = Review.objects.filter(approval_id=approval.id)
        row.update(model=model[:100], digest=material.digest)
        if isinstance(answer, str):
            decisions.unchecked(approval.id, workspace_id=approval.workspace_id, reason=answer)
            return
        row.update(verdict=answer.as_json())
        objections = gate.objections(answer, material) if answer.decision == "approve" else []
        if answer.decision == "escalate" or objections:
            reason = " ".join(objections[:OBJECTIONS_TOLD]) or answer.reason
            decisions.pass_on(approval.id, workspace_id=approval.workspace_id, reason=reason)
        elif gather(approval).digest != material.digest:
            reviews.again(approval.id)
        else:
            _decide(approval, answer)


def _decide(approval: ToolApproval, verdict: Verdict) -> None:
    decide = decisions.approve if verdict.decision == "approve" else decisions.deny
    try:
        decide(approval.id, by=reviewer_actor(approval.workspace_id), reason=verdict.reason)
    except DomainError as error:
        logger.info("The verdict on %s is dropped: %s", approval.id, error.message)


def start(approval_id: str) -> tuple[Material | None, float]:
    """What there is to read, and the seconds that are left for it; nothing when it is not the reviewer's any more."""
    approval = _approval(approval_id)
    left = approval.requested_at + reviews.LIMIT - clock.now()
    is_held = approval.state == State.REVIEWING
    return gather(approval) if is_held else None, max(left, timedelta()).total_seconds()


def _approval(approval_id: str) -> ToolApproval:
    return ToolApproval.objects.select_related("conversation__customer").get(id=approval_id)
