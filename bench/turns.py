"""500 turns in flight in one agent process, against a model that takes two seconds for each answer."""

import asyncio
import os
import subprocess
import sys
import time

from bench import harness

os.environ["MEDIAN_DATABASE_POOL"] = "true"  # as in the agent process
harness.prepare()

from django.conf import settings  # noqa: E402

from agent.loop import AgentProcess  # noqa: E402
from agent.models.demo import DemoModel  # noqa: E402
from agent.models.openai import OpenAIModel  # noqa: E402
from agent.rows import Turn, TurnState  # noqa: E402
from conversations import threads  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import world as worlds  # noqa: E402

N = 500
MODEL_S = 2.0


def customers_write(world: worlds.World) -> None:
    for _ in range(N):
        threads.customer_wrote(threads.start(world.ana).id, body="Where is ORD-1042?", client_id="1")


def waits_of(world: worlds.World) -> list[float]:
    """How long each turn took from its start, in seconds."""
    done = Turn.objects.filter(state=TurnState.DONE, ended_at__isnull=False)
    return [ended.timestamp() for ended in done.values_list("ended_at", flat=True) if ended]


async def main(endpoint_url: str, model_url: str) -> None:
    world = await in_thread(worlds.build, endpoint_url=endpoint_url)
    await in_thread(customers_write, world)
    process = AgentProcess(OpenAIModel(model_url, key="", name="bench"), writer=DemoModel())
    began = time.time()
    running = asyncio.create_task(process.run())
    while len(ended := await in_thread(waits_of, world)) < N:
        await asyncio.sleep(0.1)
    process.stop()
    await running
    samples = [moment - began for moment in ended]
    harness.report(f"{N} turns at once, a model that takes {MODEL_S:g} s", samples, ratio=max(samples) / MODEL_S)


if __name__ == "__main__":
    import ipaddress

    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    command = [sys.executable, "-m", "bench.model", str(MODEL_S)]
    with harness.endpoint() as url, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        try:
            asyncio.run(main(url, next(iter(model.stdout or ())).strip()))
        finally:
            model.terminate()
