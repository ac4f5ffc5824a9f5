"""Several requests answered at once: each by itself, bound to exactly what was shown, and each with its own outcome."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from approvals import cards, decisions
from approvals.models import ToolApproval
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError

MOST: Final = 50


class NothingChosen(DomainError):
    code = "nothing_chosen"
    message = "Choose at least one request that still waits."
    status = 422


class TooManyChosen(DomainError):
    code = "too_many_chosen"
    message = f"Choose at most {MOST} requests at once."
    status = 422


class SeveralTools(DomainError):
    code = "several_tools"
    message = "Requests are approved together only when all of them are for the same tool."
    status = 422


class NotWhatWasShown(DomainError):
    code = "not_what_was_shown"
    message = "This is not the request that was shown. Nothing was done."


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of one request: `fault` is the published sentence of why not, or empty."""

    request: ToolApproval
    fault: str = ""


def chosen(by: Actor, ids: Iterable[str], *, one_tool: bool) -> list[ToolApproval]:
    """The actor's requests with these ids, the soonest expiry first; ids of anything else are left out.

    `one_tool`: all of them must be for the same tool. Raises NothingChosen, TooManyChosen, SeveralTools.
    """
    wanted = {each for each in ids if each.isprintable()}
    if len(wanted) > MOST:
        raise TooManyChosen
    found = list(cards.rows(by.workspace_id).filter(id__in=wanted).order_by("expires_at", "id"))
    if not found:
        raise NothingChosen
    if one_tool and len({request.tool_name for request in found}) > 1:
        raise SeveralTools
    return found


def seal(request: ToolApproval) -> str:
    """Names the request and its exact input in one word, for the form that asks: the answer is bound to both."""
    return f"{request.id}.{hashlib.sha256(request.input.encode()).hexdigest()}"


def approve(seals: Sequence[str], *, by: Actor) -> list[Answered]:
    """Let each call leave whose seal is still right. Errors as in `chosen`."""
    found = chosen(by, [each.partition(".")[0] for each in seals], one_tool=True)
    return [_answer(request, partial(_approve, request, seals=seals, by=by)) for request in found]


def deny(ids: Sequence[str], *, by: Actor, reason: str) -> list[Answered]:
    """Refuse each call, for one reason. Errors as in `chosen`."""
    found = chosen(by, ids, one_tool=False)
    return [_answer(request, partial(decisions.deny, request.id, by=by, reason=reason)) for request in found]


def _approve(request: ToolApproval, *, seals: Sequence[str], by: Actor) -> None:
    if seal(request) not in seals:
        raise NotWhatWasShown
    decisions.approve(request.id, by=by)


def _answer(request: ToolApproval, decide: Callable[[], object]) -> Answered:
    try:
        decide()
    except DomainError as error:
        return Answered(request, error.message)
    return Answered(request)
