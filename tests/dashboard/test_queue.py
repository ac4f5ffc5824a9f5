"""Who has a thread, when it comes back, what is unread: presses in the menu, and what the queue lists then."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.test import Client

from conversations import handling, threads
from conversations.models import Channel, Conversation, Handler, Item, ItemKind, Status
from median_site.dashboard import queue
from median_site.dashboard.queue import Filter
from median_site.lib import clock
from team.events import Kind
from team.models import Event, Teammate
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import many, write
from tests.world import World

SignIn = Callable[[Teammate], Client]
HTMX = {"HX-Request": "true"}


def press(world: World, browser: Client, verb: str, **fields: str) -> int:
    return browser.post(f"/inbox/{world.conversation.id}/{verb}", fields, headers=HTMX).status_code


def fresh(world: World) -> Conversation:
    return Conversation.objects.select_related("assignee").get(id=world.conversation.id)


def lines(world: World) -> list[str]:
    return list(Item.objects.filter(kind=ItemKind.LINE).order_by("number").values_list("text", flat=True))


def listed(teammate: Teammate, **by: str) -> int:
    return len(queue.page(teammate, by=Filter(**by)).rows)


def events(*kinds: Kind) -> int:
    return Event.objects.filter(kind__in=kinds).count()


def test_a_thread_is_given_to_a_teammate_and_to_nobody(world: World, browser_of: SignIn) -> None:
    browser = browser_of(world.sam)

    for _ in range(2):
        assert press(world, browser, "assign", to=world.kim.id) == 204
    assert (fresh(world).handler, fresh(world).assignee) == (Handler.TEAMMATE, world.kim)
    assert listed(world.kim, f="mine") == 1
    for _ in range(2):
        assert press(world, browser, "assign", to="") == 204
    assert (fresh(world).handler, fresh(world).assignee) == (Handler.NOBODY, None)
    assert listed(world.kim, f="unassigned") == 1

    assert lines(world) == ["Sam assigned the thread to Kim", "Sam took Kim off the thread"]
    assert events(Kind.ASSIGNED, Kind.UNASSIGNED) == 2


def test_giving_a_thread_to_oneself_takes_it_over(world: World, browser_of: SignIn) -> None:
    assert press(world, browser_of(world.sam), "assign", to=world.sam.id) == 204

    assert fresh(world).assignee == world.sam
    assert lines(world) == ["Sam took the thread over from Median AI"]


def test_only_teammates_of_the_workspace_can_have_a_thread(world: World, browser_of: SignIn) -> None:
    Teammate.objects.filter(id=world.kim.id).update(removed_at=clock.now())
    browser = browser_of(world.sam)

    for to in (world.kim.id, world.mallory.id, "nobody"):
        assert press(world, browser, "assign", to=to) == 404

    assert fresh(world).handler == Handler.AGENT
    assert lines(world) == []
    page = browser.get(f"/inbox/{world.conversation.id}/assign").content.decode()
    assert re.findall(r"<bdi>([^<]+)</bdi>", page.split('class="menu-list"')[1].split("</form>")[0]) == ["Sam Okafor"]


def test_a_snoozed_thread_leaves_the_queue_until_its_time(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(world)
    threads.take_over(world.conversation.id, by=world.kim.actor)
    until = clock.now() + timedelta(hours=3)

    assert press(world, browser_of(world.sam), "snooze", until=until.isoformat()) == 204

    assert (listed(world.sam), listed(world.sam, status="snoozed"), listed(world.sam, status="any")) == (0, 1, 1)
    assert queue.counted(world.kim)["mine"] == []
    assert events(Kind.SNOOZED) == 1
    assert lines(world)[-1].startswith("Sam snoozed the thread until ")
    monkeypatch.setattr(clock, "now", lambda: until)
    assert (listed(world.sam), listed(world.sam, status="snoozed")) == (1, 0)
    assert queue.counted(world.kim)["mine"] == [world.conversation.id]


def test_the_customer_the_team_and_a_press_end_a_snooze(world: World, browser_of: SignIn) -> None:
    browser, until = browser_of(world.sam), (clock.now() + timedelta(days=1)).isoformat()

    def snoozed() -> bool:
        press(world, browser, "snooze", until=until)
        return fresh(world).is_snoozed

    assert snoozed()
    write(world)
    assert not fresh(world).is_snoozed
    assert snoozed()
    request(world)
    assert not fresh(world).is_snoozed
    assert snoozed()
    for _ in range(2):
        assert press(world, browser, "wake") == 204
    assert not fresh(world).is_snoozed
    assert lines(world)[-1] == "Sam ended the snooze"
    assert snoozed()
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    threads.reopen(world.conversation.id, by=world.sam.actor)
    assert not fresh(world).is_snoozed
    assert events(Kind.WOKEN) == 1


@pytest.mark.parametrize("until", ["", "soon", "2020-01-01T09:00", "9999-12-31T23:59", "0001-01-01T00:00"])
def test_a_snooze_needs_a_time_that_comes(until: str, world: World, browser_of: SignIn) -> None:
    answer = browser_of(world.sam).post(
        f"/inbox/{world.conversation.id}/snooze", {"time": until}, headers={"Accept": "application/json"}
    )

    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == handling.BadTime.message
    assert fresh(world).snoozed_until is None


def test_the_choices_of_a_snooze_are_soon_and_mornings(world: World, browser_of: SignIn) -> None:
    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/snooze", headers=HTMX).content.decode()

    soon, tomorrow, monday = map(datetime.fromisoformat, re.findall(r'name="until" value="([^"]+)"', page))
    assert timedelta(minutes=178) < soon - clock.now() <= timedelta(hours=3)
    assert timedelta() < tomorrow - clock.now() <= timedelta(hours=33)
    assert (tomorrow.hour, monday.hour, monday.weekday()) == (9, 9, 0)


def test_an_ended_thread_is_neither_assigned_nor_snoozed(world: World, browser_of: SignIn) -> None:
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    browser, until = browser_of(world.sam), (clock.now() + timedelta(days=1)).isoformat()

    assert press(world, browser, "assign", to=world.kim.id) == 409
    assert press(world, browser, "assign", to="") == 409
    assert press(world, browser, "snooze", until=until) == 409
    assert lines(world) == ["Sam resolved the conversation"]


@pytest.mark.parametrize(
    ("needed_the_team", "seen_with", "back_to"),
    [(True, "", "/inbox/"), (False, "?q=ORD%2D1042&before=7&next=//evil.example", "/inbox/?q=ORD-1042")],
)
def test_a_thread_turns_unread_again_for_one_teammate(
    needed_the_team: bool, seen_with: str, back_to: str, world: World, browser_of: SignIn
) -> None:
    write(world)
    if needed_the_team:
        request(world)
    browser = browser_of(world.sam)
    press(world, browser, "read", number="99")
    browser_of(world.kim).post(f"/inbox/{world.conversation.id}/read", {"number": "99"})
    assert (queue.counted(world.sam)["unread"], queue.counted(world.kim)["unread"]) == ([], [])

    seen = {"HX-Current-URL": f"https://median.example/inbox/{world.conversation.id}/{seen_with}"}
    answer = browser.post(f"/inbox/{world.conversation.id}/unread", headers=HTMX | seen)

    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, back_to)
    assert queue.counted(world.sam)["unread"] == [world.conversation.id]
    assert queue.counted(world.kim)["unread"] == []
    press(world, browser, "read", number="99")
    assert queue.counted(world.sam)["unread"] == []


def test_looking_at_the_questions_changes_nothing(world: World, browser_of: SignIn) -> None:
    version = fresh(world).version

    for verb in ("assign", "snooze"):
        assert browser_of(world.sam).get(f"/inbox/{world.conversation.id}/{verb}").status_code == 200
    for verb in ("wake", "unread"):
        assert browser_of(world.sam).get(f"/inbox/{world.conversation.id}/{verb}").status_code == 405

    assert fresh(world).version == version


def test_the_channel_is_a_filter(world: World) -> None:
    email, _ = many(world, 2)
    Conversation.objects.filter(id=email.id).update(channel=Channel.EMAIL)

    assert (listed(world.sam, channel="email"), listed(world.sam, channel="widget")) == (1, 2)


def test_tabs_count_up_to_a_bound(world: World, browser_of: SignIn) -> None:
    many(world, 105)
    Conversation.objects.update(assignee=world.sam, handler=Handler.TEAMMATE)
    request(world)

    page = browser_of(world.sam).get("/inbox/").content.decode()

    assert '><span>99+</span><span class="sr"> open</span></span></a>' in page
    assert f'data-counts="approval" data-counted="{world.conversation.id}"><span>1</span>' in page
    assert '<span>99+</span><span class="sr"> </span></span> open</span>' in page
