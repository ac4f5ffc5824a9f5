"""Every state of a request's card and of a run, drawn by the functions that draw them in a thread."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from approvals import fragments as approvals
from approvals.fragments import Heed
from approvals.models import ExpiredBecause, State, ToolApproval
from conversations.models import Customer, Handler, ItemKind
from median_site.lib import clock
from median_site.lib.strict_json import Json
from median_site.preview import samples
from tools import fragments as tools
from tools import outcomes
from tools.models import Risk, RunState, Starter, ToolRun


class Specimen(NamedTuple):
    """A fragment and what it shows."""

    name: str
    html: Markup


_PAID_BACK: Final[Json] = {"refundId": "RF-5521", "amount": "48.00 EUR", "receipt": "https://pay.example/r/RF-5521"}
_WRITTEN_UP: Final[dict[str, Any]] = {
    "result": _PAID_BACK,
    "headline": "Refund order completed",
    "rows": samples.rows(("Refund", "RF-5521"), ("Amount", "48.00 EUR"), ("Receipt", "https://pay.example/r/RF-5521")),
}
_REFUSED: Final[dict[str, Any]] = {
    "result": {"refused": {"reason": "already_refunded", "detail": "This order was refunded on 3 May."}},
    "refusal": {"reason": "already_refunded", "detail": "This order was refunded on 3 May."},
    "headline": "The tool refused: already refunded",
    "rows": samples.rows(("Detail", "This order was refunded on 3 May.")),
}
_FAILED: Final[dict[str, Any]] = {"code": "timed_out", "error": outcomes.TIMED_OUT, "detail": "It had 30 seconds."}
_BY_REVIEWER: Final[dict[str, Any]] = {
    "decided_by_kind": "reviewer",
    "decided_by_id": "",
    "decided_by_name": "The reviewer",
}


def waiting() -> Iterator[Specimen]:
    """Requests that a person or the reviewer has to answer."""
    yield _card("High risk", State.PENDING)
    yield _card("The reviewer is reading", State.REVIEWING, risk=Risk.REVIEWED)
    passed = "The customer asks for more than the order was worth."
    yield _card("Passed on", State.PENDING, risk=Risk.REVIEWED, review="passed", review_reason=passed)
    unchecked = "The model did not answer in time."
    yield _card("Not checked", State.PENDING, risk=Risk.REVIEWED, review="unchecked", review_reason=unchecked)
    heeds = (
        Heed("The same input ran for this customer before: today at 09:12, approved by Sam."),
        Heed("The input changed since the team last refused it."),
    )
    yield _card("With warnings, customer not verified", State.PENDING, warnings=heeds, customer=samples.STRANGER)
    yield _card("Nothing to pass", State.PENDING, of={})
    yield _card("Long input", State.PENDING, of=samples.LONG)
    yield _card("Input that does not show what it is", State.PENDING, of=samples.DISGUISED)
    yield _card("Nested input", State.PENDING, of=samples.NESTED)


def decided() -> Iterator[Specimen]:
    """Requests that were approved, and how far they came."""
    yield _card("Running", State.EXECUTING, run=samples.run(RunState.RUNNING))
    yield _card("Ran, being written up", State.COMPLETED, run=samples.run(RunState.COMPLETED, result=_PAID_BACK))
    yield _card("Ran", State.COMPLETED, run=samples.run(RunState.COMPLETED, **_WRITTEN_UP))
    by_reviewer = samples.run(RunState.COMPLETED, **_WRITTEN_UP)
    yield _card("Ran, approved by the reviewer", State.COMPLETED, run=by_reviewer, risk=Risk.REVIEWED, **_BY_REVIEWER)
    yield _card("The tool refused", State.COMPLETED, run=samples.run(RunState.COMPLETED, **_REFUSED))
    yield _card("Failed", State.FAILED, run=samples.run(RunState.FAILED, **_FAILED))
    answered = samples.run(RunState.FAILED, result={"error": "no_funds"}, error="The endpoint answered 500. no_funds")
    yield _card("Failed with an answer", State.FAILED, run=answered)


def closed() -> Iterator[Specimen]:
    """Requests that never ran."""
    yield _card("Denied by a teammate", State.DENIED)
    yield _card("Denied with a reason", State.DENIED, reason="Wait for the photo of the damage.")
    why = "The customer did not ask for a refund."
    yield _card("Denied by the reviewer", State.DENIED, risk=Risk.REVIEWED, review_reason=why, **_BY_REVIEWER)
    for because in ExpiredBecause:
        yield _card(f"Expired: {because.label.lower()}", State.EXPIRED, expired_because=because)
    past = clock.now() - timedelta(minutes=1)
    yield _card("Past its time, not yet written down", State.PENDING, expires_at=past)


def runs() -> Iterator[Specimen]:
    """Tools that a teammate ran by hand, which are cards, and those of the agent, which are lines."""
    yield _run("Queued", samples.run(RunState.QUEUED))
    yield _run("Running", samples.run(RunState.RUNNING))
    yield _run("Ran, being written up", samples.run(RunState.COMPLETED, result=_PAID_BACK))
    yield _run("Ran", samples.run(RunState.COMPLETED, **_WRITTEN_UP))
    yield _run("The tool refused", samples.run(RunState.COMPLETED, **_REFUSED))
    yield _run("Failed", samples.run(RunState.FAILED, **_FAILED))
    by_state: dict[RunState, dict[str, Any]] = {
        RunState.RUNNING: {}, RunState.COMPLETED: _WRITTEN_UP, RunState.FAILED: _FAILED,
    }  # fmt: skip
    for state, fields in by_state.items():
        by_agent = samples.run(state, started_by=Starter.AGENT, by_id="", by_name="", risk=Risk.LOW, **fields)
        yield _run(f"The agent’s own: {state.label.lower()}", by_agent)


def asks() -> Iterator[Specimen]:
    """The bar above the composer."""
    one = samples.approval(State.PENDING)
    for name, waits in (
        ("One request", [one]),
        ("Three requests", [one, samples.approval(State.PENDING), samples.approval(State.PENDING)]),
        ("Too long to decide from here", [samples.approval(State.PENDING, of=samples.LONG)]),
    ):
        yield Specimen(name, approvals.ask(samples.conversation(), waits))
    had_by_person = samples.conversation(handler=Handler.TEAMMATE, assignee=samples.SAM)
    yield Specimen("A person has the thread: nothing", approvals.ask(had_by_person, [one]))


def _card(
    name: str,
    state: State,
    *,
    run: ToolRun | None = None,
    warnings: Sequence[Heed] = (),
    customer: Customer = samples.ANA,
    **fields: Any,
) -> Specimen:
    request: ToolApproval = samples.approval(state, **fields)
    item = samples.item(ItemKind.APPROVAL, ref=request.id)
    thread = samples.conversation(customer=customer)
    return Specimen(name, approvals.card(request, item=item, conversation=thread, run=run, warnings=warnings))


def _run(name: str, run: ToolRun) -> Specimen:
    item = samples.item(ItemKind.RUN, ref=run.id)
    return Specimen(name, tools.run(run, item=item, agent=samples.WORKSPACE.agent_name))
