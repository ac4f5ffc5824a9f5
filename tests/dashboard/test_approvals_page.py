"""The Approvals page over HTTP: what it lists in which order, what a press on several does, what is pushed to it."""

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import cards, decisions
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Conversation, Status
from median_site.dashboard import request_rows, requests, together
from median_site.lib import clock, live
from team.models import Event, Teammate
from tests.approvals.requests import INPUT, request
from tests.dashboard.threads_at_hand import many
from tests.tampering import tampering
from tests.world import World
from tools.models import ToolRun

SignIn = Callable[[Teammate], Client]
HTMX = {"HX-Request": "true"}
OTHER_INPUT = '{"orderNumber":"ORD-7","reason":"late"}'


def ask(world: World, conversation: Conversation, *, tool: str = "refundOrder") -> ToolApproval:
    """A request in a conversation of somebody else."""
    with transaction.atomic():
        locked = threads.lock(conversation.id)
        return decisions.request(
            locked, tool=world.tool(tool), input_text=OTHER_INPUT, turn_id="turn", by=threads.agent_actor(locked)
        )


def waiting(page: str) -> list[str]:
    return re.findall(r'<li class="request" id="request-(\w+)"', page)


def settled(page: str) -> list[str]:
    return re.findall(r'<li id="row-(\w+)"', page)


def seals(*found: ToolApproval) -> list[str]:
    return [together.seal(each) for each in found]


def test_what_waits_stands_first_soonest_expiry_on_top_and_then_what_was_decided_newest_first(
    world: World, browser_of: SignIn
) -> None:
    late, soon, first, second = [ask(world, row) for row in many(world, 4)]
    ToolApproval.objects.filter(id=soon.id).update(expires_at=clock.now() + timedelta(minutes=5))
    decisions.deny(first.id, by=world.kim.actor)
    decisions.approve(second.id, by=world.kim.actor)

    page = browser_of(world.sam).get("/approvals/").content.decode()

    assert waiting(page) == [soon.id, late.id]
    assert settled(page) == [second.id, first.id]
    assert len(re.findall(r"<article ", page)) == 4
    assert cards.draw(list(cards.rows(world.fernhill.id).filter(id=soon.id)))[soon.id][1] in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?status=waiting", {"refund", "small"}),
        ("?status=denied", {"denied"}),
        ("?status=expired", {"expired"}),
        ("?status=ran", set()),
        ("?tool=refundOrder", {"refund", "denied", "expired"}),
        ("?risk=reviewed", {"small"}),
        ("?risk=high&status=waiting", {"refund"}),
        ("?status=nonsense&risk=low", {"refund", "small", "denied", "expired"}),
        ("?tool=%00", set()),
    ],
)
def test_filters(query: str, expected: set[str], world: World, browser_of: SignIn) -> None:
    rows = many(world, 4)
    made = {
        "refund": ask(world, rows[0]),
        "small": ask(world, rows[1], tool="refundSmallOrder"),
        "denied": ask(world, rows[2]),
        "expired": ask(world, rows[3]),
    }
    decisions.deny(made["denied"].id, by=world.sam.actor)
    threads.end(rows[3].id, by=world.sam.actor, to=Status.RESOLVED)

    page = browser_of(world.sam).get(f"/approvals/{query}").content.decode()

    found = {*waiting(page), *settled(page)}
    assert {name for name, row in made.items() if row.id in found} == expected
    assert len(found) == len(expected)


def test_pages_of_both_lists_follow_each_other_without_gap_or_repeat(world: World, browser_of: SignIn) -> None:
    made = [ask(world, row) for row in many(world, requests.WAITING_PAGE + requests.SETTLED_PAGE + 5)]
    same_moment = clock.now()
    ToolApproval.objects.update(requested_at=same_moment, expires_at=same_moment + timedelta(hours=1))
    for each in made[: requests.SETTLED_PAGE + 2]:
        decisions.deny(each.id, by=world.sam.actor)
    browser = browser_of(world.sam)

    def follow(rows: Callable[[str], list[str]], cursor: str) -> list[str]:
        seen, path = [], "/approvals/"
        while path:
            page = browser.get(path).content.decode()
            seen += rows(page)
            link = re.search(rf'rel="next" href="([^"]*{cursor}=[^"]+)"', page)
            path = f"/approvals/{link[1]}".replace("&amp;", "&") if link else ""
        return seen

    assert follow(waiting, "after") == [each.id for each in made[requests.SETTLED_PAGE + 2 :]]
    assert follow(settled, "before") == [each.id for each in made[: requests.SETTLED_PAGE + 2]][::-1]


def test_the_cost_does_not_grow_with_what_is_on_it(world: World, browser_of: SignIn) -> None:
    browser, rows = browser_of(world.sam), many(world, 12)
    ask(world, rows[0])
    with CaptureQueriesContext(connection) as few:
        browser.get("/approvals/")
    for row in rows[1:]:
        ask(world, row)
    for each in ToolApproval.objects.all()[:4]:
        decisions.deny(each.id, by=world.sam.actor)

    with CaptureQueriesContext(connection) as more:
        browser.get("/approvals/")

    # Session, person and teammate, both lists, items, runs, denials, runs of the same, tools, the rail.
    assert (len(few), len(more)) == (10, 10)


def test_nothing_waits_and_nothing_was_decided(world: World, browser_of: SignIn) -> None:
    page = browser_of(world.sam).get("/approvals/").content.decode()

    assert "Nothing is waiting" in page
    assert "Nothing was decided yet." in page
    assert "No decided request matches." in browser_of(world.sam).get("/approvals/?status=ran").content.decode()


def test_the_rail_counts_what_waits_for_the_team(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    page = browser_of(world.kim).get("/inbox/").content.decode()

    assert f'data-counts="pending" data-counted="{approval.id}"><span>1</span><span class="sr"> waiting</span>' in page
    ToolApproval.objects.update(expires_at=clock.now())
    page = browser_of(world.kim).get("/inbox/").content.decode()
    assert 'data-counts="pending" data-counted="" hidden><span>0</span>' in page


def test_several_are_approved_each_bound_to_what_was_shown(world: World, browser_of: SignIn) -> None:
    one, two = [ask(world, row) for row in many(world, 2)]
    browser = browser_of(world.sam)
    events = Event.objects.count()

    page = browser.get(f"/approvals/together/?answer=approve&id={one.id}&id={two.id}").content.decode()
    assert "Approve these 2 requests?" in page
    assert page.count("ORD-7") >= 2
    assert re.findall(r'name="call" value="([^"]+)"', page) == seals(one, two)
    assert (Event.objects.count(), ToolRun.objects.count()) == (events, 0)
    answer = browser.post("/approvals/together/approve", {"call": seals(one, two), "as": world.sam.id})

    assert "2 of 2 approved" in answer.content.decode()
    assert list(ToolApproval.objects.values_list("state", "decided_by_id")) == [(State.EXECUTING, world.sam.id)] * 2
    assert [run.input for run in ToolRun.objects.all()] == [OTHER_INPUT] * 2
    again = browser.post("/approvals/together/approve", {"call": seals(one, two), "as": world.sam.id})
    assert "2 of 2 approved" in again.content.decode()
    assert ToolRun.objects.count() == 2


def test_each_of_several_has_its_own_outcome(world: World, browser_of: SignIn) -> None:
    rows = many(world, 4)
    good, decided, ended, changed = [ask(world, row) for row in rows]
    decisions.deny(decided.id, by=world.kim.actor)
    threads.end(rows[2].id, by=world.kim.actor, to=Status.RESOLVED)
    shown = seals(good, decided, ended, changed)
    ToolApproval.objects.filter(id=changed.id).update(input=INPUT)

    page = browser_of(world.sam).post("/approvals/together/approve", {"call": shown}).content.decode()

    assert "1 of 4 approved" in page
    for sentence in [
        "This request has already been reviewed.",
        "This request expired because the conversation ended.",
        "This is not the request that was shown. Nothing was done.",
    ]:
        assert page.count(sentence) == 1
    assert [run.id for run in ToolRun.objects.all()] == [good.id]


def test_several_are_denied_for_one_reason(world: World, browser_of: SignIn) -> None:
    one, two = many(world, 2)
    first, second = ask(world, one), ask(world, two, tool="cancelSubscription")
    browser = browser_of(world.sam)

    page = browser.get(f"/approvals/together/?answer=deny&id={first.id}&id={second.id}").content.decode()
    assert "<h1>Deny these 2 requests?</h1>" in page
    assert "None of them runs. Median AI tells the customers, where it still has the thread." in page
    alone = browser.get(f"/approvals/together/?answer=deny&id={first.id}").content.decode()
    assert "<h1>Deny this request?</h1>" in alone
    assert "It does not run. Median AI tells the customer, where it still has the thread." in alone
    answer = browser.post(
        "/approvals/together/deny", {"call": re.findall(r'"call" value="([^"]+)"', page), "reason": " A test order. "}
    )

    assert "2 of 2 denied" in answer.content.decode()
    assert list(ToolApproval.objects.values_list("state", "reason")) == [(State.DENIED, "A test order.")] * 2
    assert ToolRun.objects.count() == 0


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("none", "Choose at least one request that still waits."),
        ("two tools", "Requests are approved together only when all of them are for the same tool."),
        ("too many", "Choose at most 50 requests at once."),
    ],
)
def test_what_cannot_be_approved_together(choice: str, message: str, world: World, browser_of: SignIn) -> None:
    one, two = many(world, 2)
    found = [ask(world, one), ask(world, two, tool="cancelSubscription")]
    calls = {"none": [], "two tools": seals(*found), "too many": [f"call_{n}.x" for n in range(51)]}[choice]
    browser = browser_of(world.sam)

    asked = browser.get("/approvals/together/", {"answer": "approve", "id": [call.split(".")[0] for call in calls]})
    answer = browser.post("/approvals/together/approve", {"call": calls}, headers=HTMX)

    assert asked.status_code == 422
    assert message in asked.content.decode()
    assert (answer.status_code, json.loads(answer.headers["HX-Trigger"])["toast"]["message"]) == (422, message)
    assert ToolRun.objects.count() == 0


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_nobody_answers_several_from_elsewhere_for_another_or_by_a_link(
    verb: str, world: World, browser_of: SignIn
) -> None:
    approval = request(world)
    path, events = f"/approvals/together/{verb}", Event.objects.count()
    nameless = Client()
    nameless.force_login(world.sam.user)

    assert browser_of(world.sam).get(path).status_code == 405
    assert browser_of(world.mallory).post(path, {"call": seals(approval)}).status_code == 422
    assert (
        browser_of(world.kim).post(path, {"call": seals(approval)}, headers={"X-Median-As": world.sam.id}).status_code
        == 409
    )
    assert nameless.post(path, {"call": seals(approval)}).headers["Location"] == "/approvals/"
    assert Client().post(path).headers["Location"] == "/accounts/login/?next=/inbox/"
    approval.refresh_from_db()
    assert (approval.state, Event.objects.count(), ToolRun.objects.count()) == (State.PENDING, events, 0)


def test_somebody_of_another_workspace_sees_nothing(world: World, browser_of: SignIn) -> None:
    approval = request(world)

    page = browser_of(world.mallory).get("/approvals/").content.decode()

    assert (waiting(page), settled(page)) == ([], [])
    path = f"/approvals/together/?answer=approve&id={approval.id}"
    assert browser_of(world.mallory).get(path).status_code == 422
    assert request_rows.push(live.Ask(world.elsewhere.id, world.conversation.id, 0, frozenset())) == []


def test_a_push_carries_the_row_of_the_page_waiting_and_decided(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    ask_for = live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset())

    (first,) = request_rows.push(ask_for)
    page = browser_of(world.sam).get("/approvals/").content.decode()
    decisions.deny(approval.id, by=world.kim.actor)
    (second,) = request_rows.push(ask_for)
    after = browser_of(world.sam).get("/approvals/").content.decode()

    assert first.payload["waiting"] in page
    assert second.payload["settled"] in after
    assert first.payload["facets"] == {"status": "waiting", "tool": "refundOrder", "risk": "high"}
    assert [(push.payload["waits"], push.payload["pending"]) for push in (first, second)] == [
        (True, True),
        (False, False),
    ]
    assert second.version > first.version


def test_a_page_that_came_back_gets_what_changed_meanwhile(world: World) -> None:
    old, new = [ask(world, row) for row in many(world, 2)]
    with tampering():
        Event.objects.filter(subject_id=old.id).update(at=clock.now() - timedelta(minutes=5))
    since = int(clock.now().timestamp() * 1000)

    pushed = request_rows.push(live.Ask(world.fernhill.id, "", since, frozenset()))

    assert [push.payload["id"] for push in pushed] == [new.id]


def test_the_page_holds_no_inline_script_style_or_handler_and_a_visitors_markup_is_text(
    world: World, browser_of: SignIn
) -> None:
    evil = '"><img src=x onerror=alert(1)>'
    world.ana.name = evil
    world.ana.save()
    approval = request(world)
    browser = browser_of(world.sam)

    for path in ["/approvals/", f"/approvals/together/?answer=approve&id={approval.id}"]:
        page = browser.get(path).content.decode()
        assert "<img" not in page
        without_values = re.sub(r'="[^"]*"', "=", page)
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|<[^>]*\son\w+=", without_values)
