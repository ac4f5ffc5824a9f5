"""One call of a tool, from the queued row to its outcome: checked, signed, sent at most once, recorded.

The network is touched between two transactions and inside none.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings

from median_site.lib import canonical_json, clock, strict_json
from median_site.lib.db import in_thread
from tools import endpoints, keys, outcomes, runs, schema, signing, wire
from tools.client import Answer, Client, Failure, Limit, Outbound
from tools.models import Endpoint, RunState, Starter, ToolRun
from tools.outcomes import Outcome

ANSWER_LIMIT: Final = Limit(bytes=100_000)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call that was out: what left, what came, what it means. `recorded` is False when the run was over already."""

    outbound: Outbound
    answer: Answer | Failure
    outcome: Outcome
    recorded: bool


_clients: dict[asyncio.AbstractEventLoop, Client] = {}
_out: set[asyncio.Task[bool]] = set()


def client() -> Client:
    """The process's client for all outbound tool traffic, one for each running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        for gone in [known for known in _clients if known.is_closed()]:
            del _clients[gone]
        _clients[loop] = Client(allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    return _clients[loop]


async def send(call_id: str) -> bool:
    """Let a queued call leave and record what came back. False when it was not ours to send.

    Any number of processes may try at once: the call leaves once. Cancelling the caller does not cut a call that is
    out; `close` waits for those.
    """
    task = asyncio.create_task(_send(call_id))
    _out.add(task)
    task.add_done_callback(_out.discard)
    return await asyncio.shield(task)


async def close() -> None:
    """Wait for every call that is out, each of which ends within a call's deadline, then close the connections."""
    await asyncio.gather(*_out, return_exceptions=True)
    if held := _clients.pop(asyncio.get_running_loop(), None):
        await held.aclose()


async def exchange(call_id: str, outbound: Outbound) -> Exchange:
    """Send a call whose run is running and record what came back. For the one that may send it, and once."""
    try:
        answer = await client().send(outbound, limit=ANSWER_LIMIT)
        outcome = outcomes.from_answer(answer, kind="manifest")
    except Exception:
        # Whatever broke, it broke on our side after the call may have left: say so, and never send it again.
        await in_thread(runs.finish, call_id, outcomes.request_failed())
        raise
    return Exchange(outbound, answer, outcome, await in_thread(runs.finish, call_id, outcome))


async def _send(call_id: str) -> bool:
    outbound = await in_thread(_claim, call_id)
    return outbound is not None and (await exchange(call_id, outbound)).recorded


def _claim(call_id: str) -> Outbound | None:
    """The signed request, once the right to send it is ours; None when it is somebody else's or must not leave."""
    rows = ToolRun.objects.select_related("tool__endpoint", "conversation__customer", "workspace")
    run = rows.get(id=call_id)
    if run.state != RunState.QUEUED:
        return None
    problem = _unavailable(run)
    if problem:
        runs.refuse(call_id, problem)
        return None
    outbound = signed(run, now=clock.now())
    return outbound if runs.begin(call_id) else None


def _unavailable(run: ToolRun) -> Outcome | None:
    """Why a call that was asked for can no longer leave, from the tool as it is now."""
    tool = run.tool
    usable = tool and tool.present and tool.switched_on and tool.endpoint.removed_at is None
    if tool is None or not usable or tool.endpoint_id != run.endpoint_id:
        return outcomes.no_longer_available()
    if schema.check_input(schema.compile_schema(tool.input_schema), strict_json.loads(run.input)):
        return outcomes.no_longer_fits()
    return None


def signed(run: ToolRun, *, now: datetime) -> Outbound:
    """The request of a run whose tool is there, signed to leave now. Send it only with the right to."""
    tool, conversation = run.tool, run.conversation
    assert tool is not None  # noqa: S101  (_unavailable has refused a run without one)
    subject, visitor = _visitor(run)
    body = wire.call_body(
        tool=run.tool_name,
        call_id=run.id,
        input_text=run.input,
        conversation_id=conversation.id if conversation else run.tested_in or run.id,
        risk=tool.risk,
        visitor=visitor,
        approved_by=run.approver_name,
    )
    assertion = signing.assertion(
        keys.current(run.workspace_id),
        issuer=run.workspace.issuer,
        audience=run.tool_name,
        subject=subject,
        anonymous=not visitor.verified,
        call_id=run.id,
        now=now,
        turn=run.turn_id if run.turn_id and run.started_by == Starter.AGENT else None,
        approval=_approval_claim(run),
    )
    return Outbound("POST", tool.endpoint.url, headers(tool.endpoint, run.id, assertion, now=now, body=body), body)


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


def _approval_claim(run: ToolRun) -> signing.ApprovalClaim | None:
    if not run.approval:
        return None
    return signing.ApprovalClaim(
        by_kind=str(run.approval["kind"]),
        by_name=str(run.approval["name"]),
        at=datetime.fromtimestamp(run.approval["at"], tz=clock.now().tzinfo),
        input_sha256=canonical_json.sha256_hex(strict_json.loads(run.input)),
    )
