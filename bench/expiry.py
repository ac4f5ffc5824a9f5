"""Expiry over a million open requests: a sweep with nothing to do, a thousand due, and very many due at once.

`bin/bench expiry 100000 20000` takes fewer, and lets so many fall due, in ten parts.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from bench import harness

harness.prepare()

from django.db import connection, connections  # noqa: E402

from approvals import decisions, expiry  # noqa: E402
from approvals.models import ToolApproval  # noqa: E402
from bench import _bulk  # noqa: E402
from median_site.lib import clock  # noqa: E402
from tests import world as worlds  # noqa: E402

FEW = 10_000
DUE = 1_000
ROUNDS = 5
IDLE = 200
TABLES = ("conversations_conversation", "approvals_toolapproval", "conversations_item")


def run(sql: str, *values: str | int | datetime | None) -> list[tuple[datetime, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall()) if cursor.description else []


def fill(world: worlds.World, *, first: int, last: int) -> None:
    """Conversations with one open request and its card each, due between tomorrow and the day after."""
    with _bulk.loading(*TABLES, rows=last - first + 1):
        insert(world, first=first, last=last)


def insert(world: worlds.World, *, first: int, last: int) -> None:
    tool = world.tool("refundOrder")
    run(
        "insert into conversations_conversation (workspace_id, id, customer_id, channel, status, handler, version,"
        " attention, excerpt, last_at, waiting, mark, mark_label, claims, tool_version, created_at)"
        " select %s, 'c' || n, %s, 'widget', 'open', 'agent', 2, 1, '', now(), 1, 'waiting', 'Refund order', '{}', 0,"
        " now() from generate_series(%s::int, %s::int) n",
        world.fernhill.id, world.ana.id, first, last,
    )  # fmt: skip
    run(
        "insert into approvals_toolapproval (workspace_id, id, conversation_id, tool_id, endpoint_id, tool_name,"
        " tool_label, description, risk, schema_hash, input, turn_id, state, requested_at, expires_at, decided_by_kind,"
        " decided_by_id, decided_by_name, reason, review, review_reason, expired_because, told_in_turn)"
        " select %s, 'call_' || n, 'c' || n, %s, %s, 'refundOrder', 'Refund order', '', 'high', '', '{}', '',"
        " 'pending', now(), now() + interval '1 day' + n * interval '0.08 second', '', '', '', '', '', '', '', ''"
        " from generate_series(%s::int, %s::int) n",
        world.fernhill.id, tool.id, tool.endpoint_id, first, last,
    )  # fmt: skip
    run(
        "insert into conversations_item (workspace_id, conversation_id, number, version, kind, text, replaced,"
        " author_id, author_name, model, ref, created_at)"
        " select %s, 'c' || n, 2, 2, 'approval', '', false, '', '', '', 'call_' || n, now()"
        " from generate_series(%s::int, %s::int) n",
        world.fernhill.id, first, last,
    )  # fmt: skip


def make_due(first: int, last: int) -> None:
    """The checkpoint makes their pages as cold as those of requests that have waited for a day."""
    run(
        "update approvals_toolapproval set expires_at = now() - interval '1 day' + n * interval '0.08 second'"
        " from generate_series(%s::int, %s::int) n where id = 'call_' || n",
        first, last,
    )  # fmt: skip
    run("checkpoint")


def timed(work: Callable[[], object], *, times: int = 1) -> list[float]:
    samples = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        samples.append(time.perf_counter() - began)
    return samples


def a_thousand(places: Iterator[int]) -> list[float]:
    """Seconds for a sweep that finds a thousand due, five times."""
    samples = []
    for _ in range(ROUNDS):
        first = next(places)
        make_due(first, first + DUE - 1)
        samples += timed(expiry.expire_due)
    return samples


def bare_sweep() -> None:
    """The same rows by nothing but a keyset update in batches, each with its commit."""
    at = datetime.min.replace(tzinfo=UTC)
    while True:
        rows = run(
            "with due as (select id, expires_at from approvals_toolapproval where state in ('reviewing', 'pending')"
            " and expires_at <= now() and expires_at > %s order by expires_at, id limit %s)"
            " update approvals_toolapproval a set state = 'expired', expired_because = 'unanswered' from due"
            " where a.id = due.id and a.state in ('reviewing', 'pending') returning due.expires_at",
            at, expiry.BATCH,
        )  # fmt: skip
        if not rows:
            return
        at = max(row[0] for row in rows)


def denied(world: worlds.World, approval_id: str) -> float:
    """Seconds that a decision takes."""
    return timed(lambda: decisions.deny(approval_id, by=world.sam.actor))[0]


class Deciding:
    """A teammate who goes on deciding what is not due; `samples` are seconds a decision."""

    def __init__(self, world: worlds.World, ids: list[str]) -> None:
        self.samples: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._decide, args=(world, ids))

    def __enter__(self) -> "Deciding":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _decide(self, world: worlds.World, ids: list[str]) -> None:
        for approval_id in ids:
            if self._over.wait(0.02):
                break
            self.samples.append(denied(world, approval_id))
        connections.close_all()


def main(many: int = 1_000_000, at_once: int = 900_000) -> None:
    world = worlds.build()
    fill(world, first=1, last=FEW)
    few = a_thousand(iter(range(1, FEW, DUE)))
    harness.report(f"{DUE:,} due of {FEW:,}", few)
    fill(world, first=FEW + 1, last=many)
    run("vacuum analyze")

    select_1 = timed(lambda: run("select 1"), times=300)
    nothing = timed(expiry.expire_due, times=300)
    harness.report("select 1", select_1)
    harness.report(
        f"a sweep with nothing due of {many:,}, against select 1", nothing, ratio=harness.ratio_of(nothing, select_1)
    )
    thousand = a_thousand(iter(range(FEW + 1, many, DUE)))
    harness.report(
        f"{DUE:,} due of {many:,}, against {DUE:,} of {FEW:,}", thousand, ratio=harness.ratio_of(thousand, few)
    )

    kept = FEW + (ROUNDS + 2) * DUE
    not_due = [f"call_{n}" for n in range(kept - DUE + 1, kept)]
    idle = [denied(world, approval_id) for approval_id in not_due[:IDLE]]
    part = min(at_once, many - kept) // (2 * ROUNDS)
    bare: list[float] = []
    ours: list[float] = []
    meanwhile: list[float] = []
    # By turns, so that what else the machine does is in both; and decisions go on beside both.
    for number in range(ROUNDS):
        first = kept + 1 + 2 * number * part
        make_due(first, first + part - 1)
        with Deciding(world, not_due[IDLE + 2 * number :: 2 * ROUNDS]):
            bare += timed(bare_sweep)
        make_due(first + part, first + 2 * part - 1)
        with Deciding(world, not_due[IDLE + 2 * number + 1 :: 2 * ROUNDS]) as deciding:
            ours += timed(expiry.expire_due)
        meanwhile += deciding.samples
    us = {name: round(sum(took) / (ROUNDS * part) * 1e6, 1) for name, took in (("bare", bare), ("ours", ours))}
    harness.report(f"{part:,} of {many:,} due at once, the bare update", bare, a_row_us=us["bare"])
    harness.report(
        f"{part:,} due at once, with lines and events, against the bare update", ours,
        ratio=harness.ratio_of(ours, bare), a_row_us=us["ours"],
    )  # fmt: skip
    harness.report("a decision while nothing expires", idle)
    ratio = harness.ratio_of(meanwhile, idle)
    harness.report("a decision meanwhile, against that", meanwhile, ratio=ratio)
    if ToolApproval.objects.due(clock.now()).exists():
        raise SystemExit("The sweep left something due.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
