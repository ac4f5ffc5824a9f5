"""Settings > Saved replies: written by owners and admins, inserted by everybody from the slash menu."""

from collections.abc import Callable

import pytest
from django.test import Client

from conversations import saved_replies
from conversations.models import SavedReply
from team.events import Kind
from team.models import Event, Teammate
from tests.world import World

SignIn = Callable[[Teammate], Client]


def kinds(world: World) -> list[str]:
    return list(
        Event.objects.filter(workspace=world.fernhill, type="team").order_by("id").values_list("kind", flat=True)
    )


def rows() -> list[tuple[str, str]]:
    return list(SavedReply.objects.values_list("title", "text"))


def test_a_reply_is_written_changed_and_deleted(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    assert "No saved replies yet" in sam.get("/settings/replies/").text

    sam.post("/settings/replies/add", {"title": " Shipping  times ", "text": "Hello!\r\nIt takes <b>2</b> days. "})
    assert rows() == [("Shipping times", "Hello!\nIt takes <b>2</b> days.")]
    reply = SavedReply.objects.get()
    assert "It takes &lt;b&gt;2&lt;/b&gt; days." in browser_of(world.kim).get("/settings/replies/").text
    assert "Shipping times" in browser_of(world.kim).get(f"/inbox/{world.conversation.id}/slash").text

    sam.post(f"/settings/replies/{reply.id}/change", {"title": "Shipping", "text": "It takes 3 days."})
    assert rows() == [("Shipping", "It takes 3 days.")]
    assert [sam.post(f"/settings/replies/{reply.id}/remove").status_code for _ in range(2)] == [302, 404]

    assert rows() == []
    assert kinds(world) == [Kind.SAVED_REPLY_SAVED, Kind.SAVED_REPLY_SAVED, Kind.SAVED_REPLY_REMOVED]


@pytest.mark.parametrize(
    ("typed", "status", "field"),
    [
        ({"title": "", "text": "Hello"}, 400, "title"),
        ({"title": "x" * 81, "text": "Hello"}, 400, "title"),
        ({"title": "Hello", "text": " \n"}, 400, "text"),
        ({"title": "Hello", "text": "x" * 10_001}, 400, "text"),
        ({"title": "Shipping", "text": "Hello"}, 409, "title"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    world: World, browser_of: SignIn, typed: dict[str, str], status: int, field: str
) -> None:
    saved_replies.add(by=world.sam.actor, title="Shipping", wording="2 days")
    answer = browser_of(world.sam).post("/settings/replies/add", typed, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["field"]) == (status, field)
    assert rows() == [("Shipping", "2 days")]


def test_members_read_and_write_none(world: World, browser_of: SignIn) -> None:
    reply = saved_replies.add(by=world.sam.actor, title="Shipping", wording="2 days")
    kim = browser_of(world.kim)
    page = kim.get("/settings/replies/").text
    assert "Owners and admins write them." in page
    assert "/settings/replies/add" not in page
    for path in ("add", f"{reply.id}/change", f"{reply.id}/remove"):
        assert kim.post(f"/settings/replies/{path}", {"title": "A", "text": "B"}).status_code == 403
    assert rows() == [("Shipping", "2 days")]
