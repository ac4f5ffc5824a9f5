"""The queue's page and a thread's page over HTTP, with few conversations in the workspace and with many."""

import sys
import time

from bench import harness

harness.prepare()

from django.test import Client  # noqa: E402

from bench._threads import fill  # noqa: E402
from conversations.models import Conversation  # noqa: E402
from team.models import Teammate  # noqa: E402

SMALL = 1_000
LARGE = 100_000
N = 60
WARM_UP = 5


def sample(teammate: Teammate, path: str) -> list[float]:
    """Seconds of each of N requests."""
    browser, took = Client(), []
    browser.force_login(teammate.user)
    for _ in range(WARM_UP):
        browser.get(path)
    for _ in range(N):
        began = time.perf_counter()
        answer = browser.get(path)
        took.append(time.perf_counter() - began)
        assert answer.status_code == 200  # noqa: S101  # a page that is refused is quick
    return took


def main(sizes: list[int]) -> None:
    base: dict[str, list[float]] = {}
    for size in sizes:
        teammate = fill(f"workspace-{size}", size)
        open_one = Conversation.objects.filter(workspace_id=teammate.workspace_id, status="open").latest("last_at")
        paths = {"queue": "/inbox/", "queue, mine": "/inbox/?f=mine", "queue, unread": "/inbox/?unread=1"}
        for name, path in (paths | {"thread": f"/inbox/{open_one.id}/"}).items():
            took = sample(teammate, path)
            ratio = harness.ratio_of(took, base.setdefault(name, took))
            harness.report(f"{name}, {size:,} conversations", took, ratio=ratio)


if __name__ == "__main__":
    main([SMALL, *(map(int, sys.argv[1:]) if len(sys.argv) > 1 else [LARGE])])
