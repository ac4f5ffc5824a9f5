"""A sync of 100 tools beside a bare httpx GET and one upsert of 100 rows; its statements; an OpenAPI import of 1 MB."""

import asyncio
import json
import time

import httpx

from bench import _openapi, harness

harness.prepare()

from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from median_site.lib import secrets  # noqa: E402
from median_site.lib.actors import system  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.manifest_server import ManifestServer, manifest_server  # noqa: E402
from tools import manifest, openapi, storing, sync  # noqa: E402
from tools.models import Endpoint, EndpointSync, Tool  # noqa: E402

N = 100
WARM_UP = 10
TOOLS = 100
DOCUMENTS = 30


def tools(version: int) -> list[dict[str, object]]:
    """Each with a schema of its own, which no earlier version had."""
    made: list[dict[str, object]] = []
    for n in range(TOOLS):
        schema = worlds.REFUND | {"description": f"Of tool {n}, version {version}."}
        made.append({"name": f"tool{n}", "description": f"Version {version}.", "risk": "high", "input": schema})
    return made


def upsert(rows: list[Tool], version: int) -> None:
    """The floor of a sync in which everything changed: one statement for 100 rows, and its commit."""
    for row in rows:
        row.description = f"Version {version}."
    Tool.objects.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=storing.FILLED)


def add(world: worlds.World, url: str) -> Endpoint:
    return Endpoint.objects.create(workspace=world.fernhill, url=url, sealed_secret=secrets.seal(worlds.SECRET))


def forget(endpoint: Endpoint) -> None:
    """No limit of ten a minute here."""
    EndpointSync.objects.filter(endpoint=endpoint).delete()


def statements(endpoint: Endpoint, count: int) -> int:
    """How many it takes to store that many tools, all of them changed."""
    kept = tools(count)[:count]
    served = manifest.parse(json.dumps({"version": 1, "tools": kept}).encode())
    forget(endpoint)
    with CaptureQueriesContext(connection) as captured:
        sync.store(endpoint, served)
    return len(captured)


async def main(served: ManifestServer) -> None:
    endpoint = await in_thread(lambda: add(worlds.build(), served.url))
    by = system(endpoint.workspace_id)
    samples: dict[str, list[float]] = {"get": [], "floor": [], "not modified": [], "same": [], "changed": []}
    async with httpx.AsyncClient(trust_env=False) as client:

        async def get() -> None:
            json.loads((await client.get(served.url)).content)

        async def get_and_upsert() -> None:
            await get()
            await in_thread(upsert, rows, number)

        async def run() -> None:
            await sync.run(endpoint.id, by=by)

        for number in range(N + WARM_UP):
            await in_thread(forget, endpoint)
            served.tools, served.etag = tools(number), ""
            taken = {"changed": await harness.timed(run), "same": await harness.timed(run)}
            served.etag = f'"{number}"'
            await run()
            taken |= {"not modified": await harness.timed(run), "get": await harness.timed(get)}
            rows = await in_thread(lambda: list(Tool.objects.filter(endpoint=endpoint)))
            taken["floor"] = await harness.timed(get_and_upsert)
            if number >= WARM_UP:
                for name, took in taken.items():
                    samples[name].append(took)
    harness.report("bare httpx GET of 100 tools, parsed", samples["get"])
    harness.report("the same GET and one upsert of 100 rows", samples["floor"])
    for name, words in (("not modified", "answered 304"), ("same", "nothing changed"), ("changed", "all 100 changed")):
        harness.report(f"sync, {words}", samples[name], ratio=harness.ratio_of(samples[name], samples["floor"]))
    for count in (1, TOOLS):
        many = await in_thread(statements, endpoint, count)
        harness.report(f"statements of a sync, tools changed: {count}", [0.0], statements=many)


def imports() -> None:
    """Each document is new to the process, as the one that a person imports is."""
    parsed: list[float] = []
    read: list[float] = []
    for number in range(DOCUMENTS):
        document = _openapi.description(number)
        began = time.perf_counter()
        json.loads(document)
        between = time.perf_counter()
        made = openapi.read(document)
        read.append(time.perf_counter() - between)
        parsed.append(between - began)
    size, count = len(document), len(made.operations)
    harness.report("OpenAPI document, its JSON parsed", parsed, bytes=size)
    harness.report("OpenAPI document, imported", read, ratio=harness.ratio_of(read, parsed), operations=count)


if __name__ == "__main__":
    import ipaddress

    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    with manifest_server() as server:
        asyncio.run(main(server))
    imports()
