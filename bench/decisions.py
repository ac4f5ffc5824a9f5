"""Decisions: against the bare statements in process and over HTTP, how many a second, and how soon the call arrives."""

import asyncio
import ipaddress
import json
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import httpx

from bench import harness

os.environ["MEDIAN_DATABASE_POOL"] = "true"  # as in the web and agent processes
harness.prepare()

from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

from agent.loop import AgentProcess  # noqa: E402
from agent.models.demo import DemoModel  # noqa: E402
from approvals import decisions  # noqa: E402
from approvals.models import ToolApproval  # noqa: E402
from bench import _bare_press as bare  # noqa: E402
from conversations import threads  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import agent_process  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.approvals.racers import HEAD_START_S, PEOPLE, Racers, Script, racing  # noqa: E402
from tools import calls  # noqa: E402
from tools.models import Endpoint, ToolRun  # noqa: E402

N = 200
WARM_UP = 20
RACED = 640
STOCK_SESSIONS, STOCK_BACKEND = "django.contrib.sessions.backends.db", "django.contrib.auth.backends.ModelBackend"
INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'


def request(world: worlds.World) -> str:
    with transaction.atomic():
        conversation = threads.lock(threads.start(world.ana).id)
        agent = threads.agent_actor(conversation)
        tool = world.tool("refundOrder")
        return decisions.request(conversation, tool=tool, input_text=INPUT, turn_id="turn", by=agent).id


def requests(world: worlds.World, count: int) -> list[str]:
    return [request(world) for _ in range(count)]


async def in_process(world: worlds.World, url: str) -> None:
    """Decide, send, record the result, against an update, a POST and an update; and with as many commits as ours."""
    samples: dict[str, list[float]] = {"two commits": [], "three commits": [], "decided": [], "ours": []}
    body = json.dumps({"tool": "refundOrder", "input": json.loads(INPUT)}).encode()
    asked = iter(await in_thread(requests, world, 3 * (N + WARM_UP)))
    await in_thread(harness.settle)
    async with httpx.AsyncClient(trust_env=False) as client:

        async def bare_sequence(approval_id: str, *, claiming: bool) -> None:
            await in_thread(bare.decide, approval_id)
            if claiming:
                await in_thread(bare.claim, approval_id)
            await client.post(url, content=body, headers={"content-type": "application/json"})
            await in_thread(bare.settle, approval_id)

        async def decide(approval_id: str) -> None:
            await in_thread(decisions.approve, approval_id, by=world.sam.actor)

        for number, (one, two, other) in enumerate(zip(asked, asked, asked, strict=True)):
            took = [await harness.timed(partial(bare_sequence, one, claiming=False))]
            took.append(await harness.timed(partial(bare_sequence, two, claiming=True)))
            took.append(await harness.timed(partial(decide, other)))
            took.append(took[-1] + await harness.timed(partial(calls.send, other)))
            if number >= WARM_UP:
                for kept, sample in zip(samples.values(), took, strict=True):
                    kept.append(sample)
    await calls.close()
    harness.report("update, POST, update", samples["two commits"])
    harness.report("update, update, POST, update", samples["three commits"])
    harness.report("the decision alone", samples["decided"])
    for against in ("two commits", "three commits"):
        ratio = harness.ratio_of(samples["ours"], samples[against])
        harness.report(f"decision, call and result, against the bare {against}", samples["ours"], ratio=ratio)


def signed_in(world: worlds.World, *, stock: bool = False) -> Client:
    """Sam's browser with a CSRF token. A session, and whom it means, is read by our classes, or by Django's own."""
    with override_settings(SESSION_ENGINE=STOCK_SESSIONS if stock else settings.SESSION_ENGINE):
        client = Client(enforce_csrf_checks=True, headers={"X-Median-As": world.sam.id, "HX-Request": "true"})
        client.get("/accounts/login/")
        client.force_login(world.sam.user, backend=STOCK_BACKEND if stock else None)
    return client


@override_settings(
    ROOT_URLCONF="bench._bare_press",
    ALLOWED_HOSTS=["testserver"],
    AUTHENTICATION_BACKENDS=[*settings.AUTHENTICATION_BACKENDS, STOCK_BACKEND],
)
def over_http(world: worlds.World) -> None:
    """A press with session and CSRF token, against a view that does only the update."""
    clients = {"bare": signed_in(world, stock=True), "ours": signed_in(world)}
    samples: dict[str, list[float]] = {"bare": [], "ours": []}
    for number in range(N + WARM_UP):
        paths = {"bare": f"/bare/{request(world)}", "ours": f"/approvals/{request(world)}/approve"}
        for kind, path in paths.items():
            token = clients[kind].cookies[settings.CSRF_COOKIE_NAME].value
            began = time.perf_counter()
            answer = clients[kind].post(path, headers={"X-CSRFToken": token})
            if number >= WARM_UP:
                samples[kind].append(time.perf_counter() - began)
            if answer.status_code != 200:
                raise SystemExit(f"{path} answered {answer.status_code}")
    harness.report("a press, a bare view", samples["bare"])
    harness.report(
        "a press, with the card as its answer, against that", samples["ours"],
        ratio=harness.ratio_of(samples["ours"], samples["bare"]),
    )  # fmt: skip


def at_once(world: worlds.World) -> None:
    """Decisions a second by one, eight and sixty-four people on connections of their own."""
    who = ["teammate", world.fernhill.id, world.sam.id, world.sam.name]
    os.environ.pop("MEDIAN_DATABASE_POOL")  # the others each have a connection of their own
    with racing(agent_process.database_url()) as racers:
        decide(world, racers, people=PEOPLE, count=10 * PEOPLE, who=who)  # connected, and its plans kept
        for people in (1, 8, 64):
            took = decide(world, racers, people=people, count=RACED, who=who)
            harness.report(f"{people} deciding", [took / RACED], a_second=round(RACED / took))


def decide(world: worlds.World, racers: Racers, *, people: int, count: int, who: list[str]) -> float:
    """Seconds that so many people take for so many decisions."""
    asked = requests(world, count)
    scripts: list[Script] = [[] for _ in range(PEOPLE)]
    for place in range(people):
        scripts[place * PEOPLE // people] = [(0, "approve", [each, who]) for each in asked[place::people]]
    began = time.perf_counter()
    racers.race(scripts)
    return time.perf_counter() - began - HEAD_START_S


@asynccontextmanager
async def arrivals() -> AsyncIterator[tuple[str, asyncio.Queue[float]]]:
    """An endpoint of this process: its URL, and the moments at which calls arrived."""
    came: asyncio.Queue[float] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"post"):
                    came.put_nowait(time.perf_counter())
                await reader.readexactly(int((re.search(rb"content-length: (\d+)", head) or [b"", b"0"])[1]))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/tools", came


async def until_received(world: worlds.World) -> None:
    """From the press to the call's arrival, with an agent process at work."""
    samples = []
    process = AgentProcess(DemoModel())
    async with arrivals() as (url, came):
        await in_thread(lambda: Endpoint.objects.filter(id=world.endpoint.id).update(url=url))
        await in_thread(lambda: ToolApproval.objects.all().delete())
        working = asyncio.create_task(process.run())
        for number in range(N + WARM_UP):
            approval_id = await in_thread(request, world)
            began = time.perf_counter()
            await in_thread(decisions.approve, approval_id, by=world.sam.actor)
            arrived = await came.get()
            if number >= WARM_UP:
                samples.append(arrived - began)
        process.stop()
        await working
    harness.report("from the press until the endpoint has the call", samples)


def main() -> None:
    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    with harness.endpoint() as url:
        world = worlds.build(endpoint_url=url)
        asyncio.run(in_process(world, url))
        over_http(world)
        at_once(world)
    ToolRun.objects.all().delete()
    asyncio.run(until_received(world))


if __name__ == "__main__":
    main()
