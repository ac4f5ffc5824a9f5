"""The queue's page and a thread's page with 1,000, 100,000 and a million conversations in the workspace.

Each beside a bare Django page of the same rows; then a web process: requests a second, bytes, memory, its start.
`bin/bench pages 100000` takes other sizes; `--setup` only writes the rows (minutes for a million) for a later run.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench import harness

harness.prepare(keep=True)

from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

from approvals import decisions  # noqa: E402
from bench import _bare_pages  # noqa: E402
from bench._threads import fill  # noqa: E402
from conversations import threads  # noqa: E402
from conversations.models import Conversation, Customer, ItemKind  # noqa: E402
from team.models import Teammate  # noqa: E402
from tests.web_process import WebProcess, serving  # noqa: E402
from tools.models import Tool  # noqa: E402

SIZES = [1_000, 100_000, 1_000_000]
MESSAGES = 50
N = 20
ROUNDS = 5
WARM_UP = 10
AT_ONCE = 4


def thread_of(teammate: Teammate) -> Conversation:
    """The workspace's newest conversation: fifty items, the last of them a card that waits."""
    customer = Customer.objects.get(workspace_id=teammate.workspace_id, subject="user_1")
    if known := customer.conversations.exclude(id__endswith="-1").first():
        return known
    with transaction.atomic():
        conversation = threads.lock(threads.start(customer).id)
        agent = threads.agent_actor(conversation)
        for number in range(MESSAGES):
            kind, by = (ItemKind.AGENT, agent) if number % 2 else (ItemKind.CUSTOMER, customer.actor)
            threads.add(conversation, kind=kind, by=by, ref=str(number), body=f"Where is **ORD-{number}**? It is late.")
        tool = Tool.objects.get(workspace_id=teammate.workspace_id, name="refundOrder")
        decisions.request(conversation, tool=tool, input_text="{}", turn_id="turn", by=agent)
    return conversation


def sample(browser: Client, *paths: str) -> list[list[float]]:
    """Seconds of each of N requests for each of the paths, taken in turn."""
    took: list[list[float]] = [[] for _ in paths]
    for number in range(WARM_UP + N):
        for path, samples in zip(paths, took, strict=True):
            began = time.perf_counter()
            answer = browser.get(path)
            if number >= WARM_UP:
                samples.append(time.perf_counter() - began)
            assert answer.status_code == 200  # noqa: S101  # a page that is refused is quick
    return took


@contextmanager
def bare(browser: Client) -> Iterator[Client]:
    """The browser before Django with nothing that a bare page can do without."""
    with override_settings(ROOT_URLCONF="bench._bare_pages", MIDDLEWARE=_bare_pages.MIDDLEWARE):
        other = Client()
        other.cookies = browser.cookies
        yield other


def in_process(sizes: list[int]) -> dict[int, tuple[Client, dict[str, str]]]:
    """The lines of each size; gives its browser and paths."""
    pages: dict[int, tuple[Client, dict[str, str]]] = {}
    for size in sorted(sizes, reverse=True):  # the largest first: its indexes are built whole
        teammate = fill(f"threads-{size}", size)
        conversation = thread_of(teammate)
        browser = Client()
        browser.force_login(teammate.user)
        paths = {"mine": "/inbox/?f=mine", "unread": "/inbox/?unread=1", "queue": "/inbox/"}
        pages[size] = browser, paths | {"thread": f"/inbox/{conversation.id}/"}
    if "--setup" in sys.argv:
        return {}
    # All sizes in turn, so that what else the machine does is in all of them.
    few = min(sizes)
    for name in pages[few][1]:
        took: dict[int, list[float]] = {size: [] for size in sizes}
        for _ in range(ROUNDS):
            for size in sizes:
                browser, paths = pages[size]
                took[size] += sample(browser, paths[name])[0]
        for size in sizes:
            harness.report(f"{name}, {size:,} conversations", took[size], ratio=harness.ratio_of(took[size], took[few]))
    return pages


def against_bare(browser: Client, paths: dict[str, str], *, workspace_id: str) -> None:
    """Pages beside the least that a page of the same rows can cost."""
    for name, plain in {
        "queue": f"/bare/{workspace_id}/",
        "thread": f"/bare/{workspace_id}/{paths['thread'].split('/')[2]}/",
    }.items():
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):
            ours += sample(browser, paths[name])[0]
            with bare(browser) as other:
                theirs += sample(other, plain)[0]
        harness.report(f"{name}, a bare page of the same rows", theirs)
        harness.report(f"{name}, against that", ours, ratio=harness.ratio_of(ours, theirs))


def over_http(pages: dict[int, tuple[Client, dict[str, str]]]) -> None:
    """A web process: until it answers, one page after the other, several at once, bytes on the wire, its memory."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with serving(Path(folder) / "web.log", MEDIAN_DATABASE_POOL="1") as web:
            for number, (size, (browser, paths)) in enumerate(sorted(pages.items(), reverse=True)):
                cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
                with httpx.Client(base_url=web.url, trust_env=False, headers={"cookie": cookie}, timeout=60) as client:
                    client.get("/inbox/").raise_for_status()
                    if not number:
                        took = time.perf_counter() - began
                        harness.report("from the start of a web process to its first page", [took])
                    for name in ("queue", "thread"):
                        several(client, paths[name], name=f"{name}, {size:,} conversations")
            harness.report("memory of the web process", [memory(web) / 1000], unit="MB")


def several(client: httpx.Client, path: str, *, name: str) -> None:
    def get(_: int) -> float:
        began = time.perf_counter()
        with client.stream("GET", path) as answer:
            answer.raise_for_status()
            sizes.append(sum(map(len, answer.iter_raw())))
        return time.perf_counter() - began

    sizes: list[int] = []
    one = [get(0) for _ in range(WARM_UP + N)][WARM_UP:]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        began = time.perf_counter()
        took = list(pool.map(get, range(2 * N)))
        a_second = len(took) / (time.perf_counter() - began)
    harness.report(f"{name} over HTTP, one at a time", one, kilobytes=round(max(sizes) / 1000, 1))
    harness.report(f"{name} over HTTP, {AT_ONCE} at a time", took, a_second=round(a_second))


def memory(web: WebProcess) -> float:
    """Megabytes that the process holds."""
    status = Path(f"/proc/{web.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main(sizes: list[int]) -> None:
    if pages := in_process(sizes):
        browser, paths = pages[max(sizes)]
        against_bare(browser, paths, workspace_id=fill(f"threads-{max(sizes)}", max(sizes)).workspace_id)
        over_http(pages)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv if each.isdecimal()]
    main([SIZES[0], *given] if given else SIZES)
