"""A teammate's questions to the assistant, as rows: asked, claimed by one process at a time, answered or given up.

Who answers is in agent.assisting. Nothing here or there decides a request: an answer can only propose one.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from agent.rows import AssistantExchange, ExchangeState
from median_site.lib import claims, clock, live, text
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, Unusable, existing

LONGEST: Final = 2_000
KEPT: Final = timedelta(days=30)
BATCH: Final = 5_000
# Longer than an answer may take. After it the question is due again, in any process.
HELD: Final = timedelta(seconds=90)
ATTEMPTS: Final = 2


class StillAnswering(DomainError):
    code = "still_answering"
    message = "The assistant is still answering. Ask again once it has."


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a question. `names` and `proposes` are what code found in look-ups, never the model's word alone:
    see AssistantExchange."""

    text: str
    names: Sequence[str] = ()
    proposes: Sequence[str] = ()
    proposal: str = ""
    model: str = ""


def mine(by: Actor) -> QuerySet[AssistantExchange]:
    """A teammate's own exchanges, and nobody else's."""
    return AssistantExchange.objects.filter(workspace_id=by.workspace_id, teammate_id=by.id)


def ask(question: str, *, by: Actor, looking_at: str = "") -> AssistantExchange:
    """Have a question answered soon. `looking_at` as in the row.

    Raises Unusable for an empty or overlong question, StillAnswering while one of this teammate's waits.
    """
    asked, _ = text.clean(question.strip())
    if not asked:
        raise Unusable("Write what you want to know.", field="question")
    if len(asked) > LONGEST:
        raise Unusable(f"Ask in at most {LONGEST:,} characters.", field="question")
    now = clock.now()
    row = AssistantExchange(
        workspace_id=by.workspace_id, teammate_id=by.id, question=asked, looking_at=looking_at, asked_at=now,
        changed_at=now, due_at=now,
    )  # fmt: skip
    with _one_at_a_time():
        row.save(force_insert=True)
        _tell(row)
    return row


def again(exchange_id: int, *, by: Actor) -> None:
    """Try one more time what failed; in any other state it changes nothing. Raises NotFound, StillAnswering."""
    row = existing(mine(by).filter(id=exchange_id).first())
    now = clock.now()
    with _one_at_a_time():
        failed = mine(by).filter(id=exchange_id, state=ExchangeState.FAILED)
        if failed.update(state=ExchangeState.WAITING, error="", attempts=0, due_at=now, changed_at=now):
            _tell(row)


def clear(*, by: Actor) -> None:
    """Forget what this teammate asked. What is being answered right now goes nowhere."""
    with transaction.atomic():
        mine(by).delete()
        live.changed("assistant", workspace_id=by.workspace_id, id=by.id)


def claim(*, limit: int) -> list[AssistantExchange]:
    """Take up to `limit` questions that are due, with their teammates; each goes to one process."""
    waiting = AssistantExchange.objects.filter(state=ExchangeState.WAITING, teammate__removed_at=None)
    waiting = waiting.select_related("teammate__workspace", "teammate__user")
    return claims.take(waiting, limit=limit, held=HELD)


def give_back(exchange_ids: Iterable[int]) -> None:
    """A process that ends in good order leaves its questions to the others at once; that is no attempt."""
    claims.give_back(AssistantExchange.objects.filter(id__in=list(exchange_ids), state=ExchangeState.WAITING))


def answered(row: AssistantExchange, *, reply: Reply) -> None:
    """Keep the answer, unless another process has the question by now or the teammate has cleared it."""
    _end(
        row, state=ExchangeState.ANSWERED, answer=reply.text, names=list(reply.names), proposes=list(reply.proposes),
        proposal=reply.proposal, model=reply.model,
    )  # fmt: skip


def failed(row: AssistantExchange, *, reason: str) -> None:
    """Say why there is no answer, under the same conditions."""
    _end(row, state=ExchangeState.FAILED, error=text.excerpt(reason, 500))


def forget(teammate_id: str, *, workspace_id: str) -> None:
    """This teammate is gone, and what they asked with them."""
    AssistantExchange.objects.filter(workspace_id=workspace_id, teammate_id=teammate_id).delete()


def forget_old() -> int:
    """The oldest that are older than KEPT, at most BATCH, by id, which is the order they came in. Gives how many."""
    oldest = AssistantExchange.objects.order_by("id").values_list("id", "asked_at")[:BATCH]
    before = clock.now() - KEPT
    old = [id for id, asked_at in oldest if asked_at < before]
    AssistantExchange.objects.filter(id__in=old).delete()
    return len(old)


def _end(row: AssistantExchange, **fields: object) -> None:
    with transaction.atomic():
        held = Q(id=row.id, state=ExchangeState.WAITING, attempts=row.attempts)
        if AssistantExchange.objects.filter(held).update(**fields, changed_at=clock.now()):
            live.changed("assistant", workspace_id=row.workspace_id, id=row.teammate_id)


def _tell(row: AssistantExchange) -> None:
    live.changed("assistant", workspace_id=row.workspace_id, id=row.teammate_id)
    live.wake("agent")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """A transaction in which the constraint on questions that wait speaks as StillAnswering."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        raise StillAnswering from error
