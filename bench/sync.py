"""A sync of 100 tools, signed and stored, beside a bare httpx GET of the same manifest; and its statements."""

import asyncio
import json

import httpx

from bench import harness

harness.prepare()

from django.conf import settings  # noqa: E402
from django.db import connection  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from median_site.lib import secrets  # noqa: E402
from median_site.lib.actors import system  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.manifest_server import ManifestServer, manifest_server  # noqa: E402
from tools import manifest, sync  # noqa: E402
from tools.models import Endpoint, EndpointSync  # noqa: E402

N = 100
WARM_UP = 10
TOOLS = 100


def tools(version: int) -> list[dict[str, object]]:
    return [
        {"name": f"tool{n}", "description": f"Version {version}.", "risk": "high", "input": worlds.REFUND}
        for n in range(TOOLS)
    ]


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
    samples: dict[str, list[float]] = {"bare": [], "same": [], "changed": []}
    async with httpx.AsyncClient(trust_env=False) as client:

        async def get() -> None:
            json.loads((await client.get(served.url)).content)

        async def run() -> None:
            await sync.run(endpoint.id, by=by)

        for number in range(N + WARM_UP):
            await in_thread(forget, endpoint)
            served.tools = tools(number)
            taken = {
                "changed": await harness.timed(run),
                "same": await harness.timed(run),
                "bare": await harness.timed(get),
            }
            if number >= WARM_UP:
                for name, took in taken.items():
                    samples[name].append(took)
    harness.report("bare httpx GET of 100 tools", samples["bare"])
    harness.report("sync, nothing changed", samples["same"], ratio=harness.ratio_of(samples["same"], samples["bare"]))
    ratio, many = harness.ratio_of(samples["changed"], samples["bare"]), await in_thread(statements, endpoint, TOOLS)
    harness.report("sync, all 100 changed", samples["changed"], ratio=ratio, statements=many)


if __name__ == "__main__":
    import ipaddress

    settings.MEDIAN_ALLOWED_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]
    with manifest_server() as server:
        asyncio.run(main(server))
