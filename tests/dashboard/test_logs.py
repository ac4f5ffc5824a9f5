"""The Logs page and its export: what a filter lists, page by page, what an event says, and who may take it away."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from markupsafe import escape

from approvals import decisions
from median_site.dashboard import export, journal, log_rows
from median_site.dashboard.journal import Filter
from median_site.dashboard.sentences import sentence
from median_site.lib import clock, live
from median_site.lib.actors import Actor, ActorKind, system
from median_site.lib.db import in_thread
from team import events
from team.events import Kind
from team.models import Event, Teammate
from tests import world as worlds
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import write
from tests.tampering import tampering
from tests.world import World

SignIn = Callable[[Teammate], Client]
NOON = datetime(2026, 6, 3, 12, tzinfo=UTC)


def log(world: World, kind: Kind = Kind.NOTE_LEFT, *, ago: int = 0, by: Actor | None = None, **fields: Any) -> Event:
    """An event of Fernhill, so many minutes before NOON."""
    with clock.at(NOON - timedelta(minutes=ago)):
        return events.record(kind, by=by or world.sam.actor, **fields)


def ids(page: str) -> list[int]:
    return [int(found) for found in re.findall(r'<li id="event-(\d+)"', page)]


def test_the_newest_stands_first_by_its_time_under_its_day(world: World, browser_of: SignIn) -> None:
    with tampering():
        Event.objects.all().delete()
    newest, yesterday, earlier = log(world), log(world, ago=24 * 60), log(world, ago=5)

    page = browser_of(world.sam).get("/logs/").content.decode()

    assert ids(page) == [newest.id, earlier.id, yesterday.id]
    assert re.findall(r'<h2 class="log-day">([^<]+)</h2>', page)[0].startswith("Wednesday 3 June")
    assert '">12:00:00</time>' in page
    assert f"/inbox/{world.conversation.id}/" not in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"note", "asked", "ran", "refused", "failed", "synced", "key"}),
        ("?type=conversations", {"note"}),
        ("?type=tools", {"asked", "ran", "refused", "failed"}),
        ("?type=syncs", {"synced"}),
        ("?type=team", {"key"}),
        ("?tool=refundOrder", {"asked", "ran"}),
        ("?outcome=failed", {"failed"}),
        ("?outcome=refused", {"refused"}),
        ("?actor=agent", {"asked"}),
        ("?actor={sam}", {"note", "key"}),
        ("?actor=system", {"ran", "refused", "failed", "synced"}),
        ("?conversation={conversation}", {"note", "asked"}),
        ("?type=tools&tool=refundOrder&outcome=ran&actor=system", {"ran"}),
        ("?since=2026-06-03", {"note", "asked", "ran"}),
        ("?until=2026-06-02", {"refused", "failed", "synced", "key"}),
        ("?since=2026-06-02&until=2026-06-02", {"refused", "failed"}),
        ("?q=refund", {"asked", "ran"}),
        ("?q=SAM+left", {"note"}),
        ("?q=okafor+note", {"note"}),
        ("?q=100%25", set()),
        ("?q={call}", {"ran"}),
        ("?q={conversation}", {"note", "asked"}),
        ("?type=x&outcome=x&since=x&time=x", {"note", "asked", "ran", "refused", "failed", "synced", "key"}),
        ("?tool=%00&q=%00", set()),
    ],
)  # fmt: skip
def test_filters(query: str, expected: set[str], world: World, browser_of: SignIn) -> None:
    with tampering():
        Event.objects.all().delete()
    agent, median = Actor(ActorKind.AGENT, world.fernhill.id, name="Median AI"), system(world.fernhill.id)
    thread, call = world.conversation.id, f"call_{'0' * 31}1"
    made = {
        "note": log(world, conversation_id=thread),
        "asked": log(world, Kind.APPROVAL_REQUESTED, ago=1, by=agent, tool_name="refundOrder", conversation_id=thread),
        "ran": log(world, Kind.RUN_COMPLETED, ago=2, by=median, tool_name="refundOrder", subject_id=call),
        "refused": log(world, Kind.RUN_COMPLETED, ago=1500, by=median, tool_name="orderStatus", data={"refused": "no"}),
        "failed": log(world, Kind.RUN_FAILED, ago=1501, by=median, tool_name="orderStatus", data={"code": "timed_out"}),
        "synced": log(world, Kind.ENDPOINT_SYNCED, ago=3000, by=median, data={"url": "https://shop.example/tools"}),
        "key": log(world, Kind.SIGNING_KEY_ROTATED, ago=3001),
    }
    asked = query.format(sam=world.sam.id, conversation=thread, call=call)

    page = browser_of(world.sam).get(f"/logs/{asked}").content.decode()

    assert {name for name, event in made.items() if event.id in ids(page)} == expected
    assert len(ids(page)) == len(expected)
    assert ("Clear the filters" in page) == (not expected)


def test_pages_go_both_ways_without_gap_or_repeat(world: World, browser_of: SignIn) -> None:
    with tampering():
        Event.objects.all().delete()
    made = [log(world).id for _ in range(journal.PAGE * 2 + 5)][::-1]

    down, up = down_and_up(browser_of(world.sam), "/logs/")

    assert [each for found in down for each in found] == made
    assert up == [made[-5:], made[50:100], made[:50]]


def down_and_up(browser: Client, path: str) -> tuple[list[list[int]], list[list[int]]]:
    """The ids on each page of a list from its first one to its last, and on the way back."""

    down = list(walk(browser, path))
    return [ids(page) for _, page in down], [ids(page) for _, page in walk(browser, down[-1][0], rel="prev")]


def walk(browser: Client, path: str, *, rel: str = "next") -> Iterator[tuple[str, str]]:
    """The pages of a list from this one on, with their paths."""
    while path:
        page = browser.get(path).content.decode()
        yield path, page
        link = re.search(rf'rel="{rel}" href="([^"]+)"', page)
        path = f"/logs/{link[1]}".replace("&amp;", "&") if link else ""


def test_a_wide_filter_looks_so_far_at_once_and_says_so(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tampering():
        Event.objects.all().delete()
    monkeypatch.setattr(journal, "LOOK", 10)
    monkeypatch.setattr(journal, "LOOK_FIRST", 4)
    for minute in range(25):
        log(world, ago=minute)
    rare = log(world, Kind.HTTP_TOOL_SAVED, ago=30, data={"label": "Kettle"})

    *before, last = [page for _, page in walk(browser_of(world.sam), "/logs/?q=kettle")]

    assert [ids(page) for page in before] == [[], []]
    for page in before:
        assert re.search(r"Nothing found back to Wednesday 3 June( \d+)? at 11:\d\d\.", page)
    assert ids(last) == [rare.id]


def test_where_looking_ends_no_event_is_missed_on_either_way(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tampering():
        Event.objects.all().delete()
    monkeypatch.setattr(journal, "LOOK", 10)
    monkeypatch.setattr(journal, "LOOK_FIRST", 4)
    made = [log(world, ago=minute).id for minute in range(35)]
    at_the_ends = [log(world, Kind.HTTP_TOOL_SAVED, ago=ago, data={"label": "Kettle"}).id for ago in (9, 10, 19, 29)]
    browser = browser_of(world.sam)

    everything, back = down_and_up(browser, "/logs/?q=okafor")
    rare, rare_back = down_and_up(browser, "/logs/?q=kettle")

    assert sorted(each for found in everything for each in found) == sorted(made + at_the_ends)
    assert [each for found in rare for each in found] == at_the_ends
    # The way back ends with the newest page, which may show some once more.
    assert {each for found in back for each in found} == {*made, *at_the_ends}
    assert {each for found in rare_back for each in found} == {*at_the_ends}


def test_the_cost_does_not_grow_with_what_is_on_it(world: World, browser_of: SignIn) -> None:
    for number in range(60):
        write(world, client_id=f"m{number}")
    browser = browser_of(world.sam)

    costs = []
    for query in ["", "?tool=refundOrder", "?q=souza", "?type=conversations&outcome=failed"]:
        with CaptureQueriesContext(connection) as queries:
            browser.get(f"/logs/{query}")
        costs.append(len(queries))

    # Session, person and teammate, events, customers, tools, people, the chain's head, the rail; a wide filter also
    # its edge.
    assert costs == [8, 7, 9, 8]


def test_an_event_opens_to_all_of_it_with_the_ways_to_go_on(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.kim.actor)

    page = browser_of(world.sam).get("/logs/?outcome=approved").content.decode()

    (event,) = Event.objects.filter(kind=Kind.APPROVED)
    for expected in [
        "Kim approved running Refund order",
        '<span class="tag">Approved</span>',
        f'<a href="/approvals/{approval.id}/"><code>{approval.id}</code></a>',
        f'<a href="/inbox/{world.conversation.id}/"><bdi>Ana Souza</bdi></a>',
        f'<a href="/logs/?conversation={world.conversation.id}">its events</a>',
        f'<a href="/customers/{world.ana.id}/"><bdi>Ana Souza</bdi></a>',
        f"&#34;id&#34;: {event.id},",
        "&#34;kind&#34;: &#34;approval.approved&#34;",
    ]:
        assert expected in page


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        (Kind.CUSTOMER_WROTE, {}, "Sam wrote"),
        (Kind.RUN_COMPLETED, {"started_by": "agent", "risk": "low"}, "Median AI ran Refund order"),
        (Kind.RUN_COMPLETED, {"started_by": "agent", "risk": "high"}, "Refund order ran"),
        (Kind.RUN_COMPLETED, {"refused": "too_late"}, "Refund order ran, and the tool refused: too_late"),
        (Kind.RUN_COMPLETED, {"started_by": "teammate", "risk": "high"}, "Sam ran Refund order"),
        (Kind.RUN_COMPLETED, {"started_by": "session_start"}, "Refund order ran at the start of the conversation"),
        (Kind.RUN_COMPLETED, {"started_by": "test", "by": "Kim Ito"}, "Kim Ito tested Refund order"),
        (Kind.RUN_FAILED, {"started_by": "test", "by": "Kim Ito", "code": "timed_out"},
         "Refund order did not run in a test by Kim Ito: The endpoint did not answer in time."),
        (Kind.RUN_FAILED, {"code": "timed_out"}, "Refund order did not run: The endpoint did not answer in time."),
        (Kind.RUN_FAILED, {"code": "bad_status", "http_status": 500},
         "Refund order did not run: The endpoint answered 500."),
        (Kind.RUN_STUCK, {}, "Refund order did not run: the call never reported back"),
        (Kind.EXPIRED, {"because": "unanswered"}, "The request to run Refund order expired unanswered"),
        (Kind.TOOL_SWITCHED, {"on": False}, "Sam switched off Refund order"),
        (Kind.SYNC_FAILED, {"url": "https://a.example", "code": "timeout"},
         "https://a.example could not be synced: The endpoint did not answer in time."),
        (Kind.SESSION_REFUSED, {"reason": "Expired."}, "A session token was refused: Expired."),
        ("lesson.forgotten", {}, "Sam: lesson forgotten"),
    ],
)  # fmt: skip
def test_what_an_event_says(kind: str, data: dict[str, object], said: str, world: World) -> None:
    event = Event(
        workspace=world.fernhill, kind=kind, actor_kind="teammate", actor_name="Sam Okafor", tool_name="refundOrder",
        data=data | {"label": "Refund order"},
    )  # fmt: skip

    assert sentence(event, agent="Median AI") == said


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_words_and_a_type(kind: Kind, world: World) -> None:
    data = {"because": "unanswered", "reason": "x", "label": "L", "code": "timeout", "url": "https://a.example"}
    data |= {"to": "Kim", "from": "Sam", "until": NOON.isoformat()}
    event = log(world, kind, data=data)

    assert sentence(event, agent="Median AI")
    assert event.type in {"conversations", "tools", "syncs", "team"}


def test_nobody_of_another_workspace_sees_an_event(world: World, browser_of: SignIn) -> None:
    event = log(world, conversation_id=world.conversation.id)
    with tampering():
        Event.objects.filter(workspace=world.elsewhere).delete()
    browser = browser_of(world.mallory)

    for query in [
        "",
        f"?conversation={world.conversation.id}",
        f"?q={world.conversation.id}",
        f"?actor={world.sam.id}",
    ]:
        page = browser.get(f"/logs/{query}").content.decode()
        assert ids(page) == []
        assert "Ana Souza" not in page
    assert log_rows.push(live.Ask(world.elsewhere.id, str(event.id), 0, frozenset())) == []
    assert log_rows.push(live.Ask(world.elsewhere.id, world.conversation.id, 0, frozenset())) == []


def test_a_push_is_the_row_of_the_page_with_what_filters_ask_for(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)
    page = browser_of(world.sam).get("/logs/").content.decode()

    pushed = log_rows.push(live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset()))
    back = log_rows.push(live.Ask(world.fernhill.id, "", int(clock.now().timestamp() * 1000), frozenset()))

    assert [push.payload["facets"]["type"] for push in pushed] == ["conversations", "conversations", "tools"]  # type: ignore[index]
    assert all(str(push.payload["html"]) in page for push in pushed)
    assert {push.payload["id"] for push in pushed} <= {push.payload["id"] for push in back}
    assert pushed[-1].payload["facets"] == {
        "type": "tools", "tool": "refundOrder", "outcome": "asked", "conversation": world.conversation.id,
        "actor_kind": "agent", "actor_id": "",
    }  # fmt: skip


def test_the_newest_page_follows_and_others_do_not(world: World, browser_of: SignIn) -> None:
    event, browser = log(world), browser_of(world.sam)
    place = quote(f"{event.at.isoformat()}_{event.id}")

    assert (
        'data-filter="{&#34;tool&#34;: [&#34;refundOrder&#34;]}"'
        in browser.get("/logs/?tool=refundOrder").content.decode()
    )
    for query in ["?q=x", "?until=2026-06-03", f"?before={place}"]:
        assert 'id="follow"' not in browser.get(f"/logs/{query}").content.decode()
    assert 'id="follow"' in browser.get(f"/logs/?after={place}").content.decode()
    assert browser.get("/logs/?before=nonsense&after=2026-01-01_x").status_code == 200


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("+1+1", "'+1+1"), ("-2+3", "'-2+3"), ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"), ("\r=1", "'\r=1"), ("＝1+1", "'＝1+1"), ("-5", "-5"), ("-5.25", "-5.25"), ("+5", "'+5"),
        ("Ana", "Ana"), ("", ""), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_a_cell_is_text_or_a_number_and_never_a_formula(value: str, written: str) -> None:
    assert export.cell(value) == written


async def download(teammate: Teammate, path: str) -> tuple[str, Any]:
    client = AsyncClient()
    await client.aforce_login(teammate.user)
    answer = await client.get(path)
    body = b"".join([piece async for piece in answer.streaming_content]).decode()
    return body, answer


@pytest.mark.django_db(transaction=True)
async def test_everything_that_a_filter_lists_leaves_in_pieces(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = await in_thread(worlds.build)
    monkeypatch.setattr(export, "PIECE", 3)
    evil = Actor(ActorKind.CUSTOMER, world.fernhill.id, id="c", name='=HYPERLINK("x";"y")\n,')
    for minute in range(7):
        await in_thread(log, world, Kind.CUSTOMER_WROTE, ago=minute, by=evil, conversation_id="")

    table, answer = await download(world.sam, "/logs/export.csv?type=conversations&until=2026-06-03")
    lines, _ = await download(world.sam, "/logs/export.jsonl?type=conversations&until=2026-06-03")

    rows = list(csv.DictReader(io.StringIO(table)))
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="fernhill-log-')
    assert [row["actor_name"] for row in rows] == ['\'=HYPERLINK("x";"y")\n,'] * 7
    assert [row["id"] for row in rows] == [str(json.loads(line)["id"]) for line in lines.splitlines()]
    assert [json.loads(line)["at"] for line in lines.splitlines()][0] == "2026-06-03T12:00:00Z"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_only_owners_and_admins_take_the_log_away(form: str, world: World, browser_of: SignIn) -> None:
    path = f"/logs/export.{form}"

    assert browser_of(world.kim).get(path).status_code == 403
    assert "export" not in browser_of(world.kim).get("/logs/").content.decode()
    assert path in browser_of(world.sam).get("/logs/").content.decode()
    assert browser_of(world.sam).post(path).status_code == 405
    assert browser_of(world.sam).get("/logs/export.xlsx").status_code == 404
    assert Client().get(path).headers["Location"] == f"/accounts/login/?next={path}"


def test_a_visitors_markup_is_text_and_the_page_holds_no_inline_code(world: World, browser_of: SignIn) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    log(
        world,
        Kind.HTTP_TOOL_SAVED,
        by=Actor(ActorKind.CUSTOMER, world.fernhill.id, id=evil[:30], name=evil),
        data={"label": evil},
    )

    page = browser_of(world.sam).get("/logs/").content.decode()
    searched = browser_of(world.sam).get(f"/logs/?tool={quote(evil)}&q={quote(evil)}").content.decode()

    assert "<img" not in page + searched
    assert 'name="q" value="&#34;&gt;&lt;img src=x onerror=alert(1)&gt;"' in searched
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", page.replace(escape(evil), ""))


def test_a_filter_writes_itself_back_into_the_address() -> None:
    by = Filter(type="tools", q="a&b", since="2026-06-03")

    assert by.query() == "?type=tools&since=2026-06-03&q=a%26b"
    assert by.query(since="", before="x_1") == "?type=tools&q=a%26b&before=x_1"
    assert Filter().query() == "?"
