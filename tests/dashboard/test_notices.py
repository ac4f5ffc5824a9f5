"""Mentions in notes, and what a teammate is told: who, when, how it is read, and that nobody else sees it."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import handling, reading, returning, threads
from conversations.models import Conversation, Item
from median_site.dashboard import notices, queue
from median_site.dashboard.queue import Filter
from median_site.lib import clock, live
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.db import in_thread
from team import notifications
from team.models import Notification, NotificationKind, Role, Teammate
from tests import world as worlds
from tests.dashboard.test_socket import open_socket
from tests.dashboard.threads_at_hand import many, write
from tests.world import World

SignIn = Callable[[Teammate], Client]


def note(world: World, text: str, *, by: Teammate | None = None) -> Item:
    return threads.note(world.conversation.id, by=(by or world.sam).actor, body=text)


def told(teammate: Teammate) -> list[str]:
    return list(notifications.mine(teammate.actor).filter(read_at=None).order_by("id").values_list("kind", flat=True))


def is_unread(teammate: Teammate) -> bool:
    return bool(queue.counted(teammate)["unread"])


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("@Kim Ito look", "<p>@Kim Ito look</p>"),
        ("(@Kim Ito) **@Kim Ito**", "<p>(@Kim Ito) <strong>@Kim Ito</strong></p>"),
        ("@Kim Itoyama, a@Kim Ito, @kim ito, @Kim", None),
        ("`@Kim Ito`\n\n    @Kim Ito", None),
    ],
)
def test_a_whole_name_after_an_at_is_a_mention(text: str, html: str | None, world: World) -> None:
    item = note(world, text)

    assert item.mentions == ([[world.kim.id, "Kim Ito"]] if html else [])
    assert told(world.kim) == ([NotificationKind.MENTION] if html else [])
    if html:
        span = f'<span class="mention" data-mentions="{world.kim.id}">@Kim Ito</span>'
        shown = re.search(r'<div class="msg-body" dir="auto">(.*?)\s*</div>', page_of(world), re.S)
        assert shown[1].strip() == html.replace("@Kim Ito", span)


def page_of(world: World) -> str:
    client = Client()
    client.force_login(world.sam.user)
    return client.get(f"/inbox/{world.conversation.id}/").content.decode()


def test_names_are_text_whatever_they_are(world: World) -> None:
    odd = worlds.teammate(world.fernhill, '*<b onclick="x">*" Ö', "odd@fernhill.example", Role.MEMBER)
    twin = worlds.teammate(world.fernhill, "Kim Ito", "kim2@fernhill.example", Role.MEMBER)

    note(world, f"@{odd.name} and @Kim Ito")

    assert f'data-mentions="{odd.id}">@*&lt;b onclick="x"&gt;*" Ö</span>' in page_of(world)
    assert (told(odd), told(twin), told(world.kim)) == (["mention"], ["mention"], ["mention"])
    Teammate.objects.filter(id=odd.id).update(name="Else")
    assert f'data-mentions="{odd.id}">@*&lt;b' in page_of(world)


def test_a_note_by_the_api_mentions_too(world: World, browser_of: SignIn) -> None:
    api = Actor(ActorKind.API, world.fernhill.id, id="key", name="Deploy script")
    threads.note(world.conversation.id, by=api, body="@Kim Ito")

    assert "<b>The API mentioned you</b>" in browser_of(world.kim).get("/notifications/").content.decode()


def test_only_notes_mention_and_only_the_team(world: World) -> None:
    for text in ("@Kim Ito", "@Mallory Fox", "@Sam Okafor"):
        threads.customer_wrote(world.conversation.id, body=text, client_id=text[:8])
        threads.reply(world.conversation.id, by=world.sam.actor, body=text)
    note(world, "@Mallory Fox and @Sam Okafor")
    Teammate.objects.filter(id=world.kim.id).update(removed_at=clock.now())
    note(world, "@Kim Ito")

    assert Notification.objects.count() == 0
    assert 'class="mention" data-mentions="' + world.sam.id in page_of(world)
    assert world.kim.id not in page_of(world)


def test_a_mention_makes_the_thread_unread_for_them_until_they_read_it(world: World, browser_of: SignIn) -> None:
    threads.take_over(world.conversation.id, by=world.sam.actor)
    write(world)
    for teammate in (world.sam, world.kim):
        reading.mark_read(world.conversation.id, by=teammate.actor, number=99)

    item = note(world, "@Kim Ito please")

    assert (is_unread(world.kim), is_unread(world.sam)) == (True, False)
    kim = browser_of(world.kim)
    page = kim.get("/inbox/?f=mentions").content.decode()
    assert re.findall(r'<li id="row-(\w+)"', page) == [world.conversation.id]
    assert re.search(r'data-counts="notices" data-counted="\d+"><span>1</span>', page)
    assert queue.page(world.sam, by=Filter(f="mentions")).rows == []
    kim.post(f"/inbox/{world.conversation.id}/read", {"number": item.number - 1})
    assert told(world.kim) == ["mention"]
    kim.post(f"/inbox/{world.conversation.id}/read", {"number": item.number})
    assert (told(world.kim), is_unread(world.kim)) == ([], False)
    assert len(queue.page(world.kim, by=Filter(f="mentions")).rows) == 1


def test_who_is_given_a_thread_and_whose_snooze_is_over_are_told(world: World) -> None:
    handling.assign(world.conversation.id, by=world.sam.actor, to=world.kim.id)
    handling.assign(world.conversation.id, by=world.sam.actor, to=world.kim.id)
    threads.take_over(world.conversation.id, by=world.sam.actor)
    handling.assign(world.conversation.id, by=world.sam.actor, to=world.sam.id)
    assert (told(world.kim), told(world.sam)) == (["assigned"], [])

    handling.snooze(world.conversation.id, by=world.sam.actor, until=clock.now() + timedelta(hours=1))
    Conversation.objects.update(snoozed_until=clock.now() - timedelta(seconds=1))
    returning.end_snoozes()
    assert (told(world.kim), told(world.sam)) == (["assigned"], ["waiting"])
    newest = Item.objects.latest("number")
    assert notifications.mine(world.sam.actor).get().number == newest.number
    threads.lock(world.conversation.id)
    reading.mark_read(world.conversation.id, by=world.sam.actor, number=newest.number)
    assert told(world.sam) == []


def test_the_page_lists_them_and_marks_them_read(world: World, browser_of: SignIn) -> None:
    first = note(world, "@Kim Ito <b>one</b>")
    kim, sam = browser_of(world.kim), browser_of(world.sam)
    for thread in many(world, 3):
        handling.assign(thread.id, by=world.sam.actor, to=world.kim.id)

    with CaptureQueriesContext(connection) as statements:
        page = kim.get("/notifications/").content.decode()
    assert len(statements) <= 8
    assert page.count(" data-unread>") == 4
    assert "<b>Sam mentioned you</b>" in page
    assert '<bdi>Ana Souza</bdi>: <span dir="auto">@Kim Ito &lt;b&gt;one&lt;/b&gt;</span>' in page
    assert "Sam assigned the thread to you" in page
    assert "Nothing yet" in sam.get("/notifications/").content.decode()
    mine = notifications.mine(world.kim.actor).order_by("id")
    mention = mine.get(number=first.number, kind="mention")

    assert sam.post(f"/notifications/{mention.id}/read").status_code == 404
    assert kim.get(f"/notifications/{mention.id}/read").status_code == 405
    assert told(world.kim) == ["mention", "assigned", "assigned", "assigned"]
    kim.post(f"/notifications/{mention.id}/read")
    assert told(world.kim) == ["assigned"] * 3
    kim.post("/notifications/read", {"up_to": mine[2].id})
    assert told(world.kim) == ["assigned"]
    assert kim.post("/notifications/read", {"up_to": "x"}).status_code == 302


def test_what_was_told_a_year_ago_is_forgotten(world: World) -> None:
    with clock.at(clock.now() - notifications.KEPT - timedelta(minutes=1)):
        note(world, "@Kim Ito, long ago")
    note(world, "@Kim Ito, today")

    assert [notifications.forget_old() for _ in range(2)] == [1, 0]
    assert told(world.kim) == ["mention"]


def test_pages_of_it_follow_each_other(world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "PAGE", 2)
    for number in range(5):
        note(world, f"@Kim Ito {number}")
    browser, seen, path = browser_of(world.kim), [], "/notifications/"
    while path:
        page = browser.get(path).content.decode()
        seen += re.findall(r"@Kim Ito (\d)", page)
        older = re.search(r'href="(\S+)">Older', page)
        path = f"{older[1]}" if older else ""
    assert seen == ["4", "3", "2", "1", "0"]


@pytest.mark.django_db(transaction=True)
async def test_it_is_pushed_to_its_teammate_alone(world: World) -> None:
    kim, _ = await open_socket(world.kim)
    sam, _ = await open_socket(world.sam)
    for page in (kim, sam):
        await page.say({"watch": "notices", "since": 0})
        assert await page.hear() == {"kind": "notices", "unread": [], "items": []}

    await in_thread(note, world, "@Kim Ito look")

    frame = await kim.hear()
    row = await in_thread(Notification.objects.get)
    assert (frame["unread"], [item["says"] for item in frame["items"]]) == ([row.id], ["Sam mentioned you: Ana Souza"])
    (push,) = await in_thread(notices.push, live.Ask(world.fernhill.id, world.kim.id, 0, frozenset()))
    assert push.payload["items"] == frame["items"]
    assert (await in_thread(notices.push, live.Ask(world.elsewhere.id, world.kim.id, 0, frozenset())))[0].payload[
        "unread"
    ] == []
    await in_thread(notifications.read, row.id, by=world.kim.actor)
    assert await kim.hear() == {"kind": "notices", "unread": [], "items": []}
    await in_thread(note, world, "@Sam Okafor, @Kim Ito", by=world.kim)
    assert len((await sam.hear())["items"]) == 1
    for page in (kim, sam):
        await page.leave()


def test_the_menu_after_an_at_offers_the_team(world: World, browser_of: SignIn) -> None:
    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/people").content.decode()
    assert re.findall(r'data-mentions="([^"]+)"', page) == ["@Kim Ito", "@Sam Okafor"]
