"""Alerts in Slack: what they show, who may press, what becomes of a message when Slack fails."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections
from django.test import Client

from approvals import decisions
from approvals.models import Alert, AlertChannel, AlertLink, AlertPress, State, ToolApproval
from conversations import threads
from conversations.models import Status
from median_site.lib import clock
from team import roster
from team.events import Kind
from team.models import Event, Teammate
from tests.alerts.conftest import later, link, work
from tests.alerts.json_server import Reply
from tests.alerts.slack_server import CHANNEL, SECRET, Slack, buttons, press, send_off, signed, texts
from tests.approvals.requests import lines_of, request
from tests.world import World
from tools.models import ToolRun

SignIn = Callable[[Teammate], Client]


def kinds(*kinds: Kind) -> list[str]:
    return list(Event.objects.filter(kind__in=kinds).order_by("id").values_list("kind", flat=True))


def test_the_alert_shows_the_exact_input_and_nothing_in_it_passes_for_more(fernhill: World, slack: Slack) -> None:
    fernhill.ana.name = "<!channel>"
    fernhill.ana.save()
    odd = "late\\n\\nAmount: 1 <https://evil.example|Approve here> <@U123> & *b*"
    approval = request(fernhill, input_text=f'{{"orderNumber":"ORD-\\u202e2401","reason":"{odd}"}}')
    work()

    assert texts(slack.message) == [
        "Median AI wants to run Refund order",
        f"High risk · for <!channel> · asked at {approval.requested_at:%H:%M} ·"
        f" expires tomorrow at {approval.expires_at:%H:%M}",
        "Order number: ORD-⟦U+202E⟧2401\nReason: late↵↵Amount: 1 <https://evil.example|Approve here> <@U123> & *b*",
    ]
    assert buttons(slack.message) == ["deny", "approve", "open"]
    assert (slack.message["channel"], slack.message["unfurl_links"]) == (CHANNEL, False)
    raw = str(slack.message)
    assert "<!" not in raw
    assert "<@" not in raw
    assert "mrkdwn" not in raw
    work()
    assert len(slack.calls) == 1


@pytest.mark.parametrize(
    ("note", "shortened"), [("&<>" * 200 + "x" * 200, False), ("&<>" * 983, True), ("x" * 9_000, True)]
)
def test_an_input_longer_than_a_message_is_shortened_and_approved_in_median_alone(
    fernhill: World, slack: Slack, note: str, shortened: bool
) -> None:
    approval = request(fernhill, input_text=f'{{"note":"{note}","amount":9999}}')
    work()
    assert buttons(slack.message) == (["deny", "open"] if shortened else ["deny", "approve", "open"])
    assert ("The input is too long for a message. Read and approve it in Median." in texts(slack.message)) == shortened
    opens = slack.message["blocks"][-1]["elements"][-1]
    assert opens["url"].endswith(f"/approvals/{approval.id}/")
    decisions.deny(approval.id, by=fernhill.sam.actor)
    work()
    assert buttons(slack.message) == ["open"]


def test_a_linked_teammate_approves_once_however_often_slack_tells_of_it(fernhill: World, slack: Slack) -> None:
    link(fernhill, fernhill.kim)
    approval = request(fernhill)
    work()
    for retry in range(4):
        answer = press(fernhill.fernhill.id, "approve", approval.id, trigger="1", **{"X-Slack-Retry-Num": str(retry)})
        assert (answer.status_code, answer.content) == (200, b"")
    assert ToolApproval.objects.get().state == State.PENDING  # acknowledged before anything is done
    work()

    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id) == (State.EXECUTING, fernhill.kim.id)
    assert ToolRun.objects.count() == 1
    assert kinds(Kind.APPROVED) == [Kind.APPROVED]
    assert lines_of(fernhill)[-1] == "Kim approved running Refund order"
    assert texts(slack.message)[0] == "Median AI asked to run Refund order"
    assert texts(slack.message)[-1] == "Approved by Kim · running now"
    assert buttons(slack.message) == ["open"]
    assert slack.whispers == []


def test_whoever_is_not_linked_is_told_how_and_nothing_happens(
    fernhill: World, slack: Slack, browser_of: SignIn
) -> None:
    approval = request(fernhill)
    work()
    press(fernhill.fernhill.id, "approve", approval.id)
    work()

    approval.refresh_from_db()
    assert (approval.state, len(slack.messages), len(slack.calls)) == (State.PENDING, 1, 2)
    [whisper] = slack.whispers
    told, _, link_to = whisper["text"].rpartition(" ")
    assert told == "Nothing was done: you are not linked to a teammate of Fernhill. Sign in to Median there and open"
    assert (whisper["user"], whisper["channel"]) == ("U0SAM", CHANNEL)
    path = "/" + link_to.split("/", 3)[3]

    assert browser_of(fernhill.mallory).get(path).status_code == 404
    assert browser_of(fernhill.mallory).post(path).status_code == 404
    sam = browser_of(fernhill.sam)
    assert "u0sam" in sam.get(path).text
    assert not AlertLink.objects.exists()
    assert sam.post(path)["Location"] == "/settings/alerts/own/"
    assert browser_of(fernhill.kim).post(path).status_code == 404  # a code is good once
    assert "U0SAM" in sam.get("/settings/alerts/own/").text

    press(fernhill.fernhill.id, "approve", approval.id)
    work()
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id) == (State.EXECUTING, fernhill.sam.id)

    own = AlertLink.objects.get()
    assert browser_of(fernhill.kim).post(f"/settings/alerts/own/{own.id}/unlink").status_code == 404
    sam.post(f"/settings/alerts/own/{own.id}/unlink")
    assert not AlertLink.objects.exists()


def test_a_code_is_over_after_15_minutes_and_a_user_is_one_teammate(
    fernhill: World, slack: Slack, browser_of: SignIn
) -> None:
    link(fernhill, fernhill.sam)
    press(fernhill.fernhill.id, "approve", "call_none")
    code = AlertPress.objects.latest("pressed_at").id
    kim = browser_of(fernhill.kim)
    answer = kim.post(f"/settings/alerts/link/{code}/")
    assert answer.status_code == 409
    assert "Another teammate is linked to this user." in answer.text
    assert AlertLink.objects.get().teammate_id == fernhill.sam.id
    AlertPress.objects.update(pressed_at=clock.now() - timedelta(minutes=16))
    assert kim.get(f"/settings/alerts/link/{code}/").status_code == 404


@pytest.mark.parametrize("who", ["removed", "another Slack's", "of another workspace"])
def test_the_link_is_checked_again_at_the_press(fernhill: World, slack: Slack, who: str) -> None:
    link(fernhill, fernhill.kim)
    approval = request(fernhill)
    work()
    if who == "removed":
        roster.remove(fernhill.kim.id, by=fernhill.sam.actor)
    elif who == "of another workspace":
        AlertLink.objects.update(workspace=fernhill.elsewhere, teammate=fernhill.mallory)
    press(fernhill.fernhill.id, "approve", approval.id, team="T0OTHER" if who == "another Slack's" else "T0FERNHILL")
    work()
    assert ToolApproval.objects.get().state == State.PENDING
    assert [whisper["text"][:16] for whisper in slack.whispers] == ["Nothing was done"]


def test_whoever_denies_is_asked_for_a_reason_and_checked_again_when_it_comes(fernhill: World, slack: Slack) -> None:
    link(fernhill, fernhill.kim)
    link(fernhill, fernhill.sam, user="U0OWNER")
    approval = request(fernhill)
    work()
    press(fernhill.fernhill.id, "deny", approval.id)
    press(fernhill.fernhill.id, "deny", approval.id, user="U0STRANGER")
    work()
    [view] = slack.views.values()
    assert view["blocks"][0]["text"]["text"] == "Median AI wants to run Refund order for Ana Souza."
    assert (view["blocks"][1]["optional"], ToolApproval.objects.get().state) == (True, State.PENDING)
    roster.remove(fernhill.kim.id, by=fernhill.sam.actor)
    send_off(fernhill.fernhill.id, view, reason="Not mine to say any more")
    work()
    assert [whisper["text"][:16] for whisper in slack.whispers] == ["Nothing was done"] * 2
    assert ToolApproval.objects.get().state == State.PENDING

    press(fernhill.fernhill.id, "deny", approval.id, user="U0OWNER")
    work()
    for _ in range(3):
        answer = send_off(fernhill.fernhill.id, slack.views["V1"], reason=" Third refund\n", user="U0OWNER")
        assert (answer.status_code, answer.content) == (200, b"")
    work()
    decided = ToolApproval.objects.get()
    assert (decided.state, decided.decided_by_id, decided.reason) == (State.DENIED, fernhill.sam.id, "Third refund")
    assert texts(slack.message)[-1].startswith("Denied by Sam · ")
    assert "Third refund" not in str(slack.message)
    assert len(slack.whispers) == 2


@pytest.mark.parametrize("error", ["expired_trigger_id", "internal_error"])
def test_where_the_form_does_not_open_the_press_itself_denies(fernhill: World, slack: Slack, error: str) -> None:
    link(fernhill, fernhill.kim)
    approval = request(fernhill)
    work()
    slack.replies.append(Reply(body={"ok": False, "error": error}))
    press(fernhill.fernhill.id, "deny", approval.id)
    work()
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id, approval.reason) == (State.DENIED, fernhill.kim.id, "")


def test_a_late_press_gets_the_published_sentence_and_the_message_is_rewritten(fernhill: World, slack: Slack) -> None:
    link(fernhill, fernhill.kim)
    approval = request(fernhill)
    work()
    decisions.deny(approval.id, by=fernhill.sam.actor)
    press(fernhill.fernhill.id, "approve", approval.id)
    work()
    assert [whisper["text"] for whisper in slack.whispers] == ["This request has already been reviewed."]
    assert texts(slack.message)[-1].startswith("Denied by Sam · ")
    assert ToolApproval.objects.get().state == State.DENIED


def test_of_two_who_press_at_once_one_decides(fernhill: World, slack: Slack) -> None:
    link(fernhill, fernhill.sam)
    link(fernhill, fernhill.kim, user="U0KIM")
    approval = request(fernhill)
    work()

    def one(action_and_user: tuple[str, str]) -> int:
        try:
            return press(fernhill.fernhill.id, action_and_user[0], approval.id, user=action_and_user[1]).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(one, [("approve", "U0SAM"), ("approve", "U0KIM")])) == [200, 200]
    work()
    assert len(kinds(Kind.APPROVED, Kind.DENIED)) == 1
    assert [whisper["text"] for whisper in slack.whispers] == ["This request has already been reviewed."]


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        (lambda w, id: threads.end(w.conversation.id, to=Status.RESOLVED, by=w.sam.actor),
         "Expired because the conversation ended"),
        (lambda w, id: decisions.approve(id, by=w.sam.actor), "Approved by Sam · running now"),
    ],
)  # fmt: skip
def test_the_message_follows_whoever_decided(
    fernhill: World, slack: Slack, how: Callable[[World, str], object], outcome: str
) -> None:
    approval = request(fernhill)
    work()
    how(fernhill, approval.id)
    work()
    assert (texts(slack.message)[-1], buttons(slack.message)) == (outcome, ["open"])
    assert [method for method, _ in slack.calls] == ["chat.postMessage", "chat.update"]


def test_what_was_decided_before_anybody_heard_of_it_is_not_announced(fernhill: World, slack: Slack) -> None:
    decisions.deny(request(fernhill).id, by=fernhill.sam.actor)
    work()
    assert (slack.calls, Alert.objects.get().due_at) == ([], None)


def test_a_reviewed_request_is_announced_once_the_reviewer_leaves_it_to_the_team(fernhill: World, slack: Slack) -> None:
    approval = request(fernhill, tool="refundSmallOrder")
    work()
    assert slack.calls == []
    decisions.pass_on(approval.id, workspace_id=fernhill.fernhill.id, reason="An unusual amount.")
    work()
    assert texts(slack.message)[1].startswith("Reviewed · ")
    assert "The reviewer passed this to the team: An unusual amount." in texts(slack.message)


def test_slack_asks_for_a_pause_and_gets_it(fernhill: World, slack: Slack) -> None:
    slack.replies.append(Reply(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "30"}))
    request(fernhill)
    work()
    request(fernhill, tool="closeAccount", input_text="{}")
    work()
    assert len(slack.calls) == 1
    assert Alert.objects.filter(attempts=0).count() == 2
    later(timedelta(seconds=35))
    work()
    assert len(slack.messages) == 2
    assert kinds(Kind.ALERT_FAILED, Kind.ALERT_GIVEN_UP) == []


@pytest.mark.parametrize("reply", [Reply(500), Reply(200, {"ok": False, "error": "fatal_error"})])
def test_a_failure_is_in_the_log_and_tried_for_a_day(fernhill: World, slack: Slack, reply: Reply) -> None:
    request(fernhill)
    slack.replies.extend([reply] * 40)
    for _ in range(7):
        work()
        later(timedelta(hours=5))
    assert kinds(Kind.ALERT_FAILED, Kind.ALERT_GIVEN_UP) == [Kind.ALERT_FAILED, Kind.ALERT_GIVEN_UP]
    assert len(slack.calls) == 6
    alert = Alert.objects.get()
    assert (alert.due_at, alert.message_id) == (None, "")
    assert Event.objects.get(kind=Kind.ALERT_FAILED).data["service"] == "Slack"
    assert ToolApproval.objects.get().state == State.PENDING


def test_a_refused_channel_stops_says_why_and_sends_what_waits_once_it_is_mended(
    fernhill: World, slack: Slack, browser_of: SignIn
) -> None:
    slack.replies.append(Reply(200, {"ok": False, "error": "not_in_channel"}))
    request(fernhill)
    work()
    request(fernhill, tool="closeAccount", input_text="{}")
    work()
    assert len(slack.calls) == 1
    assert kinds(Kind.ALERTS_DISABLED) == [Kind.ALERTS_DISABLED]
    sam = browser_of(fernhill.sam)
    assert "The app is not in the channel. Invite it there." in sam.get("/settings/alerts/").text
    slack.replies.append(Reply(200, {"ok": False, "error": "channel_not_found"}))
    assert "Slack finds no such channel, or the app is not in it." in sam.post("/settings/alerts/slack/test").text
    assert "Slack took the message." in sam.post("/settings/alerts/slack/test").text
    assert AlertChannel.objects.get().off == ""
    work()
    assert len(slack.messages) == 3
    assert kinds(Kind.ALERTS_MENDED) == [Kind.ALERTS_MENDED]


def test_a_message_that_slack_does_not_take_goes_out_without_its_input(fernhill: World, slack: Slack) -> None:
    slack.replies.append(Reply(200, {"ok": False, "error": "invalid_blocks"}))
    request(fernhill)
    work()
    assert buttons(slack.message) == ["deny", "open"]
    assert "ORD-1042" not in str(slack.message)


def test_a_change_while_the_message_is_on_its_way_is_sent_after_it(fernhill: World, slack: Slack) -> None:
    approval = request(fernhill)
    work()
    Alert.objects.update(due_at=clock.now() + timedelta(seconds=30), claimed_at=clock.now())
    decisions.deny(approval.id, by=fernhill.sam.actor)
    work()
    assert len(slack.calls) == 1  # whoever has it has it
    later(timedelta(seconds=31))  # and that process died
    work()
    assert texts(slack.message)[-1].startswith("Denied by Sam · ")


def test_what_is_not_slacks_changes_nothing_and_the_log_says_why(
    fernhill: World, slack: Slack, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [
        {"X-Slack-Signature": ""}, {"X-Slack-Signature": "v0=zz"}, {"X-Slack-Signature": "v0=ä" * 100},
        *({"X-Slack-Request-Timestamp": odd} for odd in ("", "1e9", "-5", "9" * 30, "١٢٣")),
        signed("x", secret="other"), signed("x", ahead_s=-361), signed("x", ahead_s=361),
        signed("x", timestamp="1764500000000"),
    ]  # fmt: skip
    for headers in bad:
        answer = Client().post(
            f"/alerts/slack/{fernhill.fernhill.id}/", "x", content_type="application/x-www-form-urlencoded",
            headers=signed("x") | headers,
        )  # fmt: skip
        assert (answer.status_code, answer.content) == (401, b"The signature is not right."), headers
    why = [record.getMessage().rpartition("was refused: ")[2] for record in caplog.records if "refused" in record.msg]
    assert why[:4] == [*["the signature does not fit the body."] * 3, "the timestamp is not a number of seconds."]
    assert re.fullmatch(r"the timestamp is 36[12] seconds old; is a clock wrong\?\.", why[-3])
    assert press(fernhill.elsewhere.id, "approve", "call_1").status_code == 401
    assert not AlertPress.objects.exists()


def test_a_removed_channel_is_deaf_and_has_no_secrets(fernhill: World, slack: Slack, browser_of: SignIn) -> None:
    approval = request(fernhill)
    work()
    browser_of(fernhill.sam).post("/settings/alerts/slack/remove")
    assert press(fernhill.fernhill.id, "approve", approval.id).status_code == 401
    decisions.deny(approval.id, by=fernhill.sam.actor)
    work()
    assert len(slack.calls) == 1
    assert AlertChannel.objects.values_list("sealed_token", "sealed_check").get() == ("", "")


def test_settings_are_for_owners_and_admins_and_a_fault_names_its_field(
    fernhill: World, slack: Slack, browser_of: SignIn
) -> None:
    kim, sam = browser_of(fernhill.kim), browser_of(fernhill.sam)
    assert kim.get("/settings/alerts/").status_code == 403
    good = {"channel": CHANNEL, "token": "", "check": ""}
    for name in ("save", "test", "remove"):
        assert kim.post(f"/settings/alerts/slack/{name}", good).status_code == 403
    shown = sam.get("/settings/alerts/").text
    assert SECRET not in shown
    assert f"/alerts/slack/{fernhill.fernhill.id}/" in shown
    for field, value in {"channel": "#general", "token": "short", "check": "zz"}.items():
        answer = sam.post("/settings/alerts/slack/save", good | {field: value}, headers={"HX-Request": "true"})
        assert (answer.status_code, f'"field": "{field}"' in answer["HX-Trigger"]) == (400, True)
    first = AlertChannel.objects.get()
    sam.post("/settings/alerts/slack/save", good)
    assert AlertChannel.objects.get().sealed_token == first.sealed_token
    sam.post("/settings/alerts/slack/save", good | {"channel": "C0ANOTHER"})
    assert AlertChannel.objects.filter(removed_at=None).get().channel == "C0ANOTHER"
