"""Customers over HTTP: who is listed and found, what a customer's page holds, and what may be forgotten there."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import threads
from conversations.models import Conversation, Customer, Lesson
from median_site.dashboard import people
from median_site.lib import clock
from team.events import Kind
from team.models import Event, Teammate
from tests.dashboard.threads_at_hand import many, write
from tests.world import World
from tools.models import ToolRun

SignIn = Callable[[Teammate], Client]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index("<main") :]).split())


def names(page: str) -> list[str]:
    return re.findall(r'<h2><a href="/customers/\w{32}/"><bdi>([^<]+)</bdi>', page)


def ran(
    world: World, conversation: Conversation, *, minutes_ago: int, state: str = "completed", **more: str
) -> ToolRun:
    at = clock.now() - timedelta(minutes=minutes_ago)
    kept = {"tool_name": "orderStatus", "tool_label": "Order status", "risk": "low", "started_by": "agent"} | more
    kept.setdefault("input", '{"orderNumber": "ORD-1042"}')
    return ToolRun.objects.create(
        workspace=world.fernhill, conversation=conversation, state=state, queued_at=at, ended_at=at, **kept
    )


@pytest.fixture
def lesson(world: World) -> Lesson:
    return Lesson.objects.create(
        workspace=world.fernhill, customer=world.ana, conversation=world.conversation, text="Ana has <b>two</b> dogs"
    )


def test_whoever_wrote_last_comes_first_each_once(world: World, browser_of: SignIn) -> None:
    others = many(world, 3)
    old = threads.start(others[2].customer)
    Conversation.objects.filter(id=old.id).update(last_at=clock.now() - timedelta(days=3))
    Conversation.objects.filter(id=others[1].id).update(last_at=clock.now() + timedelta(minutes=1))
    write(world)

    kim = browser_of(world.kim)
    with CaptureQueriesContext(connection) as asked:
        page = kim.get("/customers/").content.decode()

    assert names(page) == ["Other 1", "Ana Souza", "Other 0", "Other 2"]
    # Session, person and teammate, the list, the rail.
    assert len(asked) == 4


def test_two_conversations_of_the_same_moment_list_their_customer_once(world: World, browser_of: SignIn) -> None:
    threads.start(world.ana)
    Conversation.objects.update(last_at=clock.now())
    assert names(browser_of(world.kim).get("/customers/").content.decode()) == ["Ana Souza"]


def test_every_page_goes_on_where_the_one_before_ended(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "PAGE", 4)
    many(world, 9)
    kim, path, seen = browser_of(world.kim), "/customers/", []
    while path:
        page = kim.get(path).content.decode()
        seen.append(names(page))
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = older and "/customers/" + older[1].replace("&amp;", "&")

    assert [len(each) for each in seen] == [4, 4, 2]
    assert sorted(sum(seen, [])) == sorted(["Ana Souza", *(f"Other {n}" for n in range(9))])


@pytest.mark.parametrize("q", ["ana", "Sou", "ANA@EXAMPLE", "user_1", "  ana "])
def test_a_customer_is_found_by_how_name_email_or_id_begins(world: World, browser_of: SignIn, q: str) -> None:
    many(world, 2)
    assert names(browser_of(world.kim).get("/customers/", {"q": q}).content.decode()) == ["Ana Souza"]


@pytest.mark.parametrize("q", ["nobody", "ouza", "%", "_", "\\", "'", "\0", "x" * 5_000, "\u202e"])
def test_nobody_is_found_by_anything_else(world: World, browser_of: SignIn, q: str) -> None:
    page = browser_of(world.kim).get("/customers/", {"q": q})
    assert page.status_code == 200
    assert "No customer’s name, email or user id begins like this." in words(page.content.decode())


@pytest.mark.parametrize("place", ["", "x", "2026-01-01", "2026-01-01T00:00_x", "_"])
def test_a_place_that_is_none_is_the_first_page(world: World, browser_of: SignIn, place: str) -> None:
    assert names(browser_of(world.kim).get("/customers/", {"before": place}).content.decode()) == ["Ana Souza"]
    assert browser_of(world.kim).get(f"/customers/{world.ana.id}/", {"before": place}).status_code == 200


def test_a_stranger_sees_only_their_own(world: World, browser_of: SignIn, lesson: Lesson) -> None:
    mallory = browser_of(world.mallory)
    assert names(mallory.get("/customers/", {"q": "ana"}).content.decode()) == []
    assert mallory.get(f"/customers/{world.ana.id}/").status_code == 404
    assert mallory.post(f"/customers/lessons/{lesson.id}/forget").status_code == 404
    assert Lesson.objects.count() == 1


def test_the_page_of_a_customer_holds_all_there_is_in_few_queries(
    world: World, browser_of: SignIn, lesson: Lesson
) -> None:
    write(world, "Is my order coming?")
    Conversation.objects.filter(id=world.conversation.id).update(claims={"plan": "plus", "seats": 3})
    earlier = threads.start(world.ana)
    Conversation.objects.filter(id=earlier.id).update(last_at=clock.now() - timedelta(days=9))
    ran(world, world.conversation, minutes_ago=1, headline="ORD-1042 is on its way")
    ran(world, world.conversation, minutes_ago=2, state="failed", error="The endpoint did not answer in time.")
    ran(world, earlier, minutes_ago=3, started_by="teammate", by_name="Sam Okafor", input='{"a": "b\u202ec"}')
    ran(world, many(world, 1)[0], minutes_ago=1, tool_label="Somebody else's")

    kim = browser_of(world.kim)
    with CaptureQueriesContext(connection) as asked:
        page = kim.get(f"/customers/{world.ana.id}/").content.decode()

    said = words(page)
    # Session, person and teammate, the rail; the customer, conversations, lessons, runs.
    assert len(asked) == 7
    assert "Verified by your server Signed in as user_123" in said
    assert "plan plus seats 3" in said
    assert "Is my order coming?" in said
    assert "Ana has &lt;b&gt;two&lt;/b&gt; dogs" in said
    assert re.findall(r'<span class="tag[^"]*">([^<]+)</span>', page) == ["Ran", "Did not run", "Ran"]
    assert "ORD-1042 is on its way" in said
    assert "The endpoint did not answer in time." in said
    assert "Sam Okafor" in said
    assert "U+202E" in said
    assert "Somebody else" not in said


def test_runs_go_on_page_by_page(world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "RUNS", 3)
    made = [ran(world, world.conversation, minutes_ago=number // 2).id for number in range(7)]
    kim, path, seen = browser_of(world.kim), f"/customers/{world.ana.id}/", []
    while path:
        page = kim.get(path).content.decode()
        seen.append(re.findall(r'<li id="run-(call_\w+)"', page))
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = older and f"/customers/{world.ana.id}/" + older[1].replace("&amp;", "&")

    assert [len(each) for each in seen] == [3, 3, 1]
    assert sorted(sum(seen, [])) == sorted(made)


def test_what_was_learned_is_forgotten_once(world: World, browser_of: SignIn, lesson: Lesson) -> None:
    kim = browser_of(world.kim)
    assert kim.get(f"/customers/lessons/{lesson.id}/forget").status_code == 405

    answer = kim.post(f"/customers/lessons/{lesson.id}/forget")

    assert (answer.status_code, answer["Location"]) == (302, f"/customers/{world.ana.id}/")
    assert Lesson.objects.count() == 0
    assert Event.objects.filter(kind=Kind.LESSON_FORGOTTEN, actor_id=world.kim.id).count() == 1
    assert kim.post(f"/customers/lessons/{lesson.id}/forget").status_code == 404
    assert "Nothing yet. Resolved conversations teach" in words(kim.get(answer["Location"]).content.decode())


def test_a_visitor_without_a_name_is_not_verified(world: World, browser_of: SignIn) -> None:
    visitor = Customer.objects.create(workspace=world.fernhill, subject="anon_abcd1234")
    threads.start(visitor)
    said = words(browser_of(world.kim).get(f"/customers/{visitor.id}/").content.decode())
    assert "Visitor 1234" in said
    assert "Not verified" in said
    assert "No tool ran for them yet." in said
