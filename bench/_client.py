"""What a call costs without its rows: the schema, the signatures, the client; and many calls at once.

Each is measured beside bare httpx in the same run.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

import httpx

from bench import harness
from median_site.lib import clock, ids, strict_json
from tests import world as worlds
from tools import calls, schema, signing, wire
from tools.client import Answer, Client, Outbound

N = 400
IN_FLIGHT = 16
CALLS = 2_000
STEP = 8  # calls of one step, at most
HANGING = 200
LIMIT = calls.ANSWER_LIMITS["manifest"]
INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'
BODY = json.dumps({"tool": "refundOrder", "input": json.loads(INPUT)}).encode()
VISITOR = wire.Visitor(verified=False)
SCHEMA = json.dumps(worlds.REFUND)

Work = Callable[[], Awaitable[object]]


async def main(url: str, *, other_url: str) -> None:
    """Print every line. The two URLs are two endpoints'; under each, /100 answers after so many milliseconds."""
    key, client = signing.load_key("bench", signing.new_key().private_pem), calls.client()
    async with httpx.AsyncClient(trust_env=False, timeout=30) as httpx_client:
        bare = partial(httpx_client.post, url, content=BODY, headers={"content-type": "application/json"})
        send = partial(client.send, Outbound("POST", url, {"content-type": "application/json"}, BODY), limit=LIMIT)
        await alone(bare, partial(whole, client, url, key), partial(signatures, key))
        await in_flight(bare, send)
        await of_a_step(client, url)
        await beside_hanging(client, url, hanging_at=other_url, name="another endpoint")
        await beside_hanging(client, url, hanging_at=url, name="the same endpoint")


async def alone(bare: Work, whole: Work, signatures: Work) -> None:
    """One call after the other."""
    samples: dict[Work, list[float]] = {bare: [], whole: [], signatures: []}
    for _ in range(N):
        for work, taken in samples.items():
            taken.append(await harness.timed(work))
    harness.report("bare httpx POST", samples[bare])
    ratio = harness.ratio_of(samples[signatures], samples[bare])
    harness.report("both signatures", samples[signatures], ratio=ratio)
    ratio = harness.ratio_of(samples[whole], samples[bare])
    harness.report("call without rows: schema, signatures, deadline, cap", samples[whole], ratio=ratio)


async def in_flight(bare: Work, send: Work) -> None:
    """How long each of many calls holds up the rest, sixteen at a time; below 1 is more calls a second than httpx."""
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(await rush(bare) / CALLS)
        ours.append(await rush(send) / CALLS)
    harness.report(f"a bare POST with {IN_FLIGHT} in flight", theirs, per_second=round(1 / min(theirs)))
    ratio = harness.ratio_of(ours, theirs)
    harness.report(f"a call with {IN_FLIGHT} in flight", ours, ratio=ratio, per_second=round(1 / min(ours)))


async def rush(work: Work) -> float:
    left = iter(range(CALLS))

    async def one_after_another() -> None:
        for _ in left:
            await work()

    return await harness.timed(lambda: asyncio.gather(*(one_after_another() for _ in range(IN_FLIGHT))))


async def of_a_step(client: Client, url: str) -> None:
    """The calls of one step leave side by side."""
    slow = Outbound("POST", f"{url}/100", {}, BODY)

    async def step(calls_of_it: int) -> None:
        await asyncio.gather(*(client.send(slow, limit=LIMIT) for _ in range(calls_of_it)))

    one, all_of_it = [], []
    for _ in range(20):
        one.append(await harness.timed(partial(step, 1)))
        all_of_it.append(await harness.timed(partial(step, STEP)))
    harness.report("a call to an endpoint that takes 100 ms", one)
    harness.report(f"{STEP} of them at once", all_of_it, ratio=harness.ratio_of(all_of_it, one))


async def beside_hanging(client: Client, url: str, *, hanging_at: str, name: str) -> None:
    """A quick call while many others get no answer."""
    quick = partial(client.send, Outbound("POST", url, {}, BODY), limit=LIMIT)
    idle = [await harness.timed(quick) for _ in range(N)]
    async with AsyncExitStack() as stack:
        hanging = [
            asyncio.create_task(client.send(Outbound("POST", f"{hanging_at}/60000", {}, BODY), limit=LIMIT))
            for _ in range(HANGING)
        ]
        for task in hanging:
            stack.callback(task.cancel)
        await asyncio.sleep(1)  # until all of them are out
        beside = [await harness.timed(quick) for _ in range(N)]
        assert not any(task.done() for task in hanging)  # noqa: S101  (else nothing was measured)
    await asyncio.wait(hanging)
    ratio = harness.ratio_of(beside, idle)
    harness.report(f"a call beside {HANGING} that hang, {name}", beside, ratio=ratio)


async def whole(client: Client, url: str, key: signing.Key) -> Answer:
    """A call as `tools.calls` makes it, of an approved refund."""
    given = strict_json.loads(INPUT)
    assert not schema.check_input(schema.compile_schema(SCHEMA), given)  # noqa: S101
    call_id = ids.call_id()
    body = wire.call_body(
        tool="refundOrder", call_id=call_id, input_text=INPUT, conversation_id=call_id, risk="high", visitor=VISITOR,
        approved_by="Sam Okafor",
    )  # fmt: skip
    answer = await client.send(Outbound("POST", url, signed(key, call_id, body), body), limit=LIMIT)
    assert isinstance(answer, Answer)  # noqa: S101
    return answer


async def signatures(key: signing.Key) -> None:
    signed(key, "call_bench", BODY)


def signed(key: signing.Key, call_id: str, body: bytes) -> dict[str, str]:
    now = clock.now()
    assertion = signing.assertion(
        key, issuer="https://median.example", audience="refundOrder", subject="user_123", anonymous=False,
        call_id=call_id, now=now,
    )  # fmt: skip
    headers = signing.webhook_headers([worlds.SECRET], call_id=call_id, timestamp=signing.unix(now), body=body)
    return {"Content-Type": "application/json", "Authorization": f"Bearer {assertion}", **headers}
