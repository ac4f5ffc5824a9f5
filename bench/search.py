"""Searching the queue among few and many conversations, with a call in each: words that are everywhere, rare, nowhere,
names, a name and a word, order numbers that only a call's input has, and what many order numbers begin with.

`bin/bench search 100000` takes another size than a million; the rows are those of `bin/bench pages`, and kept.
"""

import sys
import time

from bench import harness

harness.prepare(keep=True)

from bench._threads import fill  # noqa: E402
from median_site.dashboard import queue  # noqa: E402
from median_site.dashboard.queue import Filter  # noqa: E402
from team.models import Teammate  # noqa: E402

SMALL = 10_000
LARGE = 1_000_000
N = 15
TEXTS = {
    "a word that is everywhere": "order",
    "a word in one of a hundred": "word42",
    "an order number": "ORD-7042",
    "the beginning of one order number in a hundred": "ORD-70",
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


def sample(teammate: Teammate, text: str) -> list[float]:
    """Seconds of each of N searches."""
    took = []
    for _ in range(N):
        began = time.perf_counter()
        queue.page(teammate, by=Filter(q=text, status="any"))
        took.append(time.perf_counter() - began)
    return took


def main(large: int) -> None:
    many, few = fill(f"threads-{large}", large), fill(f"threads-{SMALL}", SMALL)
    for name, text in TEXTS.items():
        base, samples = sample(few, text), sample(many, text)
        harness.report(f"{name}, {SMALL:,} conversations", base)
        harness.report(f"{name}, {large:,} conversations", samples, ratio=harness.ratio_of(samples, base))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
