"""No list's cost grows with its table: of 20,000 rows each filter and mix reads few, by an index, and sorts few. The
plans are those of the statements that the pages and the API really send."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench._events import ROWS as EVENTS
from bench._threads import STATEMENTS, TABLES
from median_site.dashboard import journal
from team import api_keys
from team.models import Teammate
from tests.world import World

SignIn = Callable[[Teammate], Client]

ROWS = 20_000
# What a list may read of a table: a page, or what is looked through for what stands in no index.
FEW = 2_500
LARGE = {
    "conversations_conversation",
    "conversations_customer",
    "conversations_item",
    "approvals_toolapproval",
    "tools_toolrun",
    "team_event",
}


def mixes(path: str, parts: Mapping[str, Sequence[str]]) -> list[str]:
    """The path with each value of each part, with each two of them, and with none."""
    asked = [(name, value) for name, values in parts.items() for value in values]
    some = [mix for size in range(3) for mix in combinations(asked, size) if len(dict(mix)) == size]
    return [f"{path}?{urlencode(mix)}" for mix in some]


QUEUE = {
    "f": ["all", "approval", "mine", "agent", "unassigned", "mentions"],
    "status": ["open", "resolved", "closed", "snoozed", "any"],
    "channel": ["", "email"],
    "unread": ["", "1"],
}
LOGS = {
    "type": ["tools", "syncs"],
    "tool": ["tool0", "none"],
    "actor": ["agent", "person-1"],
    "outcome": ["failed", "denied"],
    "time": ["24h"],
    "conversation": ["conversation-17"],
    "q": ["xyzzy", "median"],
}
APPROVALS = {
    "status": ["waiting", "denied", "failed"],
    "tool": ["refundOrder", "none"],
    "risk": ["high", "reviewed"],
}
REQUESTS = {
    "status": ["denied", "pending", "failed"],
    "tool": ["refundOrder", "none"],
    "conversation": ["many-7"],
}
PLACE = "before=2020-01-01T00:00:00%2B00:00_1"
PAGES = [
    *(f"/inbox/?{urlencode(dict(zip(QUEUE, mix, strict=True)))}" for mix in product(*QUEUE.values())),
    *mixes("/logs/", LOGS),
    *mixes("/approvals/", APPROVALS),
    *(f"{path}?{PLACE}" for path in ("/inbox/", "/logs/", "/approvals/", "/customers/")),
    *("/customers/", "/customers/?q=customer", "/customers/many-u7/"),
]
LISTS = [
    *mixes("/v1/tool-approvals", REQUESTS),
    *mixes("/v1/conversations", {"status": ["open", "closed"]}),
    *mixes("/v1/events", {"type": ["tools", "team"], "newest": ["true"]}),
]


@pytest.fixture
def mallory(world: World, monkeypatch: pytest.MonkeyPatch) -> Teammate:
    """Their workspace has 20,000 conversations, requests, calls and events."""
    monkeypatch.setattr(journal, "LOOK", 1_000)
    workspace_id = world.elsewhere.id
    values: dict[str, str | int] = {"rows": ROWS, "messages": 1, "prefix": "many-"}
    values |= {"workspace": workspace_id, "teammate": world.mallory.id}
    with connection.cursor() as cursor:
        cursor.execute("set local session_replication_role = replica")
        for statement in [*STATEMENTS, EVENTS]:
            cursor.execute(statement, values)
        cursor.execute(f"analyze {', '.join([*TABLES, 'team_event'])}")
    return world.mallory


def test_no_list_reads_or_sorts_its_table(mallory: Teammate, browser_of: SignIn) -> None:
    browser = browser_of(mallory)
    key = api_keys.create(mallory.workspace, name="Backoffice", scopes=api_keys.SCOPES)[1]

    program = Client(headers={"Authorization": f"Bearer {key}"})
    asked = [(browser, path) for path in PAGES] + [(program, path) for path in LISTS]

    found = [f"{path}: {what}" for client, path in asked for what in costs(client, path)]

    assert not found, "\n".join(found)


def costs(client: Client, path: str) -> Iterator[str]:
    """What is wrong with the plans of the statements that a request sends."""
    with CaptureQueriesContext(connection) as statements:
        assert client.get(path).status_code == 200
    for statement in statements.captured_queries:
        sql = statement["sql"] or ""  # what the server has planned already comes without its text
        if sql.lstrip().upper().startswith("SELECT") and any(f'FROM "{table}"' in sql for table in LARGE):
            with connection.cursor() as cursor:
                cursor.execute(f"explain (analyze, timing off, summary off, format json) {sql.replace('%', '%%')}", [])
                (plan,) = cursor.fetchone()
            yield from wrong(json.loads(plan)[0]["Plan"] if isinstance(plan, str) else plan[0]["Plan"])


def wrong(node: dict[str, Any]) -> Iterator[str]:
    for below in node.get("Plans", []):
        yield from wrong(below)
        if node["Node Type"] == "Sort" and below["Actual Rows"] * below["Actual Loops"] > FEW:
            yield f"sorts {below['Actual Rows']:.0f} rows"
    if node.get("Relation Name") in LARGE:
        read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        if read > FEW or node["Node Type"] == "Seq Scan":
            yield f"{node['Node Type']} of {node['Relation Name']} by {node.get('Index Name')} reads {read:.0f} rows"


def test_no_index_is_the_beginning_of_another(db: None) -> None:
    """Each costs every write. (Django's own tables are as they come.)"""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            select short.indexrelid::regclass::text, long.indexrelid::regclass::text
              from pg_index short join pg_index long using (indrelid)
             where short.indexrelid <> long.indexrelid and not short.indisunique
               and short.indpred is null and long.indpred is null
               and short.indexprs is null and long.indexprs is null
               and array_to_string(long.indkey, ',') || ',' like array_to_string(short.indkey, ',') || ',%%'
               and indrelid::regclass::text !~ '^(auth|account|django|mfa|pg|usersessions)_'
               and indrelid::regclass::text !~ '^information_schema'
            """
        )
        assert cursor.fetchall() == []
