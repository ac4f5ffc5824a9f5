"""The customer's earlier conversations in the details panel of a window."""

import pytest
from playwright.sync_api import expect

from conversations import lessons, threads
from conversations.models import Lesson
from tests.browser.conftest import OpenWindow
from tests.waiting import until
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_was_learned_is_deleted_after_a_second_look(
    world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    threads.customer_wrote(world.conversation.id, body="My kettle is blue", client_id="1")
    lessons.keep(world.conversation, ["Has a blue kettle.", "Prefers email."])
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{threads.start(world.ana).id}/")
    panel = page.locator("#earlier-conversations")
    expect(panel.get_by_role("link", name="My kettle is blue")).to_be_visible()

    learned = panel.get_by_role("listitem").filter(has_text="Has a blue kettle.").last
    learned.get_by_text("Forget this").click()
    learned.get_by_role("button", name="Forget it").click()
    expect(panel.get_by_text("Has a blue kettle.")).to_have_count(0)
    expect(panel.get_by_text("Prefers email.")).to_be_visible()
    until(lambda: Lesson.objects.count() == 1)
