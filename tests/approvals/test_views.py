"""Deciding over HTTP: the page, the two answers, who may give them, and what the card says afterwards."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from approvals import decisions
from approvals.models import ExpiredBecause, State, ToolApproval
from conversations import access, threads
from conversations.models import Status
from median_site.dashboard import pushes, thread
from median_site.lib import clock, live
from median_site.lib.actors import reviewer
from team.models import Event, Teammate
from tests.approvals.requests import INPUT, lines_of, request
from tests.world import World
from tools import outcomes, runs
from tools.client import Answer, Failure
from tools.models import Starter, ToolRun

SignIn = Callable[[Teammate], Client]
HTMX = {"HX-Request": "true"}


def card(html: str) -> str:
    """The words of a card, on one line; where it prints a name, "you" follows for whom it names."""
    return " ".join(re.sub(r"<[^>]+>", " ", unescape(html)).split())


def card_in_thread(world: World, approval: ToolApproval) -> str:
    """The card as the thread's page has it."""
    conversation = access.conversation(world.sam.actor, world.conversation.id)
    return next(html for item, html in thread.page(conversation).items if item.ref == approval.id)


def toast(answer: HttpResponse) -> dict[str, str | None]:
    return json.loads(answer.headers["HX-Trigger"])["toast"]


def test_the_page_of_a_decision_has_the_card_and_plain_forms_and_changes_nothing(
    world: World, browser_of: SignIn
) -> None:
    approval = request(world)
    events = Event.objects.count()

    page = browser_of(world.sam).get(f"/approvals/{approval.id}/").content.decode()

    assert "Median AI wants to run" in page
    assert card_in_thread(world, approval) in page
    assert f'action="/approvals/{approval.id}/deny"' in page
    assert f'formaction="/approvals/{approval.id}/approve"' in page
    assert f'<input type="hidden" name="as" value="{world.sam.id}">' in page
    assert "csrfmiddlewaretoken" in page
    approval.refresh_from_db()
    assert (approval.state, Event.objects.count()) == (State.PENDING, events)


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_an_answer_cannot_be_given_by_following_a_link(verb: str, world: World, browser_of: SignIn) -> None:
    approval = request(world)

    assert browser_of(world.sam).get(f"/approvals/{approval.id}/{verb}").status_code == 405
    assert browser_of(world.sam).head(f"/approvals/{approval.id}/").status_code == 200
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_approving_answers_with_the_card_of_the_thread_and_the_push_byte_for_byte(
    world: World, browser_of: SignIn
) -> None:
    approval = request(world)

    answer = browser_of(world.sam).post(
        f"/approvals/{approval.id}/approve", {"input": '{"orderNumber":"ORD-1"}', "tool": "x"}, headers=HTMX
    )

    assert answer.status_code == 200
    assert "Approved by Sam you · running now" in card(answer.content.decode())
    assert answer.content.decode() == card_in_thread(world, approval)
    ask = live.Ask(world.fernhill.id, world.conversation.id, 0, frozenset())
    (push,) = pushes.render_thread(ask)
    assert answer.content.decode() in [item["html"] for item in push.payload["items"]]  # type: ignore[attr-defined]
    assert [run.input for run in ToolRun.objects.all()] == [INPUT]


def test_you_and_the_name_both_stand_in_the_card_for_the_sessions_own_rule(world: World) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)

    html = card_in_thread(world, approval)

    by = f'<span class="by" data-by="{world.sam.id}"><span class="by-name"><bdi>Sam</bdi></span>'
    assert by + '<span class="by-you">you</span></span> · running now' in html
    assert world.kim.id not in html


def test_without_a_script_an_answer_leads_back_to_the_thread(world: World, browser_of: SignIn) -> None:
    approval = request(world)

    answer = browser_of(world.sam).post(f"/approvals/{approval.id}/deny", {"as": world.sam.id, "reason": " By phone. "})

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/inbox/{world.conversation.id}/")
    approval.refresh_from_db()
    assert (approval.state, approval.reason) == (State.DENIED, "By phone.")
    assert ToolRun.objects.count() == 0


def test_a_reason_may_hold_anything_and_has_a_limit(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    sam = browser_of(world.sam)
    path = f"/approvals/{approval.id}/deny"
    answer = sam.post(path, {"reason": "x" * 2_001}, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.content) == (422, b"A reason has at most 2,000 characters.")
    approval.refresh_from_db()
    assert approval.state == State.PENDING
    assert sam.post(path, {"reason": "No\0 money\r\n" + "x" * 1_900}).status_code == 302
    approval.refresh_from_db()
    assert (approval.state, approval.reason) == (State.DENIED, "No\u2400 money\n" + "x" * 1_900)


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_the_second_teammate_is_told_and_the_card_says_who_was_first(
    verb: str, world: World, browser_of: SignIn
) -> None:
    approval = request(world)
    decisions.deny(approval.id, by=world.sam.actor)

    answer = browser_of(world.kim).post(f"/approvals/{approval.id}/{verb}", headers=HTMX)

    assert answer.status_code == 409
    assert answer.headers["HX-Reswap"] == "none"
    assert toast(answer)["message"] == "This request has already been reviewed."
    fresh = browser_of(world.kim).get(f"/approvals/{approval.id}/", headers=HTMX)
    assert re.search(r"Denied by Sam you · \d\d:\d\d", card(fresh.content.decode()))
    assert lines_of(world)[1:] == ["Sam declined Median AI’s request to run Refund order"]


def test_the_second_press_of_the_same_person_shows_the_decided_card(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    browser = browser_of(world.sam)
    first = browser.post(f"/approvals/{approval.id}/approve", headers=HTMX)

    again = browser.post(f"/approvals/{approval.id}/approve", headers=HTMX)

    assert (again.status_code, again.content) == (200, first.content)
    assert ToolRun.objects.count() == 1
    assert len(lines_of(world)) == 2


@pytest.mark.parametrize("path", ["", "approve", "deny"])
def test_somebody_of_another_workspace_finds_nothing(path: str, world: World, browser_of: SignIn) -> None:
    approval = request(world)
    events = Event.objects.count()
    browser = browser_of(world.mallory)

    answer = browser.post(f"/approvals/{approval.id}/{path}") if path else browser.get(f"/approvals/{approval.id}/")
    absent = browser.post(f"/approvals/call_{'0' * 32}/{path}") if path else browser.get("/approvals/call_0/")

    assert (answer.status_code, absent.status_code) == (404, 404)
    assert answer.content == absent.content
    approval.refresh_from_db()
    assert (approval.state, Event.objects.count(), ToolRun.objects.count()) == (State.PENDING, events, 0)


def test_a_page_made_for_somebody_else_decides_nothing(world: World, browser_of: SignIn) -> None:
    approval = request(world)

    answer = browser_of(world.kim).post(
        f"/approvals/{approval.id}/approve", headers=HTMX | {"X-Median-As": world.sam.id}
    )

    assert answer.status_code == 409
    assert toast(answer) == {
        "code": "signed_in_as_other",
        "message": "You are signed in as Kim now. Reload the page; nothing was done.",
        "field": None,
    }
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_an_answer_that_names_nobody_leads_to_the_page_of_the_decision(world: World) -> None:
    approval = request(world)
    browser = Client()
    browser.force_login(world.sam.user)

    answer = browser.post(f"/approvals/{approval.id}/approve")

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/approvals/{approval.id}/")
    htmx = browser.post(f"/approvals/{approval.id}/approve", headers=HTMX)
    assert (htmx.status_code, htmx.headers["HX-Redirect"]) == (204, f"/approvals/{approval.id}/")
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_a_press_after_signing_out_moves_the_whole_page_to_sign_in(world: World) -> None:
    approval = request(world)
    here = f"http://testserver/inbox/{world.conversation.id}/?q=ana&f=mine"

    answer = Client().post(f"/approvals/{approval.id}/approve", headers=HTMX | {"HX-Current-URL": here})

    assert answer.status_code == 401
    assert (
        answer.headers["HX-Redirect"] == f"/accounts/login/?next=/inbox/{world.conversation.id}/%3Fq%3Dana%26f%3Dmine"
    )
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_past_its_deadline_a_card_has_expired_before_the_sweep_writes_it_down(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    ToolApproval.objects.update(expires_at=clock.now() - timedelta(seconds=1))

    words = card(card_in_thread(world, approval))
    answer = browser_of(world.sam).post(f"/approvals/{approval.id}/approve", headers=HTMX)

    assert "Median AI asked to run Refund order" in words
    assert words.endswith("Expired unanswered")
    assert (answer.status_code, toast(answer)["message"]) == (409, "This request expired without a decision.")


def test_a_request_that_ended_with_its_conversation_says_so(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)

    answer = browser_of(world.sam).post(f"/approvals/{approval.id}/approve", headers=HTMX)

    assert toast(answer)["message"] == "This request expired because the conversation ended."
    assert card(card_in_thread(world, approval)).endswith("Expired because the conversation ended")


def test_a_waiting_card_shows_deadline_badge_summary_and_both_buttons(world: World) -> None:
    html = card_in_thread(world, request(world))

    words = card(html)
    for expected in [
        "Median AI wants to run Refund order",
        "High risk",
        "Refund an order in full.",
        "Order number ORD-1042",
        "Reason damaged",
        "Show exact JSON",
        "Deny Approve and run Running",
    ]:
        assert expected in words
    assert re.search(r"Expires tomorrow at \d\d:\d\d", words)
    assert 'data-state="pending"' in html
    assert "The customer is not verified." not in words


def test_a_waiting_card_names_what_was_left_out_of_the_schema_it_was_asked_under(world: World) -> None:
    approval = request(world, input_text='{"orderNumber":"ORD-1042"}')
    assert "Reason not sent" in card(card_in_thread(world, approval))

    world.fernhill.tools.update(content_hash="another")
    assert "not sent" not in card(card_in_thread(world, approval))


def test_a_waiting_card_warns_of_an_unverified_customer_a_repeated_run_and_an_earlier_denial(world: World) -> None:
    ran = request(world)
    decisions.approve(ran.id, by=world.sam.actor)
    end(ran.id, '{"refunded":true,"amount":48}')
    denied = request(world, input_text='{"orderNumber":"ORD-1042","reason":"late"}')
    decisions.deny(denied.id, by=world.kim.actor)
    world.ana.verified = False
    world.ana.save()

    words = card(card_in_thread(world, request(world)))

    assert re.search(r"The same input ran for this customer before: .+, approved by Sam Okafor\.", words)
    assert "The input changed since the team last refused it." in words
    assert "The customer is not verified." in words
    assert "The same input ran" not in card(card_in_thread(world, denied))


def test_a_waiting_card_mentions_an_earlier_attempt_that_may_have_been_done(world: World) -> None:
    tried = request(world)
    decisions.approve(tried.id, by=world.sam.actor)
    late = Failure(kind="timed_out", status=None, detail="The request was sent.", sent=True, elapsed_s=10)
    end(tried.id, outcome=outcomes.from_answer(late, kind="manifest"))
    assert "The endpoint did not answer in time. The request was sent." in card(card_in_thread(world, tried))
    other = request(world, tool="closeAccount", input_text="{}")
    decisions.approve(other.id, by=world.sam.actor)
    end(other.id, outcome=outcomes.from_answer(replace(late, detail="Nothing was sent.", sent=False), kind="manifest"))

    again = request(world)
    assert "was tried" not in card(card_in_thread(world, request(world, tool="closeAccount", input_text="{}")))

    assert again.id != tried.id
    assert re.search(
        r"The same input was tried for this customer before: .+, approved by Sam Okafor\. "
        r"Check whether the action completed\.",
        card(card_in_thread(world, again)),
    )


REFUND_AGAIN = '{"reason":"damaged","orderNumber":"ORD-1042"}'


def test_it_warns_of_the_same_input_whatever_the_order_of_its_keys_and_by_whom_it_ran(world: World) -> None:
    by_hand = runs.queue(
        threads.start(world.ana), world.tool("refundOrder"), input_text=REFUND_AGAIN, started_by=Starter.TEAMMATE,
        by=world.kim.actor,
    )  # fmt: skip
    end(by_hand.id, '{"refunded":true}')

    words = card(card_in_thread(world, request(world)))

    assert re.search(r"The same input ran for this customer before: .+ at \d\d:\d\d, run by Kim Ito\.", words)


@pytest.mark.parametrize(("status", "warns"), [(504, True), (404, False)])
def test_what_a_server_error_came_of_may_have_been_done(status: int, warns: bool, world: World) -> None:
    tried = request(world)
    decisions.approve(tried.id, by=world.sam.actor)
    came = Answer(status=status, headers={}, body=b"", text="", replaced=False, truncated=False, elapsed_s=0.1)
    end(tried.id, outcome=outcomes.from_answer(came, kind="manifest"))
    assert ("The same input was tried for this customer" in card(card_in_thread(world, request(world)))) is warns


def test_it_says_who_refused_an_input_that_changed_since(world: World) -> None:
    denied = request(world, tool="refundSmallOrder")
    decisions.deny(denied.id, by=reviewer(world.fernhill.id), reason="No.")
    again = request(world, tool="refundSmallOrder", input_text='{"orderNumber":"ORD-1042","reason":"late"}')
    assert "The input changed since the reviewer last refused it." in card(card_in_thread(world, again))


def end(call_id: str, raw: str = "", outcome: outcomes.Outcome | None = None, *, written: bool = True) -> None:
    """The call comes back: with a raw result, or with another outcome."""
    assert runs.begin(call_id)
    if outcome is None:
        result = outcomes.stored_result(raw)
        outcome = outcomes.Outcome(
            state="completed", raw_text=raw, for_model=result, refusal=outcomes.refusal_in(result)
        )
    with transaction.atomic():
        assert runs.finish(call_id, outcome)
    if written and outcome.state == "completed":
        runs.write_up(call_id)


@pytest.mark.parametrize(
    ("raw", "written", "tone", "contains"),
    [
        (
            '{"refunded":true,"amount":48.00}',
            True,
            "green",
            ["Refund order: refunded", "Amount 48.00"],
        ),
        ('{"refunded":true,"amount":48.00}', False, "green", ["Working…"]),
        ('{"ok":false,"reason":"already_refunded"}', True, "amber", ["The tool refused: already_refunded"]),
        ("{}", True, "green", ["Done. The tool returned nothing."]),
        ("Refunded by hand", True, "green", ["Refunded by hand", "Show raw output"]),
    ],
)
def test_a_completed_card_shows_the_result_above_its_last_line(
    raw: str, written: bool, tone: str, contains: list[str], world: World
) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)
    end(approval.id, raw, written=written)

    html = card_in_thread(world, approval)
    words = card(html)

    assert re.search(r"Approved by Sam you · \d\d:\d\d$", words)
    assert all(expected in words for expected in contains)
    assert f'<p class="outcome" data-tone="{tone}">' in html
    assert "Refund an order in full." not in words
    assert ("Show raw output" in words) == written


def test_a_failed_card_says_that_it_did_not_run_and_why(world: World) -> None:
    approval = request(world)
    decisions.approve(approval.id, by=world.sam.actor)
    end(approval.id, outcome=outcomes.no_result())

    words = card(card_in_thread(world, approval))

    assert "The tool returned no result. Check whether the action completed before retrying." in words
    assert re.search(r"Approved by Sam you , but it did not run$", words)


def test_a_settled_card_keeps_its_input_and_loses_its_buttons(world: World) -> None:
    approval = request(world)
    decisions.deny(approval.id, by=world.sam.actor, reason="She chose the replacement.")

    words = card(card_in_thread(world, approval))

    assert "Order number ORD-1042" in words
    assert words.endswith("She chose the replacement.")
    assert "Approve and run" not in words


def test_the_reviewers_states_stand_on_the_card(world: World) -> None:
    approval = request(world, tool="refundSmallOrder")
    ToolApproval.objects.update(state=State.REVIEWING)
    reviewing = card(card_in_thread(world, approval))
    ToolApproval.objects.update(state=State.PENDING, review="passed", review_reason="Same refund three times.")
    passed = card(card_in_thread(world, approval))
    ToolApproval.objects.update(review="unchecked", review_reason="The review timed out.")
    unchecked = card(card_in_thread(world, approval))
    ToolApproval.objects.update(
        state=State.DENIED, decided_at=clock.now(), decided_by_kind="reviewer", reason="", review_reason="Not agreed."
    )
    denied = card(card_in_thread(world, approval))

    assert "Median AI wants to run Refund small order Reviewed" in reviewing
    assert reviewing.endswith("The reviewer is checking this Deny Approve and run Running")
    assert "The reviewer passed this to the team Same refund three times." in passed
    assert "The reviewer could not check this The review timed out." in unchecked
    assert "Deny Approve and run Running" in passed
    assert denied.endswith("Denied by the reviewer Not agreed.")


@pytest.mark.parametrize(
    ("because", "line"),
    [
        (ExpiredBecause.UNANSWERED, "Expired unanswered"),
        (ExpiredBecause.CONVERSATION_ENDED, "Expired because the conversation ended"),
        (ExpiredBecause.ENDPOINT_REMOVED, "Expired because its endpoint was removed"),
    ],
)
def test_an_expired_card_says_why(because: ExpiredBecause, line: str, world: World) -> None:
    approval = request(world)
    ToolApproval.objects.update(state=State.EXPIRED, expired_because=because)

    assert card(card_in_thread(world, approval)).endswith(line)


def test_markup_in_inputs_results_and_names_is_text(world: World) -> None:
    evil = '<img src=x onerror=alert(1)><div hx-get="/x" hx-trigger="load">{{7*7}}</pre>'
    world.ana.name = evil
    world.ana.save()
    approval = request(world, input_text=json.dumps({"orderNumber": evil, "reason": "damaged"}, separators=(",", ":")))
    decisions.approve(approval.id, by=world.sam.actor)
    end(approval.id, json.dumps({"status": evil, "note": f"</pre><!--{evil}"}))

    html = card_in_thread(world, approval)

    assert "<img" not in html
    assert "<div hx-get" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 6
