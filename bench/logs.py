"""Pages of the log with any mix of filters, and text found and not found, in a small and in a large log."""

import random
import statistics
import sys
import time
from datetime import timedelta

from bench import harness

harness.prepare()

from django.db import connection  # noqa: E402

from median_site.dashboard import journal  # noqa: E402
from median_site.dashboard.journal import Filter, Page  # noqa: E402
from median_site.dashboard.keyset import Place  # noqa: E402
from team.models import Workspace  # noqa: E402

SMALL = 100_000
LARGE = 1_000_000
MIXES = 60
REPEATS = 3
# As a workspace has them: 40 tools and 20 people, of whom the later ones are rare; one event in 200 failed.
ROWS = """
insert into team_event (workspace_id, kind, type, outcome, at, actor_kind, actor_id, actor_name, conversation_id,
                        subject_id, tool_name, data)
select %(workspace)s,
       case when tools then 'run.completed' else 'message.customer' end,
       case when tools then 'tools' when n %% 97 = 0 then 'team' else 'conversations' end,
       case when n %% 200 = 0 then 'failed' when tools then 'ran' else '' end,
       now() - n * interval '1 second',
       case when n %% 3 = 0 then 'teammate' else 'agent' end,
       case when n %% 3 = 0 then 'person-' || floor(20 * power(random(), 3)) else '' end,
       case when n %% 3 = 0 then 'Person ' || n %% 20 else 'Median AI' end,
       'conversation-' || n / 12,
       case when tools then 'call_' || lpad(to_hex(n), 32, '0') else '' end,
       case when tools then 'tool' || floor(40 * power(random(), 3)) else '' end,
       case when tools then '{"label": "A tool", "risk": "low", "code": ""}'::jsonb else '{}'::jsonb end
from (select n, n %% 4 = 0 as tools from generate_series(1, %(rows)s) n) numbers
"""


def fill(slug: str, rows: int) -> str:
    """A workspace with so many events; gives its id."""
    workspace = Workspace.objects.create(slug=slug, name=slug)
    with connection.cursor() as cursor:
        cursor.execute(ROWS, {"workspace": workspace.id, "rows": rows})
    return workspace.id


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


def sample(workspace_id: str, by: Filter, *, before: Place | None = None) -> tuple[float, Page]:
    """The quickest of some tries: what the work takes when nothing else is in the way."""
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        page = journal.page(workspace_id, by=by, before=before)
        took.append(time.perf_counter() - began)
    return min(took), page


def main(large: int) -> None:
    small_id, large_id = fill("small", SMALL), fill("large", large)
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze team_event")
    filters = mixes(MIXES)
    in_small = [sample(small_id, by)[0] for by in filters]
    in_large = [sample(large_id, by)[0] for by in filters]
    ratio = statistics.median(over / under for over, under in zip(in_large, in_small, strict=True))
    harness.report(f"a mix of filters, {SMALL:,} events", in_small)
    harness.report(f"a mix of filters, {large:,} events", in_large, ratio=ratio)
    plain = [sample(large_id, Filter())[0] for _ in range(20)]
    harness.report("the newest page, no filter", plain)
    newest = sample(large_id, Filter())[1].events[0]
    place = Place(newest.at - timedelta(seconds=large / 2), "0")
    middle = [sample(large_id, Filter(), before=place)[0] for _ in range(20)]
    harness.report("a page in the middle", middle, ratio=harness.ratio_of(middle, plain))
    for name, text in (("found everywhere", "median"), ("found nowhere", "xyzzy"), ("a call id", f"call_{64:032x}")):
        took = [sample(large_id, Filter(q=text))[0] for _ in range(5)]
        harness.report(f"text {name}, against the newest page", took, ratio=harness.ratio_of(took, plain))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
