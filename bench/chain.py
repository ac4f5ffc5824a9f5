"""The log's chain: what it costs writers, how fast a backlog is linked, and how fast a log is verified.

`bin/bench chain 5000` takes a shorter log.
"""

import sys
import threading
import time

from bench import harness

harness.prepare()

from django.db import connections  # noqa: E402
from median_tools import chain as verifier  # noqa: E402

from median_site.lib.actors import Actor, ActorKind  # noqa: E402
from median_site.lib.strict_json import Json  # noqa: E402
from team import chain, events  # noqa: E402
from team.events import Entry, Kind  # noqa: E402
from team.models import Event, Workspace  # noqa: E402

ROWS = 20_000
WRITERS = 8
EACH = 600


def entry(workspace_id: str, number: int) -> Entry:
    data: dict[str, Json] = {"label": "Refund order", "risk": "high", "number": number, "amount": 48.5}
    return Entry(kind=Kind.NOTE_LEFT, by=Actor(ActorKind.SYSTEM, workspace_id), data=data)


def writing(workspace_id: str, *, chainers: int) -> list[float]:
    """Seconds that each event took, written one by one by WRITERS at once. Chainers look each second, as agents do."""
    took: list[float] = []
    written = threading.Event()

    def write() -> None:
        for number in range(EACH):
            began = time.perf_counter()
            events.record_all([entry(workspace_id, number)])
            took.append(time.perf_counter() - began)
        connections.close_all()

    def link() -> None:
        while not written.wait(1):
            while chain.link_all():
                pass
        connections.close_all()

    writers = [threading.Thread(target=write) for _ in range(WRITERS)]
    linkers = [threading.Thread(target=link) for _ in range(chainers)]
    for thread in [*writers, *linkers]:
        thread.start()
    for thread in writers:
        thread.join()
    written.set()
    for thread in linkers:
        thread.join()
    return took


def main(rows: int) -> None:
    workspace = Workspace.objects.create(slug="bench", name="Bench")
    alone = writing(workspace.id, chainers=0)
    while chain.link_all():
        pass
    harness.report("write an event, 8 writers", alone)
    with_chainers = writing(workspace.id, chainers=2)
    harness.report("the same beside 2 chainers", with_chainers, ratio=harness.ratio_of(with_chainers, alone))

    while chain.link_all():
        pass
    for first in range(0, rows, 500):
        events.record_all(entry(workspace.id, first + number) for number in range(500))
    took = []
    began = time.perf_counter()
    while linked := chain.link_all():
        took.append((time.perf_counter() - began) / linked)
        began = time.perf_counter()
    harness.report("link an event of a backlog", took, rows=rows)

    found = Event.objects.filter(workspace=workspace).order_by("position").iterator(2_000)
    began = time.perf_counter()
    verified = verifier.verify(chain.shown(event) for event in found)
    harness.report("read and verify the log", [time.perf_counter() - began], rows=verified.rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
