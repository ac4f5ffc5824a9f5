"""One call of a tool, from the queued row to its outcome: checked, signed, sent at most once, recorded.

The network is touched between two transactions and inside none.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, ParamSpec, TypeVar

from asgiref.sync import SyncToAsync, async_to_sync
from django.conf import settings
from django.db import Error as DatabaseError

from median_site.lib import canonical_json, clock, strict_json
from median_site.lib.batches import Batch
from median_site.lib.db import AWAY
from tools import (
    endpoints,
    http_request,
    inputs,
    leaving,
    mcp_outcomes,
    mcp_session,
    offered,
    outcomes,
    runs,
    schema,
    signing,
    wire,
)  # fmt: skip
from tools.client import Answer, Client, Failure, Limit, Outbound
from tools.http_request import BadValue
from tools.mcp_session import McpCall
from tools.models import Endpoint, EndpointKind, RunState, Starter, Tool, ToolRun
from tools.outcomes import Outcome, ToolKind

ANSWER_LIMITS: Final[Mapping[ToolKind, Limit]] = {"manifest": Limit(bytes=100_000), "http": Limit(characters=16_384)}
# Between tries to record what came back: a database that changes over to another machine is away for a minute.
PAUSES_S: Final = (0.1, 0.5, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
# Signing takes Python's time: the first calls leave before the last of many are signed.
CLAIMS_AT_ONCE: Final = 20

P = ParamSpec("P")
T = TypeVar("T")
_Claim = tuple[ToolRun, Outbound]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call that was out: what left, what came, what it means. `recorded` is False when the run was over already."""

    outbound: Outbound
    answer: Answer | Failure
    outcome: Outcome
    recorded: bool


class _Desk:
    """What the calls of one event loop share: the connections, and rounds in which they are claimed and recorded."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.claim = Batch(_claim, most=CLAIMS_AT_ONCE)
        self.finish = Batch(runs.finish_all)


_desks: dict[asyncio.AbstractEventLoop, _Desk] = {}
_out: set[asyncio.Task[bool]] = set()


def client() -> Client:
    """The process's client for all outbound tool traffic, one for each running event loop."""
    return _desk().client


def _desk() -> _Desk:
    loop = asyncio.get_running_loop()
    if loop not in _desks:
        for gone in [known for known in _desks if known.is_closed()]:
            del _desks[gone]
        _desks[loop] = _Desk(Client(allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS))
    return _desks[loop]


async def send(call_id: str) -> bool:
    """Let a queued call leave and record what came back. False when it was not ours to send.

    Any number of processes may try at once: the call leaves once. Cancelling the caller does not cut a call that is
    out; `close` waits for those.
    """
    task = asyncio.create_task(_send(call_id))
    _out.add(task)
    task.add_done_callback(_out.discard)
    return await asyncio.shield(task)


def run_now(work: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
    """From a view: do work that calls endpoints, and wait for it.

    In a web process it runs on the server's event loop, whose connections are kept. Where there is none, the loop made
    for this work alone closes its connections.
    """

    async def alone() -> T:
        try:
            return await work(*args, **kwargs)
        finally:
            await close()

    in_server = getattr(SyncToAsync.threadlocal, "main_event_loop", None) is not None
    return async_to_sync(work)(*args, **kwargs) if in_server else async_to_sync(alone)()


async def close() -> None:
    """Wait for every call that is out, each of which ends within a call's deadline, then close the connections."""
    await asyncio.gather(*_out, return_exceptions=True)
    if held := _desks.pop(asyncio.get_running_loop(), None):
        await held.client.aclose()


async def exchange(run: ToolRun, outbound: Outbound) -> Exchange:
    """Send a call whose run is running and record what came back. For the one that may send it, and once."""
    kind = run.kind
    try:
        if isinstance(outbound, McpCall):
            answer = await mcp_session.call(client(), outbound, limit=ANSWER_LIMITS[kind])
            outcome = mcp_outcomes.from_answer(answer, call_id=run.id)
        else:
            answer = await client().send(outbound, limit=ANSWER_LIMITS[kind])
            outcome = outcomes.from_answer(answer, kind=kind)
    except Exception:
        # Whatever broke, it broke on our side after the call may have left: say so, and never send it again.
        await _record(run, outcomes.request_failed(kind=kind))
        raise
    return Exchange(outbound, answer, outcome, await _record(run, outcome))


async def _record(run: ToolRun, outcome: Outcome) -> bool:
    """What came back is not lost because the database is away for a moment; recorded twice, it counts once."""
    for pause_s in PAUSES_S:
        try:
            return await _desk().finish((run, outcome))
        except AWAY as error:
            logger.warning("The result of %s could not be recorded, trying again: %s", run.id, error)
            await asyncio.sleep(pause_s)
    return await _desk().finish((run, outcome))


async def _send(call_id: str) -> bool:
    claimed = await _desk().claim(call_id)
    if claimed is None:
        return False
    run, outbound = claimed
    return (await exchange(run, outbound)).recorded


def _claim(call_ids: Sequence[str]) -> list[_Claim | None]:
    """For each of these calls the signed request, once the right to send it is ours; None when it is somebody else's
    or must not leave."""
    read = leaving.read(call_ids)
    ready = {id: (run, outbound) for id, (run, key) in read.items() if (outbound := _prepared(run, key=key))}
    begun = runs.begin_all(ready)
    # One that was asked for twice is given once.
    return [ready[id] if id in begun and id not in call_ids[:place] else None for place, id in enumerate(call_ids)]


def _prepared(run: ToolRun, *, key: signing.Key) -> Outbound | None:
    """The request of a queued run, signed to leave now; of one that cannot leave the run ends here."""
    if run.state != RunState.QUEUED:
        return None
    try:
        problem = _problem(run)
        if problem is None:
            return signed(run, key=key, now=clock.now())
    except DatabaseError:
        raise  # the run waits until the database is back
    except Exception:
        # Trying again would break again, and a queued run is never given up.
        logger.exception("Call %s of %s cannot be made", run.id, run.tool_name)
        problem = outcomes.request_failed(kind=run.kind)
    runs.refuse(run.id, problem, run=run)
    return None


def _problem(run: ToolRun) -> Outcome | None:
    """Why a call that was asked for can no longer leave, from the tool as it is now."""
    tool = offered.of_run(run)
    if tool is None:
        return outcomes.no_longer_available(kind=run.kind)
    if schema.check_input(schema.compile_schema(tool.input_schema), strict_json.loads(run.input)):
        return outcomes.no_longer_fits(kind=run.kind)
    try:
        _http_request(run, tool)
    except BadValue as fault:
        logger.warning("Call %s of %s cannot be made: %s", run.id, tool.name, fault.message)
        return outcomes.request_failed(kind=run.kind)
    return None


def signed(run: ToolRun, *, key: signing.Key, now: datetime) -> Outbound:
    """The request of a run whose tool is there, signed to leave now. Send it only with the right to."""
    tool = offered.of_run(run)
    assert tool is not None  # noqa: S101  (_problem has refused a run without one)
    if request := _http_request(run, tool):
        sent = {"Authorization": f"Bearer {_assertion(run, key=key, now=now)}", "X-Median-Call-Id": run.id}
        sent |= {"Content-Type": "application/json"} if request.body is not None else {}
        return Outbound(request.method, request.url, sent, request.body or b"")
    assert tool.endpoint is not None  # noqa: S101  (only an HTTP tool has none)
    if tool.endpoint.kind == EndpointKind.MCP:
        asked = wire.mcp_call_body(tool=run.tool_name, call_id=run.id, input_text=run.input)
        return McpCall(
            "POST", tool.endpoint.url, mcp_headers(tool.endpoint, run.id, _assertion(run, key=key, now=now)), asked
        )
    body = wire.call_body(
        tool=run.tool_name,
        call_id=run.id,
        input_text=run.input,
        conversation_id=run.conversation.id if run.conversation else run.tested_in or run.id,
        risk=tool.risk,
        visitor=_visitor(run)[1],
        approved_by=run.approver_name,
    )
    signatures = headers(tool.endpoint, run.id, _assertion(run, key=key, now=now), now=now, body=body)
    return Outbound("POST", tool.endpoint.url, signatures, body)


def _http_request(run: ToolRun, tool: Tool) -> http_request.Request | None:
    """The request of an HTTP tool, None for a manifest tool. Its subject is the assertion's. Raises BadValue."""
    definition, value = inputs.definition_of(tool), strict_json.loads(run.input)
    if definition is None or not isinstance(value, dict):
        return None
    return http_request.build(definition, value, subject=_visitor(run)[0] or run.id)


def _assertion(run: ToolRun, *, key: signing.Key, now: datetime) -> str:
    subject, visitor = _visitor(run)
    return signing.assertion(
        key,
        issuer=run.workspace.issuer,
        audience=run.tool_name,
        subject=subject,
        anonymous=not visitor.verified,
        call_id=run.id,
        now=now,
        turn=run.turn_id if run.turn_id and run.started_by in {Starter.AGENT, Starter.SESSION_START} else None,
        approval=_approval_claim(run),
    )


def _visitor(run: ToolRun) -> tuple[str | None, wire.Visitor]:
    """The subject of the assertion, and what the endpoint is told of the customer: of a test, what was asked for."""
    if run.conversation is None:
        return run.tested_as or None, wire.Visitor(bool(run.tested_as), run.tested_as)
    customer = run.conversation.customer
    return customer.subject, wire.Visitor(customer.verified, customer.subject, customer.email, customer.name)


def headers(endpoint: Endpoint, call_id: str, assertion: str, *, now: datetime, body: bytes) -> dict[str, str]:
    """Both signatures, over exactly these bytes."""
    secrets = endpoints.signing_secrets(endpoint)
    signed = signing.webhook_headers(secrets, call_id=call_id, timestamp=int(now.timestamp()), body=body)
    return {"Content-Type": "application/json", "Authorization": f"Bearer {assertion}", **signed}


def mcp_headers(endpoint: Endpoint, call_id: str, assertion: str) -> dict[str, str]:
    """The assertion as everywhere, in a header of its own too: a server may want its own token as the bearer."""
    token = endpoints.bearer_token(endpoint)
    return {
        **mcp_session.HEADERS,
        "Authorization": f"Bearer {token or assertion}",
        "X-Median-Assertion": assertion,
        "X-Median-Call-Id": call_id,
    }


def _approval_claim(run: ToolRun) -> signing.ApprovalClaim | None:
    if not run.approval:
        return None
    return signing.ApprovalClaim(
        by_kind=str(run.approval["kind"]),
        by_name=str(run.approval["name"]),
        at=datetime.fromtimestamp(run.approval["at"], tz=clock.now().tzinfo),
        input_sha256=canonical_json.sha256_hex(strict_json.loads(run.input)),
    )
