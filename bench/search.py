"""Searching the queue among few and many conversations, with a call in each: words that are everywhere, rare, nowhere,
names, a name and a word, and order numbers that only a call's input has."""

import sys
import time

from bench import harness

harness.prepare()

from django.db import connection  # noqa: E402

from bench._threads import fill  # noqa: E402
from median_site.dashboard import queue  # noqa: E402
from median_site.dashboard.queue import Filter  # noqa: E402
from team.models import Teammate  # noqa: E402

SMALL = 10_000
LARGE = 100_000
N = 15
TEXTS = {
    "a word that is everywhere": "order",
    "a word in one of a hundred": "word42",
    "an order number": "ORD-7042",
    "a word that is nowhere": "xyzzy",
    "the beginnings of many words": "wo or no",
    "a customer's name": "customer 7042",
    "a piece of every address": "example",
    "an order number in a call": "CALL-7042",
    "a piece of some calls' numbers": "CALL-70",
    "a name and a word": "c7042 word54",
    "a name and an order in a call": "c7042 CALL-7042",
    "a name that everybody has, and a word that is nowhere": "customer xyzzy",
}
CALLS = """
insert into tools_toolrun (workspace_id, id, conversation_id, endpoint_id, tool_name, tool_label, risk, input,
    started_by, by_id, by_name, turn_id, client_id, tested_as, tested_in, state, queued_at, ended_at, code, error,
    detail, raw, raw_flags, for_model, headline)
select workspace_id, 'call-' || id, id, 'endpoint', 'orderStatus', 'Order status', 'low',
    '{"orderNumber":"CALL-' || split_part(id, '-', 2) || '"}', 'agent', '', '', '', '', '', '', 'completed', last_at,
    last_at, '', '', '', '{}', '[]', '{}', 'Found'
from conversations_conversation where workspace_id = %s
"""


def prepare(slug: str, rows: int) -> Teammate:
    """A workspace with so many conversations, and a call in each; gives a teammate of it."""
    teammate = fill(slug, rows)
    with connection.cursor() as cursor:
        cursor.execute(CALLS, [teammate.workspace_id])
        cursor.execute("vacuum analyze tools_toolrun")
    return teammate


def sample(teammate: Teammate, text: str) -> list[float]:
    """Seconds of each of N searches."""
    took = []
    for _ in range(N):
        began = time.perf_counter()
        queue.page(teammate, by=Filter(q=text, status="any"))
        took.append(time.perf_counter() - began)
    return took


def main(large: int) -> None:
    few, many = prepare("few", SMALL), prepare("many", large)
    for name, text in TEXTS.items():
        base, samples = sample(few, text), sample(many, text)
        harness.report(f"{name}, {SMALL:,} conversations", base)
        harness.report(f"{name}, {large:,} conversations", samples, ratio=harness.ratio_of(samples, base))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
