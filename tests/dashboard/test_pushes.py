"""What sockets of teammates are sent: the bytes of the page, only what changed, and to whom."""

import json
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client

from conversations import fragments, reading, threads
from conversations.models import Conversation, Item, ItemKind
from median_site.dashboard import pushes, queue
from median_site.dashboard.queue import Filter
from median_site.lib import clock, live
from team.models import Teammate
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import many, write
from tests.world import World

SignIn = Callable[[Teammate], Client]


@pytest.mark.parametrize("who", list(queue.WHO))
def test_a_pushed_row_stays_in_the_list_exactly_when_the_page_would_list_it(who: str, world: World) -> None:
    write(world)
    request(world)
    threads.take_over(world.conversation.id, by=world.sam.actor)
    ask = live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset({world.sam.id}))
    by = Filter(f=who, unread="1")

    (push,) = pushes.render_row(ask)
    facets = push.payload["facets"]
    belongs = all(facets[name] in allowed for name, allowed in by.facets(world.sam.id).items())  # type: ignore[index]

    assert belongs == bool(queue.page(world.sam, by=by).rows)


def test_the_page_the_push_and_the_fragment_carry_the_same_bytes(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)
    threads.note(world.conversation.id, by=world.kim.actor, body="Fine to refund.")
    threads.take_over(world.conversation.id, by=world.kim.actor)

    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/").content.decode()
    (push,) = pushes.render_thread(live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset({world.sam.id})))
    home = browser_of(world.sam).get("/inbox/").content.decode()
    (row,) = pushes.render_row(live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset({world.sam.id})))

    payload = push.payload
    assert [item["number"] for item in payload["items"]] == list(  # type: ignore[attr-defined]
        Item.objects.order_by("number").values_list("number", flat=True)
    )
    assert {part["id"] for part in payload["parts"]} == {  # type: ignore[attr-defined]
        "thread-head", "thread-ask", "thread-hint", "thread-notes",
    }  # fmt: skip
    for piece in [*payload["items"], *payload["parts"]]:  # type: ignore[misc]
        assert piece["html"] in page
        assert f'id="{piece["id"]}"' in piece["html"]
        assert f'data-version="{piece["version"]}"' in piece["html"]
    assert row.payload["html"] in home
    json.dumps([payload, row.payload])


def test_a_push_carries_only_what_changed_since(world: World) -> None:
    write(world)
    approval = request(world)
    before = Conversation.objects.get(id=world.conversation.id).version
    threads.note(world.conversation.id, by=world.kim.actor, body="A note.")

    (push,) = pushes.render_thread(live.Ask(world.fernhill.id, world.conversation.id, before, frozenset()))

    assert [item["number"] for item in push.payload["items"]] == [before + 1]  # type: ignore[attr-defined]
    assert approval.id not in json.dumps(push.payload["items"])
    assert pushes.render_thread(live.Ask(world.fernhill.id, world.conversation.id, push.version, frozenset())) == []
    assert pushes.render_thread(live.Ask(world.elsewhere.id, world.conversation.id, 0, frozenset())) == []


def test_a_page_that_missed_too_much_is_told_to_fetch_itself(world: World) -> None:
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        for number in range(live.MOST + 1):
            threads.add(conversation, kind=ItemKind.CUSTOMER, body="x", by=world.ana.actor, ref=str(number))

    (push,) = pushes.render_thread(live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset()))

    assert push.payload == {"kind": "refresh", "id": world.conversation.id, "version": push.version}


def test_a_row_is_pushed_unread_to_those_who_have_not_read_it(world: World) -> None:
    write(world)
    request(world)
    reading.mark_read(world.conversation.id, by=world.sam.actor, number=99)
    people = frozenset({world.sam.id, world.kim.id})

    unread, read = pushes.render_row(live.Ask(world.fernhill.id, world.conversation.id, 0, people))

    assert (unread.people, read.people) == ({world.kim.id}, {world.sam.id})
    assert " data-unread" in unread.payload["html"]  # type: ignore[operator]
    assert " data-unread" not in read.payload["html"]  # type: ignore[operator]
    assert unread.payload["facets"] == {
        "status": "open", "handler": "agent", "assignee": "", "waiting": True, "channel": "widget", "unread": True,
        "mentions": [],
    }  # fmt: skip


def test_a_queue_that_came_back_gets_the_rows_that_moved(world: World) -> None:
    old, *_ = many(world, 1, last_at=clock.now() - timedelta(minutes=5))
    write(world)
    since = int((clock.now().timestamp() - 1) * 1000)

    pushed = pushes.render_row(live.Ask(world.fernhill.id, "", since, frozenset({world.sam.id})))

    assert [push.payload["id"] for push in pushed] == [world.conversation.id]
    assert old.id != world.conversation.id


def test_a_rows_time_is_fixed_and_its_fragment_knows_nobody(world: World) -> None:
    write(world)
    conversation = Conversation.objects.select_related("customer", "assignee", "workspace").get(
        id=world.conversation.id
    )
    Conversation.objects.filter(id=conversation.id).update(last_at=clock.now() - timedelta(days=3))
    older = Conversation.objects.select_related("customer", "assignee", "workspace").get(id=conversation.id)

    assert re.search(r">\d\d:\d\d</time>", fragments.row(conversation, unread=False))
    assert re.search(r">(Mon|Tue|Wed|Thu|Fri|Sat|Sun)</time>", fragments.row(older, unread=False))
