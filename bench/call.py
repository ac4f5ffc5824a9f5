"""One tool call, signatures and rows included, beside a bare httpx POST to the same endpoint."""

import asyncio
import json
import time
from functools import partial

import httpx

from bench import harness

harness.prepare()

from django.conf import settings  # noqa: E402

from bench import _client  # noqa: E402
from conversations import threads  # noqa: E402
from conversations.models import Conversation  # noqa: E402
from median_site.lib import clock  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import world as worlds  # noqa: E402
from tools import calls, runs  # noqa: E402
from tools.models import Starter, ToolRun  # noqa: E402

N = 400
WARM_UP = 40
INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'


def queue(world: worlds.World) -> str:
    tool = world.tool("refundOrder")
    return runs.queue(
        world.conversation, tool_name=tool.name, tool_label=tool.label, tool_id=tool.id, endpoint_id=tool.served_by,
        risk=tool.risk, input_text=INPUT, started_by=Starter.AGENT, by=threads.agent_actor(world.conversation),
        approval={"kind": "teammate", "name": "Sam Okafor", "at": 1_780_000_000},
    ).id  # fmt: skip


def commit_twice(world: worlds.World, between: object = None) -> None:
    Conversation.objects.filter(id=world.conversation.id).update(excerpt=str(time.perf_counter()))


async def main(url: str) -> None:
    world = await in_thread(worlds.build, endpoint_url=url)
    run_ids = [await in_thread(queue, world) for _ in range(N + WARM_UP)]
    body = json.dumps({"tool": "refundOrder", "input": json.loads(INPUT)}).encode()
    bare: list[float] = []
    floor: list[float] = []
    ours: list[float] = []
    signed: list[float] = []
    async with httpx.AsyncClient(trust_env=False) as client:

        async def post() -> None:
            await client.post(url, content=body, headers={"content-type": "application/json"})

        async def post_between_commits() -> None:
            await in_thread(commit_twice, world)
            await post()
            await in_thread(commit_twice, world)

        for number, run_id in enumerate(run_ids):
            samples = [await harness.timed(post), await harness.timed(post_between_commits)]
            run = await in_thread(
                ToolRun.objects.select_related("tool__endpoint", "conversation__customer", "workspace").get, id=run_id
            )
            outbound = await in_thread(calls.signed, run, now=clock.now())
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
