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
    """Take the review to its end. Whatever goes wrong, the team gets the request, with a sentence that says why."""
    left = await in_thread(_time_left, review)
    if left is None:
        return
    try:
        async with asyncio.timeout(left.total_seconds()):
            await _read(review, reviewer, until=asyncio.get_running_loop().time() + left.total_seconds())
    except TimeoutError:
        await in_thread(_unchecked, review, REVIEW_TIMED_OUT)
    except Exception:
        logger.exception("The review of %s broke", review.approval_id)
        await in_thread(_unchecked, review, FAILED)


async def _read(review: Review, reviewer: Reviewer, *, until: float) -> None:
    material = await in_thread(_material, review.approval_id)
    if len(str(material)) > MOST_CHARACTERS:
        await in_thread(_pass_on, review, TOO_LONG)
        return
    verdict: Verdict | None = None
    wrong = failure = ""
    for _ in range(2):
        try:
            left = max(0.0, until - asyncio.get_running_loop().time())
            verdict = parse(await reviewer.read(material, wrong=wrong, deadline_s=left))
            break
        except WrongShape as error:
            wrong, failure = str(error), NO_VERDICT
        except NoAnswer as error:
            wrong, failure = "", REVIEW_TIMED_OUT if error.timed_out else FAILED
            logger.warning("The reviewer gave no answer: %s", error)
    if verdict is None:
        await in_thread(_unchecked, review, failure)
    else:
        await in_thread(conclude, review, verdict, material, model=reviewer.name)


def conclude(review: Review, verdict: Verdict, material: Material, *, model: str) -> None:
    """Do what the verdict says, as far as code lets it. A request that is decided by now stays as it is."""
    with transaction.atomic():
        approval = _approval(review.approval_id)
        threads.lock(approval.conversation_id)
        Review.objects.filter(approval_id=approval.id).update(
            model=model[:100], digest=material.digest, verdict=verdict.as_json()
        )
        if verdict.decision == "escalate":
            _pass_on(review, verdict.reason)
            return
        if gather(_approval(approval.id)).digest != material.digest:
            reviews.again(approval.id)
            return
        objections = gate.objections(verdict, material) if verdict.decision == "approve" else []
        if objections:
            _pass_on(review, " ".join(objections[:OBJECTIONS_TOLD]))
            return
        _decide(approval, verdict)


def _decide(approval: ToolApproval, verdict: Verdict) -> None:
    decide = decisions.approve if verdict.decision == "approve" else decisions.deny
    try:
        decide(approval.id, by=reviewer_actor(approval.workspace_id), reason=verdict.reason)
    except DomainError as error:
        logger.info("The verdict on %s is dropped: %s", approval.id, error.message)


def _pass_on(review: Review, reason: str) -> None:
    decisions.pass_on(review.approval_id, workspace_id=review.workspace_id, reason=reason)


def _unchecked(review: Review, reason: str) -> None:
    decisions.unchecked(review.approval_id, workspace_id=review.workspace_id, reason=reason)


def _time_left(review: Review) -> timedelta | None:
    """How long the reviewer still has, from the request on; None when it is not the reviewer's any more."""
    approval = ToolApproval.objects.get(id=review.approval_id)
    left = approval.requested_at + reviews.LIMIT - clock.now()
    return max(left, timedelta()) if approval.state == State.REVIEWING else None


def _approval(approval_id: str) -> ToolApproval:
    return ToolApproval.objects.select_related("conversation__customer", "tool").get(id=approval_id)


def _material(approval_id: str) -> Material:
    return gather(_approval(approval_id))
