"""The Dashboard over HTTP: what it counts, over which time, and what a new workspace sees."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import decisions
from approvals.models import ToolApproval
from conversations import threads
from conversations.models import Conversation
from median_site.dashboard import charts, figures
from median_site.dashboard.figures import Day
from median_site.lib import clock
from median_site.lib.actors import system
from team import events
from team.events import Kind
from team.models import Event, Teammate
from tests.approvals.requests import request
from tests.dashboard.test_approvals_page import ask
from tests.dashboard.threads_at_hand import many, write
from tests.tampering import tampering
from tests.world import World
from tools.models import ToolRun

SignIn = Callable[[Teammate], Client]
MINUTE = timedelta(minutes=1)


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index("<main") :]).split())


def run(
    world: World, tool: str, *, ago: timedelta, state: str = "completed", error: str = "", by: str = "agent"
) -> None:
    """A call that ended so long ago."""
    ended = clock.now() - ago
    world.fernhill.runs.create(
        endpoint_id="e", tool_name=tool, tool_label=tool.title(), risk="low", input="{}", started_by=by,
        state=state, queued_at=ended, ended_at=ended, error=error,
    )  # fmt: skip


def test_it_counts_open_and_unread_threads_requests_and_failed_runs(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)
    for row in many(world, 2):
        threads.take_over(row.id, by=world.sam.actor)

    said = words(browser_of(world.sam).get("/").content.decode())

    assert "Open threads 3 1 with Median AI, 2 with the team or nobody" in said
    assert "Unread 1 Of the open threads, by you" in said
    assert re.search(r"Waiting for approval 1 The oldest since \d\d:\d\d", said)
    assert "Runs that failed, 7 days 0 Of 0 runs" in said
    assert re.search(r"High risk|Refund order Ana Souza since \d\d:\d\d", said)
    assert re.search(r"Who has the open threads Now Sam Okafor You 2 Median AI 1|Median AI 1 Sam Okafor You 2", said)
    assert re.search(r"\w+ \d+ \w+( \d{4})?, counted at \d\d:\d\d", said)


def test_a_new_workspace_sees_what_to_do_first(world: World, browser_of: SignIn) -> None:
    page = browser_of(world.mallory).get("/").content.decode()

    assert "Nothing has happened yet" in page
    assert 'href="/agent/tools/"' in page
    assert "<svg viewBox=" not in page


def test_requests_are_counted_by_the_day_that_they_ended_over_fourteen_days(world: World) -> None:
    today = datetime(2026, 6, 14, 12, tzinfo=UTC)
    by, kinds = system(world.fernhill.id), [Kind.APPROVED, Kind.APPROVED, Kind.DENIED, Kind.EXPIRED]
    for days_ago in (0, 13, 14):
        with clock.at(today - timedelta(days=days_ago)):
            for kind in kinds:
                events.record(kind, by=by, data={"because": "unanswered"})
    with tampering():
        Event.objects.filter(kind=Kind.DENIED, at=today).update(workspace=world.elsewhere)

    with clock.at(today):
        found = figures.days(world.fernhill.id)

    assert (len(found), found[0].date.isoformat(), found[-1].date.isoformat()) == (14, "2026-06-01", "2026-06-14")
    assert [(day.approved, day.denied, day.expired) for day in (found[0], found[-1])] == [(2, 1, 1), (2, 0, 1)]
    assert sum(day.total for day in found) == 7


def test_the_median_is_of_what_teammates_decided_in_fourteen_days(world: World) -> None:
    for minutes, row in zip([2, 4, 6, 60, 600], many(world, 5), strict=True):
        made = ask(world, row)
        decisions.deny(made.id, by=world.sam.actor)
        ToolApproval.objects.filter(id=made.id).update(decided_at=made.requested_at + minutes * MINUTE)
    old, by_reviewer, elsewhere = [ask(world, row) for row in many_more(world, 3)]
    for made in (old, by_reviewer, elsewhere):
        decisions.deny(made.id, by=world.sam.actor)
    ToolApproval.objects.filter(id=old.id).update(decided_at=clock.now() - timedelta(days=15))
    ToolApproval.objects.filter(id=by_reviewer.id).update(decided_by_kind="reviewer")
    ToolApproval.objects.filter(id=elsewhere.id).update(workspace=world.elsewhere)

    found = figures.deciding(world.fernhill.id)

    assert (found.count, found.spread[1:4]) == (5, [4 * MINUTE, 6 * MINUTE, 60 * MINUTE])
    assert figures.deciding(world.mallory.workspace_id).count == 1


def many_more(world: World, count: int) -> list[Conversation]:
    """More conversations, of Ana."""
    return [threads.start(world.ana) for _ in range(count)]


def test_failing_tools_come_with_how_often_of_how_many_and_the_last_fault(world: World, browser_of: SignIn) -> None:
    run(world, "refund", ago=MINUTE, state="failed", error="The endpoint did not answer in time.")
    run(world, "refund", ago=2 * MINUTE, state="failed", error="The endpoint answered 500.")
    run(world, "refund", ago=timedelta(days=8), state="failed")
    run(world, "refund", ago=MINUTE, state="failed", by="test")
    for tool in ["refund", "status", "status", "invoice"]:
        run(world, tool, ago=MINUTE)

    found = figures.runs(world.fernhill.id)
    said = words(browser_of(world.sam).get("/").content.decode())

    assert [(row.name, row.failed, row.total, row.fault) for row in found.failing] == [
        ("refund", 2, 3, "The endpoint did not answer in time.")
    ]
    assert (found.failed, found.total, found.others, found.others_total) == (2, 6, 2, 3)
    assert "Runs that failed, 7 days 2 Of 6 runs" in said
    assert "Refund 2 of 3 The endpoint did not answer in time. 2 other tools ran 3 times without a failure." in said


def test_the_chart_has_its_totals_in_words_and_a_table_behind_it(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)

    page = browser_of(world.sam).get("/").content.decode()

    label = "Requests a day over 14 days: 1 approved, 0 denied, 0 expired. The table below has each day."
    assert f'role="img" aria-label="{label}"' in page
    assert len(re.findall(r'<tr><th scope="row">', page)) == 14
    assert page.count('<td class="n">1</td>') == 1
    assert '<rect class="c-approved" x="529" y="0.0" width="22" height="120.0"/>' in page
    assert "One decision by a teammate, over 14 days." in page


@pytest.mark.parametrize(
    ("most", "scale"), [(0, [1, 0]), (1, [1, 0]), (4, [4, 3, 2, 1, 0]), (13, [15, 10, 5, 0]), (1_000, [1000, 500, 0])]
)
def test_the_scale_ends_at_a_round_number(most: int, scale: list[int]) -> None:
    chart = charts.chart([Day(clock.now().date(), approved=most)])

    assert [value for value, _ in chart.scale] == scale
    assert chart.bars[0].parts == ([("c-approved", 120 - most * 120 / scale[0], most * 120 / scale[0])] if most else [])


@pytest.mark.parametrize(
    ("length", "said"),
    [(40, ("40", "s")), (89, ("89", "s")), (360, ("6", "min")), (5_400, ("1.5", "h")), (7_200, ("2", "h"))],
)
def test_a_time_is_said_as_people_do(length: int, said: tuple[str, str]) -> None:
    assert charts.duration(timedelta(seconds=length)) == said


def test_the_cost_does_not_grow_with_what_is_counted(world: World, browser_of: SignIn) -> None:
    browser = browser_of(world.sam)
    write(world)
    run(world, "refund", ago=MINUTE, state="failed")
    with CaptureQueriesContext(connection) as few:
        browser.get("/")
    for row in many(world, 8):
        ask(world, row)
        run(world, f"tool{row.id}", ago=MINUTE, state="failed")

    with CaptureQueriesContext(connection) as more:
        browser.get("/")

    # Session, person and teammate, days, deciding, threads, waiting, runs and faults, endpoints, counts.
    assert (len(few), len(more)) == (10, 10)


def test_nothing_of_another_workspace_is_counted_and_strangers_go_to_the_inbox(
    world: World, browser_of: SignIn
) -> None:
    write(world)
    request(world)
    run(world, "refund", ago=MINUTE, state="failed")

    assert "Ana Souza" not in (page := browser_of(world.mallory).get("/").content.decode())
    assert "Nothing has happened yet" in page
    assert Client().get("/").headers["Location"] == "/inbox/"
    assert browser_of(world.sam).post("/").status_code == 405
    assert ToolRun.objects.count() == 1


def test_the_page_holds_no_inline_script_style_or_handler(world: World, browser_of: SignIn) -> None:
    request(world)

    page = browser_of(world.kim).get("/").content.decode()

    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", page)
