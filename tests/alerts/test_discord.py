"""Alerts in Discord: its signatures, limits, answers and presses. What it shares with Slack is tested there."""

import json
from datetime import timedelta

import pytest

from approvals import decisions
from approvals.alerts import links
from approvals.models import Alert, AlertChannel, AlertPress, State, ToolApproval
from team.events import Kind
from team.models import Event
from tests.alerts.conftest import later, work
from tests.alerts.discord_server import CHANNEL, Discord, buttons, post, press, send_off
from tests.alerts.json_server import Reply
from tests.alerts.slack_server import Slack
from tests.approvals.requests import request
from tests.world import World


def test_an_alert_is_plain_text_pings_nobody_and_is_rewritten(fernhill: World, discord: Discord, slack: Slack) -> None:
    odd = "@everyone <@1> [Approve](https://evil.example) **b** `c`"
    approval = request(fernhill, input_text=json.dumps({"orderNumber": "ORD-1042", "reason": odd}))
    work()
    [embed] = discord.message["embeds"]
    assert embed["title"] == "Median AI wants to run Refund order"
    _, shown = embed["description"].split("\n\n")
    assert shown == (
        "Order number\\: ORD\\-1042\n"
        "Reason\\: \\@everyone \\<\\@1\\> \\[Approve\\]\\(https\\:\\/\\/evil\\.example\\) \\*\\*b\\*\\* \\`c\\`"
    )
    assert discord.message["allowed_mentions"] == {"parse": []}
    assert buttons(discord.message) == ["Deny", "Approve and run", "Open in Median"]

    decisions.deny(approval.id, by=fernhill.sam.actor)
    work()
    assert "Denied by Sam · " in discord.message["embeds"][0]["description"].replace("\\", "")
    assert buttons(discord.message) == ["Open in Median"]
    assert len(slack.messages) == 1


@pytest.mark.parametrize("values", [{"a": "x" * 5_000}, {f"f{n}": "*" * 60 for n in range(40)}, {"a": "注" * 3_000}])
def test_what_is_too_long_is_shortened_and_approved_in_median_alone(
    fernhill: World, discord: Discord, values: dict[str, str]
) -> None:
    request(fernhill, input_text=json.dumps(values, ensure_ascii=False))
    work()
    assert buttons(discord.message) == ["Deny", "Open in Median"]
    assert discord.message["embeds"][0]["description"].endswith(
        "The input is too long for a message. Read and approve it in Median."
    )


def test_a_press_is_acknowledged_at_once_and_counts_once_for_a_linked_teammate(
    fernhill: World, discord: Discord
) -> None:
    approval = request(fernhill)
    work()
    press(fernhill.fernhill.id, "approve", approval.id)
    work()
    [whisper] = discord.whispers
    assert whisper["content"].startswith("Nothing was done: you are not linked to a teammate of Fernhill.")
    assert (whisper["flags"], whisper["to"]) == (64, "55/interaction-token")
    assert ToolApproval.objects.get().state == State.PENDING

    links.confirm(AlertPress.objects.get().id, by=fernhill.kim.actor)
    for _ in range(2):
        answer = press(fernhill.fernhill.id, "approve", approval.id, id="77")
        assert (answer.status_code, answer.json()) == (200, {"type": 6})
    work()
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id) == (State.EXECUTING, fernhill.kim.id)
    assert Event.objects.filter(kind=Kind.APPROVED).count() == 1
    assert "Approved by Kim · running now" in discord.message["embeds"][0]["description"]

    discord.replies.extend([Reply(404, {"code": 10015, "message": "Unknown Webhook"})])  # its 15 minutes are over
    press(fernhill.fernhill.id, "deny", approval.id)
    work()
    assert not AlertPress.objects.exclude(due_at=None).exists()


def test_whoever_denies_is_asked_for_a_reason_at_once(fernhill: World, discord: Discord) -> None:
    approval = request(fernhill)
    work()
    assert press(fernhill.fernhill.id, "deny", approval.id).json() == {"type": 6}  # a stranger is told how to link
    work()
    links.confirm(AlertPress.objects.get().id, by=fernhill.kim.actor)
    asked = press(fernhill.fernhill.id, "deny", approval.id).json()
    assert (asked["type"], asked["data"]["title"]) == (9, "Deny Refund order?")
    form = asked["data"]["custom_id"]
    assert send_off(fernhill.fernhill.id, form, reason="Third refund").json() == {"type": 6}
    send_off(fernhill.fernhill.id, form, reason="Again", user="700000000000000002")
    work()
    approval.refresh_from_db()
    assert (approval.state, approval.decided_by_id, approval.reason) == (State.DENIED, fernhill.kim.id, "Third refund")
    assert "Denied by Kim · " in discord.message["embeds"][0]["description"].replace("\\", "")
    assert [whisper["content"][:16] for whisper in discord.whispers] == ["Nothing was done"] * 2
    assert press(fernhill.fernhill.id, "deny", approval.id).json() == {"type": 6}  # it is over: no form


def test_discords_probes(fernhill: World, discord: Discord) -> None:
    ping, fernhill_id = b'{"type":1}', fernhill.fernhill.id
    assert (post(fernhill_id, ping).status_code, post(fernhill_id, ping).json()) == (200, {"type": 1})
    for bad in ("", "00", "zz", "ab" * 64):
        assert post(fernhill_id, ping, **{"X-Signature-Ed25519": bad}).status_code == 401
    assert post(fernhill_id, ping, **{"X-Signature-Timestamp": "1e9"}).status_code == 401
    assert post(fernhill.elsewhere.id, ping).status_code == 401
    assert not AlertPress.objects.exists()


def test_sent_again_after_a_crash_it_is_the_same_message(fernhill: World, discord: Discord) -> None:
    request(fernhill)
    work()
    Alert.objects.update(message_id="", shown=0, due_at=Alert.objects.get().wanted_at)  # it never came to be recorded
    work()
    assert len(discord.messages) == 1
    assert len(discord.calls) == 2


def test_a_pause_a_refused_message_and_a_lost_channel(fernhill: World, discord: Discord) -> None:
    discord.replies.append(Reply(429, {"retry_after": 12.5, "global": False}))
    request(fernhill)
    work()
    work()
    assert len(discord.calls) == 1
    discord.replies.append(Reply(500))
    later(timedelta(seconds=13))
    work()
    assert buttons(discord.message) == ["Deny", "Open in Median"]  # in a smaller form
    assert Event.objects.get(kind=Kind.ALERT_FAILED).data["why"] == "Discord answered 500 to the message."

    later(timedelta(seconds=13))
    used_up = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "3.2"}
    discord.replies.append(Reply(body={"id": "1"}, headers=used_up))
    request(fernhill, tool="extendTrial", input_text="{}")
    work()
    request(fernhill, tool="cancelSubscription", input_text="{}")
    before = len(discord.calls)
    work()
    assert len(discord.calls) == before  # its bucket is empty
    later(timedelta(seconds=4))
    discord.replies.append(Reply(404, {"code": 10003, "message": "Unknown Channel"}))
    work()
    assert AlertChannel.objects.get().off == "Discord finds no such channel."
    assert discord.calls[-1][1] == f"channels/{CHANNEL}/messages"
