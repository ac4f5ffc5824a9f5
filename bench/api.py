"""The API with a thousand and a million requests: listing, deciding beside the page's press, a thousand held answers.

`bin/bench api 100000` takes another size; the rows are those of `bin/bench pages`, and kept.
"""

import asyncio
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import httpx

from bench import harness

os.environ["MEDIAN_DATABASE_POOL"] = "true"  # as in the web process
harness.prepare(keep=True)

from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402

from approvals import decisions  # noqa: E402
from approvals.models import State, ToolApproval  # noqa: E402
from bench._threads import fill  # noqa: E402
from median_site.api import listing  # noqa: E402
from median_site.lib.db import in_thread  # noqa: E402
from team import api_keys  # noqa: E402
from team.models import Teammate  # noqa: E402
from tests.web_process import WebProcess, serving  # noqa: E402

SMALL = 1_000
LARGE = 1_000_000
N = 100
WARM_UP = 10
POLLS = 1_000
ENDED = 20
LISTS = {
    "the newest requests": "",
    "ten of those that wait": "?status=pending&limit=10",
    "those of a tool": "?tool=refundOrder",
    "those of a tool that were denied": "?tool=refundOrder&status=denied",
}


class Program:
    """Speaks to the API, with a new key before the minute's allowance of the last one is used up."""

    def __init__(self, teammate: Teammate) -> None:
        self._teammate, self._asked = teammate, 0

    def ask(self, path: str, *, method: str = "get") -> float:
        """Seconds."""
        if self._asked % 100 == 0:
            self._client = Client(headers={"Authorization": f"Bearer {new_key(self._teammate)}"})
        self._asked += 1
        return timed(self._client, f"/v1/tool-approvals{path}", method=method)


def new_key(teammate: Teammate) -> str:
    return api_keys.create(teammate.workspace, name="bench", scopes=api_keys.SCOPES)[1]


def timed(client: Client, path: str, *, method: str = "get") -> float:
    began = time.perf_counter()
    answer = client.generic(method.upper(), path)
    took = time.perf_counter() - began
    assert answer.status_code == 200, answer.content  # noqa: S101  # what is refused is quick
    return took


def lists(few: Teammate, many: Teammate, *, large: int) -> None:
    """A page of each list, and one deep in the largest, in turn in both workspaces."""
    in_few, in_many = Program(few), Program(many)
    plain: list[float] = []
    for name, query in LISTS.items():
        base, took = [], []
        for _ in range(WARM_UP + N):
            base.append(in_few.ask(query))
            took.append(in_many.ask(query))
        plain = plain or took
        harness.report(f"{name}, {SMALL:,} requests", base[WARM_UP:])
        harness.report(f"{name}, {large:,} requests", took[WARM_UP:], ratio=harness.ratio_of(took, base))
    middle = ToolApproval.objects.get(id=f"call_{many.workspace.slug}-{large // 2}")
    place = listing.cursor_of(middle.requested_at, middle.id)
    deep = [in_many.ask(f"?cursor={place}") for _ in range(N)]
    harness.report("a page in the middle, against the newest", deep, ratio=harness.ratio_of(deep, plain))


def waiting(teammate: Teammate, count: int) -> list[str]:
    """Ids of so many requests that wait, those with the most time left."""
    rows = ToolApproval.objects.filter(workspace_id=teammate.workspace_id, state=State.PENDING).order_by("-expires_at")
    return list(rows.values_list("id", flat=True)[:count])


def deciding(teammate: Teammate) -> None:
    """Approving through the API beside the press of a page, in turn."""
    program, browser = Program(teammate), Client(headers={"X-Median-As": teammate.id, "HX-Request": "true"})
    browser.force_login(teammate.user)
    asked = iter(waiting(teammate, 2 * (WARM_UP + N)))
    pressed, called = [], []
    for one, other in zip(asked, asked, strict=True):
        pressed.append(timed(browser, f"/approvals/{one}/approve", method="post"))
        called.append(program.ask(f"/{other}/approve", method="post"))
    harness.report("approving, the page's press", pressed[WARM_UP:])
    harness.report("approving, the API", called[WARM_UP:], ratio=harness.ratio_of(called, pressed))


class Poll:
    """A request that is held until what it asks about changes."""

    def __init__(self, approval_id: str) -> None:
        self.approval_id = approval_id

    async def begin(self, port: int, *, key: str) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        path = f"/v1/tool-approvals/{self.approval_id}?wait=60"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n"
        self._writer.write(head.encode())

    async def answer(self) -> bytes:
        return await self._reader.readline()

    def close(self) -> None:
        self._writer.close()


def pages(web: WebProcess, *, cookie: str) -> list[float]:
    """Seconds of each of N queue pages of the process."""
    took = []
    with httpx.Client(base_url=web.url, trust_env=False, headers={"cookie": cookie}, timeout=60) as client:
        for _ in range(WARM_UP + N):
            began = time.perf_counter()
            client.get("/inbox/").raise_for_status()
            took.append(time.perf_counter() - began)
    return took[WARM_UP:]


async def holding(teammate: Teammate, web: WebProcess) -> None:
    """Pages of a process that holds a thousand answers, and how soon one of those comes after its decision."""
    browser = Client()
    await in_thread(browser.force_login, teammate.user)
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    alone = await in_thread(partial(pages, web, cookie=cookie))
    key = await in_thread(new_key, teammate)
    polls = [Poll(each) for each in await in_thread(waiting, teammate, POLLS)]
    for poll in polls:
        await poll.begin(web.port, key=key)
    beside = await in_thread(partial(pages, web, cookie=cookie))
    harness.report("the queue's page, nothing held", alone)
    harness.report(
        f"the queue's page beside {len(polls):,} held answers", beside, ratio=harness.ratio_of(beside, alone)
    )
    took = []
    for poll in polls[:ENDED]:
        began = time.perf_counter()
        await in_thread(decisions.deny, poll.approval_id, by=teammate.actor)
        assert await poll.answer() == b"HTTP/1.1 200 OK\r\n"  # noqa: S101
        took.append(time.perf_counter() - began)
    harness.report("from a decision to its held answer", took)
    for poll in polls:
        poll.close()


def main(large: int) -> None:
    many, few = fill(f"threads-{large}", large), fill(f"threads-{SMALL}", SMALL)
    lists(few, many, large=large)
    deciding(many)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "web.log", MEDIAN_DATABASE_POOL="1") as web,
    ):
        asyncio.run(holding(many, web))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
