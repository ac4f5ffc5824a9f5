"""What a screen reader tells of a thread: each thing once, when it happens, and nothing of what was there already."""

from datetime import timedelta

import pytest
from django.db import transaction
from playwright.sync_api import Page, expect

from approvals import decisions, jobs
from approvals.models import Review, ToolApproval
from conversations import threads
from median_site.lib import clock
from tests.approvals.requests import answer, request
from tests.browser.conftest import OpenWindow, card_of
from tests.web_process import WebProcess
from tests.world import World
from tools import outcomes, runs

pytestmark = pytest.mark.django_db(transaction=True)

# What was put into a live region, as it is read out: the words of each new node, in their order.
HEARD = """() => {
    const heard = [];
    new MutationObserver((changes) => {
        for (const { target, addedNodes } of changes) for (const node of addedNodes) {
            const inside = node.nodeType === Node.ELEMENT_NODE ? node : target;
            const live = inside.closest("[aria-live], [role=log], [role=status], [role=alert]");
            const words = inside.checkVisibility() ? (node.innerText ?? node.textContent).trim() : "";
            if (words && live && live.getAttribute("aria-live") !== "off") heard.push(words);
        }
    }).observe(document.body, { childList: true, subtree: true });
    return heard;
}"""
# What the page does when it has missed too much.
RENEW = """async () => {
    const answer = await fetch(location.href);
    Median.renew(new DOMParser().parseFromString(await answer.text(), "text/html"));
}"""


@pytest.fixture
def sam(open_window: OpenWindow, web: WebProcess, world: World) -> Page:
    """Sam's window on a long thread."""
    with transaction.atomic():
        for number in range(200):
            threads.note(world.conversation.id, by=world.sam.actor, body=f"Note {number}")
    page = open_window(web.url, world.sam)
    page.goto(f"/inbox/{world.conversation.id}/")
    return page


def is_there(page: Page, approval: ToolApproval, state: str) -> None:
    expect(page.locator(f"#{approval.id}")).to_have_attribute("data-state", state)


def fail(approval: ToolApproval) -> None:
    runs.begin(approval.id)
    with transaction.atomic():
        runs.finish(approval.id, outcomes.no_result())


def test_each_step_is_heard_once_and_nothing_else(world: World, sam: Page) -> None:
    heard = sam.evaluate_handle(HEARD)
    kim = world.kim.actor

    denied = request(world)
    is_there(sam, denied, "pending")
    card_of(sam).locator("[data-deny]").focus()
    decisions.deny(denied.id, by=kim)
    is_there(sam, denied, "denied")
    expect(card_of(sam).locator("h2")).to_be_focused()  # where the pressed button was

    failed = request(world, tool="closeAccount", input_text="{}")
    is_there(sam, failed, "pending")
    decisions.approve(failed.id, by=kim)
    is_there(sam, failed, "executing")
    fail(failed)
    is_there(sam, failed, "failed")

    completed = request(world, tool="extendTrial", input_text="{}")
    is_there(sam, completed, "pending")
    decisions.approve(completed.id, by=kim)
    is_there(sam, completed, "executing")
    answer(completed, '{"extended":true,"days":7}')
    runs.write_up(completed.id)
    expect(sam.locator(f"#{completed.id} .result dt")).to_have_count(2)

    expired = request(world, tool="cancelSubscription", input_text="{}")
    is_there(sam, expired, "pending")
    ToolApproval.objects.filter(id=expired.id).update(expires_at=clock.now())
    jobs.expire_due()
    is_there(sam, expired, "expired")

    unchecked = request(world, tool="refundSmallOrder")
    is_there(sam, unchecked, "reviewing")
    ago = clock.now() - timedelta(minutes=5)
    ToolApproval.objects.filter(id=unchecked.id).update(requested_at=ago)
    Review.objects.update(queued_at=ago)
    jobs.expire_due()
    is_there(sam, unchecked, "pending")

    sam.locator("#reply").fill("One moment, Ana.")
    sam.get_by_role("button", name="Send").click()
    expect(sam.locator(".msg--team")).to_have_count(1)
    sam.evaluate(RENEW)
    threads.customer_wrote(world.conversation.id, body="Thank you!", client_id="message-2")
    expect(sam.get_by_role("log")).to_contain_text("Thank you!")

    steps = [
        "Median AI asked the team to sign off on Refund order",
        "Kim declined Median AI’s request to run Refund order",
        "Median AI asked the team to sign off on Close account",
        "Kim approved running Close account",
        "Close account did not run",
        "Median AI asked the team to sign off on Extend trial",
        "Kim approved running Extend trial",
        "Extend trial ran",
        "Median AI asked the team to sign off on Cancel subscription",
        "The request to run Cancel subscription expired unanswered",
        "Median AI asked to run Refund small order, and the reviewer is checking it",
        "The reviewer could not check the request to run Refund small order",
        "Sam took the thread over from Median AI",
        "One moment, Ana.",
        "Thank you!",
    ]
    told = heard.json_value()
    assert len(told) == len(steps), told
    assert [said for step, said in zip(steps, told, strict=True) if step not in said] == []
