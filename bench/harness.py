"""What the benchmarks share: a migrated database, timing, and the shape of a printed result."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import django
from django.core.management import call_command
from django.db import connection


def prepare(*, keep: bool = False) -> None:
    """Django on the benchmark's database, migrated, and emptied unless what is there is to be kept."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "median_site.settings")
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    if not keep:
        call_command("flush", interactive=False, verbosity=0)


def settle() -> None:
    """What a running installation's autovacuum has done by the time: the planner knows the tables."""
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze")


def report(
    name: str, samples: Sequence[float], *, ratio: float | None = None, unit: str = "ms", **more: object
) -> None:
    """Print one line. `samples` are seconds."""
    ordered = sorted(samples)
    line: dict[str, object] = {
        "name": name,
        "n": len(ordered),
        "median": round(statistics.median(ordered) * 1000, 3),
        "p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000, 3),
        "unit": unit,
    }
    if ratio is not None:
        line["ratio"] = round(ratio, 3)
    sys.stdout.write(json.dumps(line | more) + "\n")
    sys.stdout.flush()


def ratio_of(samples: Sequence[float], base: Sequence[float]) -> float:
    """How the medians compare."""
    return statistics.median(samples) / statistics.median(base)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds that one piece of asynchronous work takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


@contextmanager
def endpoint() -> Iterator[str]:
    """The URL of an endpoint in a process of its own that answers every POST with the same small JSON object."""
    with subprocess.Popen([sys.executable, "-m", "bench.endpoint"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield next(iter(process.stdout or ())).strip()
        finally:
            process.terminate()
