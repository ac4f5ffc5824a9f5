"""The Logs page with any mix of filters, and text found and not found, in a small and in a large log.

`bin/bench logs 1000000` takes another size than ten million; `--setup` only writes the rows (minutes) for a later run.
"""

import random
import statistics
import sys
import time
from datetime import timedelta
from typing import Self

from bench import harness

harness.prepare(keep=True)

from django.test import Client  # noqa: E402

from bench._events import fill  # noqa: E402
from median_site.dashboard.journal import Filter  # noqa: E402
from median_site.dashboard.keyset import Place  # noqa: E402
from median_site.lib import clock  # noqa: E402
from team.models import Teammate  # noqa: E402

SMALL = 100_000
LARGE = 10_000_000
MIXES = 60
REPEATS = 3
TEXTS = {
    "found everywhere": Filter(q="median"),
    "found nowhere": Filter(q="xyzzy"),
    "of several words, found nowhere": Filter(q="agent tool xyzzy"),
    "found nowhere, with filters": Filter(q="xyzzy", type="conversations", actor="agent"),
    "that is a call's id": Filter(q=f"call_{64:032x}"),
    "that is a piece of a call's id": Filter(q=f"{64:031x}"),
}


def mixes(count: int) -> list[Filter]:
    """Filters by one thing or several, common and rare ones, some of which nothing matches."""
    chance = random.Random(1)  # noqa: S311  # the same mixes in every run
    parts = {
        "type": ["tools", "team", "conversations"],
        "tool": [f"tool{number}" for number in range(0, 40, 3)],
        "actor": ["agent", "system", *(f"person-{number}" for number in range(0, 20, 3))],
        "outcome": ["ran", "failed", "refused"],
        "conversation": ["conversation-17", "conversation-4000"],
        "time": ["24h", "7d", "30d"],
    }
    chosen = [chance.sample(list(parts), chance.randint(1, 4)) for _ in range(count)]
    return [Filter(**{name: chance.choice(parts[name]) for name in names}) for names in chosen]


class Logs:
    """The page as a teammate's browser asks for it."""

    def __init__(self, teammate: Teammate) -> None:
        self.browser = Client()
        self.browser.force_login(teammate.user)

    def took(self, by: Filter, *, before: str = "") -> float:
        """The quickest of some tries: what the page takes when nothing else is in the way."""
        return min(self._once(by, before=before) for _ in range(REPEATS))

    def took_beside(self, other: Self, by: Filter) -> tuple[float, float]:
        """The same by turns with another log, so that whatever slows the machine slows both."""
        took = [(self._once(by), other._once(by)) for _ in range(2 * REPEATS)]
        return min(mine for mine, _ in took), min(others for _, others in took)

    def _once(self, by: Filter, *, before: str = "") -> float:
        path = f"/logs/{by.query(**{'before': before} if before else {})}"
        began = time.perf_counter()
        answer = self.browser.get(path)
        took = time.perf_counter() - began
        assert answer.status_code == 200  # noqa: S101  # a page that is refused is quick
        return took


def main(large: int) -> None:
    few, many = Logs(fill("logs-few", SMALL)), Logs(fill(f"logs-{large}", large))
    if "--setup" in sys.argv:
        return
    in_few, in_many = zip(*(few.took_beside(many, by) for by in mixes(MIXES)), strict=True)
    ratios = [over / under for over, under in zip(in_many, in_few, strict=True)]
    harness.report(f"a mix of filters, {SMALL:,} events", in_few)
    harness.report(
        f"a mix of filters, {large:,} events",
        in_many,
        ratio=statistics.median(ratios),
        worst_ratio=round(max(ratios), 3),
    )
    plain = [many.took(Filter()) for _ in range(20)]
    harness.report("the newest page, no filter", plain)
    place = str(Place(clock.now() - timedelta(seconds=large / 2), "0"))
    middle = [many.took(Filter(), before=place) for _ in range(20)]
    harness.report("a page in the middle", middle, ratio=harness.ratio_of(middle, plain))
    for name, by in TEXTS.items():
        took = [many.took(by) for _ in range(5)]
        harness.report(f"text {name}, against the newest page", took, ratio=harness.ratio_of(took, plain))


if __name__ == "__main__":
    main(int(next(filter(str.isdecimal, sys.argv), LARGE)))
