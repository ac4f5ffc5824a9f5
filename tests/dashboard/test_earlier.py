"""The customer's earlier conversations beside a thread, and the deletion of what they taught."""

from collections.abc import Callable

from django.test import Client

from conversations import lessons, threads
from conversations.models import Conversation, Lesson
from team.models import Event, Teammate
from tests.world import World

SignIn = Callable[[Teammate], Client]


def taught(world: World) -> tuple[Conversation, Lesson]:
    """A newer conversation of Ana's, and the fact that her first one taught."""
    threads.customer_wrote(world.conversation.id, body="My kettle is blue", client_id="1")
    lessons.keep(world.conversation, ["Has a <blue> kettle."])
    return threads.start(world.ana), Lesson.objects.get()


def test_the_panel_lists_other_conversations_with_what_they_taught(world: World, browser_of: SignIn) -> None:
    now, lesson = taught(world)
    sam = browser_of(world.sam)
    assert f'hx-get="/inbox/{now.id}/earlier/"' in sam.get(f"/inbox/{now.id}/").content.decode()

    for headers in ({"HX-Request": "true"}, {}):
        page = sam.get(f"/inbox/{now.id}/earlier/", headers=headers).content.decode()
        assert f'href="/inbox/{world.conversation.id}/"' in page
        assert "My kettle is blue" in page
        assert "Has a &lt;blue&gt; kettle." in page
        assert f'action="/inbox/{now.id}/earlier/{lesson.id}/forget"' in page
    assert "No messages" in sam.get(f"/inbox/{world.conversation.id}/earlier/").content.decode()


def test_a_teammate_deletes_what_was_learned_and_the_log_says_who(world: World, browser_of: SignIn) -> None:
    now, lesson = taught(world)
    path = f"/inbox/{now.id}/earlier/{lesson.id}/forget"
    sam = browser_of(world.sam)
    assert sam.get(path).status_code == 405
    assert browser_of(world.mallory).post(path).status_code == 404
    assert Lesson.objects.exists()

    answer = sam.post(path, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "blue> kettle" not in answer.content.decode()
    assert not Lesson.objects.exists()
    [event] = Event.objects.filter(kind="lesson.forgotten")
    assert (event.actor_name, event.conversation_id, event.data) == ("Sam Okafor", world.conversation.id, {})
    assert sam.post(path).status_code == 404


def test_of_another_workspaces_lesson_nothing_is_known(world: World, browser_of: SignIn) -> None:
    now, lesson = taught(world)
    assert browser_of(world.mallory).get(f"/inbox/{now.id}/earlier/").status_code == 404
    theirs = threads.start(world.elsewhere.customers.create(subject="x"))
    answer = browser_of(world.mallory).post(f"/inbox/{theirs.id}/earlier/{lesson.id}/forget")
    assert answer.status_code == 404
    assert Lesson.objects.exists()
