"""A test for reading: the request as it left, its signatures masked, and the answer as it came."""

import json
from typing import Final, NamedTuple

from tools import fragments, signing
from tools.characters import Piece
from tools.client import Answer, Failure, Outbound
from tools.fragments import ResultView
from tools.models import ToolRun
from tools.testing import Trial

_SHOWN: Final = 12  # characters of a signature


class TrialView(NamedTuple):
    """`claims` is what the assertion says, as JSON; `status` is "" when no answer came; `headers` are kept ones."""

    run: ToolRun
    result: ResultView
    took_ms: int
    sent: bool
    request: str
    body: tuple[Piece, ...]
    claims: str
    status: str
    headers: dict[str, str]
    answer: tuple[Piece, ...]


def of(tested: Trial) -> TrialView:
    """What the page shows of a test."""
    outbound, answer = tested.exchange.outbound, tested.exchange.answer
    return TrialView(
        run=tested.run,
        result=fragments.result_view(tested.run),
        took_ms=round(answer.elapsed_s * 1000),
        sent=answer.sent if isinstance(answer, Failure) else True,
        request="\n".join([f"{outbound.method} {outbound.url}", *_headers(outbound)]),
        body=fragments.raw_pieces(outbound.body.decode()),
        claims=_claims(outbound),
        status=str(answer.status or ""),
        headers=dict(answer.headers) if isinstance(answer, Answer) else {},
        answer=fragments.raw_pieces(tested.run.raw),
    )


def _headers(outbound: Outbound) -> list[str]:
    return [f"{name}: {_masked(name, value)}" for name, value in outbound.headers.items()]


def _masked(name: str, value: str) -> str:
    """A signature can be replayed for as long as it lives, so no page shows a whole one."""
    if name.lower() == "authorization":
        kind, _, token = value.partition(" ")
        return f"{kind} {_cut(token)}"
    if name.lower() == "webhook-signature":
        return " ".join(_cut(signature) for signature in value.split(" "))
    return value


def _cut(text: str) -> str:
    return f"{text[:_SHOWN]}… ({len(text)} characters)"


def _claims(outbound: Outbound) -> str:
    token = outbound.headers.get("Authorization", "").partition(" ")[2]
    return json.dumps(signing.unproved_claims(token), indent=2, ensure_ascii=False)
