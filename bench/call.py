"""One tool call, signatures and rows included, beside a bare httpx POST to the same endpoint."""

import asyncio
import json
import os
from functools import partial

import httpx

from bench import harness

os.environ["MEDIAN_DATABASE_POOL"] = "true"  # as in the web and agent processes
harness.prepare()

from django.conf import settings  # noqa: E402

from bench import _client  # noqa: E402
from bench._bare_press import update  # noqa: E402
from conversations import threads  # noqa: E402
from median_site.lib import clock  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import world as worlds  # noqa: E402
from tools import calls, leaving, runs  # noqa: E402
from tools.models import Starter  # noqa: E402

N = 400
WARM_UP = 40
INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'


def queue(world: worlds.World) -> str:
    return runs.queue(
        world.conversation, world.tool("refundOrder"), input_text=INPUT, started_by=Starter.AGENT,
        by=threads.agent_actor(world.conversation),
        approval={"kind": "teammate", "name": "Sam Okafor", "at": 1_780_000_000},
    ).id  # fmt: skip


def commit(run_id: str) -> None:
    """The least that a claim and a result are: one row, one commit."""
    update("update tools_toolrun set queued_at = now() where id = %s and state = 'queued'", run_id)


async def main(url: str) -> None:
    world = await in_thread(worlds.build, endpoint_url=url)
    run_ids = [await in_thread(queue, world) for _ in range(N + WARM_UP)]
    await in_thread(harness.settle)
    body = json.dumps({"tool": "refundOrder", "input": json.loads(INPUT)}).encode()
    bare: list[float] = []
    floor: list[float] = []
    ours: list[float] = []
    signed: list[float] = []
    async with httpx.AsyncClient(trust_env=False) as client:

        async def post() -> None:
            await client.post(url, content=body, headers={"content-type": "application/json"})

        async def post_between_commits(run_id: str) -> None:
            await in_thread(commit, run_id)
            await post()
            await in_thread(commit, run_id)

        for number, run_id in enumerate(run_ids):
            samples = [await harness.timed(post), await harness.timed(partial(post_between_commits, run_id))]
            run, key = (await in_thread(leaving.read, [run_id]))[run_id]
            outbound = await in_thread(calls.signed, run, key=key, now=clock.now())
            client_alone = partial(calls.client().send, outbound, limit=calls.ANSWER_LIMITS["manifest"])
            samples.append(await harness.timed(client_alone))
            samples.append(await harness.timed(partial(calls.send, run_id)))
            if number >= WARM_UP:
                for kept, sample in zip((bare, floor, signed, ours), samples, strict=True):
                    kept.append(sample)
    harness.report("bare httpx POST", bare)
    harness.report("bare POST between two commits", floor)
    harness.report("the client alone, no rows", signed, ratio=harness.ratio_of(signed, bare))
    harness.report("call, against the bare POST", ours, ratio=harness.ratio_of(ours, bare))
    harness.report("call, against the POST between two commits", ours, ratio=harness.ratio_of(ours, floor))


if __name__ == "__main__":
    import ipaddress

    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    with harness.endpoint() as url, harness.endpoint() as other_url:
        asyncio.run(_client.main(url, other_url=other_url))
        asyncio.run(main(url))
