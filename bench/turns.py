"""500 turns in flight in one agent process, against a model that takes two seconds for each answer."""

import argparse
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

MODEL_S = 2.0
# What the model is asked; the benchmark's model calls a tool first when it reads the second.
QUESTIONS = {1: "Where is my order?", 2: "Look up ORD-1042, please."}


def customers_write(world: worlds.World, *, turns: int, steps: int) -> None:
    for _ in range(turns):
        threads.customer_wrote(threads.start(world.ana).id, body=QUESTIONS[steps], client_id="1")


def ended() -> list[float]:
    """When each turn ended, in seconds since the epoch."""
    done = Turn.objects.filter(state=TurnState.DONE)
    return [moment.timestamp() for moment in done.values_list("ended_at", flat=True) if moment]


async def measure(world: worlds.World, model_url: str, *, turns: int, steps: int) -> None:
    """From the start of a process that finds so many customers waiting to the end of the last one's turn."""
    await in_thread(Turn.objects.all().delete)
    await in_thread(customers_write, world, turns=turns, steps=steps)
    process = AgentProcess(OpenAIModel(model_url, key="", name="bench"), writer=DemoModel())
    began = time.time()
    running = asyncio.create_task(process.run())
    while len(moments := await in_thread(ended)) < turns:
        await asyncio.sleep(0.1)
    process.stop()
    await running
    samples = [moment - began for moment in moments]
    name = f"{turns} turns at once, {steps} model step{'s' * (steps > 1)} of {MODEL_S:g} s each"
    harness.report(name, samples, ratio=max(samples) / (MODEL_S * steps))


async def main(endpoint_url: str, model_url: str, *, turns: int) -> None:
    world = await in_thread(worlds.build, endpoint_url=endpoint_url)
    for steps in QUESTIONS:
        await measure(world, model_url, turns=turns, steps=steps)


if __name__ == "__main__":
    import ipaddress

    parser = argparse.ArgumentParser(prog="bin/bench turns")
    parser.add_argument("turns", nargs="?", type=int, default=500)
    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    command = [sys.executable, "-m", "bench.model", str(MODEL_S)]
    with harness.endpoint() as url, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        try:
            asyncio.run(main(url, next(iter(model.stdout or ())).strip(), turns=parser.parse_args().turns))
        finally:
            model.terminate()
