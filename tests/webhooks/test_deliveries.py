"""Deliveries: signed so that an independent library believes them, once for each event and webhook, tried for a day."""

import json
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from standardwebhooks import Webhook as Standard
from standardwebhooks import WebhookVerificationError

from agent.models.demo import DemoModel
from median_site.lib import clock
from team import chain, closing, events
from team.events import Kind
from team.models import Event
from tests import agent_process
from tests.waiting import until
from tests.webhooks.receiver import Receiver, Reply, receiving
from tests.world import World
from tools import calls
from tools.client import Failure
from webhooks import deliveries, jobs, outcomes, sending, subscriptions
from webhooks.models import HELD, DeliveryState, Webhook, WebhookDelivery

NOON = datetime(2026, 6, 3, 12, tzinfo=UTC)


def subscribe(world: World, url: str, *kinds: str) -> tuple[Webhook, str]:
    """A webhook, with nothing on its way to it."""
    made = subscriptions.add(url, by=world.sam.actor, kinds=kinds)
    link()
    WebhookDelivery.objects.all().delete()
    return made


def link() -> None:
    while chain.link_all():
        pass


def note(world: World, count: int = 1) -> None:
    for n in range(count):
        events.record(Kind.AGENT_CHANGED, by=world.sam.actor, data={"n": n})
    link()


def claim() -> list[WebhookDelivery]:
    return deliveries.claim(limit=100, under_way=Counter())


def attempt() -> None:
    """Send what is due now, as one agent process would."""
    async_to_sync(send)(claim())


async def send(taken: list[WebhookDelivery]) -> None:
    for delivery in taken:
        await sending.run(delivery)
    await calls.close()


def due_now() -> None:
    WebhookDelivery.objects.filter(state=DeliveryState.WAITING).update(due_at=clock.now(), claimed_at=None)


def test_an_event_arrives_as_the_log_has_it_signed_for_the_secret(fernhill: World, receiver: Receiver) -> None:
    note(fernhill)
    webhook, secret = subscribe(fernhill, receiver.url)
    with agent_process.in_thread(DemoModel()):
        events.record(Kind.TOOL_SWITCHED, by=fernhill.sam.actor, tool_name="refundOrder", data={"share": 48.5})
        until(lambda: WebhookDelivery.objects.filter(state=DeliveryState.DELIVERED).exists())

    [got] = receiver.got
    payload = Standard(secret).verify(got.body, got.headers)
    event = Event.objects.latest("id")
    assert payload == {"type": "tool.switched", "timestamp": chain.iso(event.at), "data": chain.shown(event)}
    assert payload["data"]["position"] == event.position
    assert (got.path, got.headers["content-type"]) == ("/hook", "application/json")
    delivery = WebhookDelivery.objects.get(webhook=webhook)
    assert (delivery.id, delivery.event_id, delivery.attempts) == (got.id, event.id, 1)
    assert (delivery.answer_status, delivery.answer, delivery.error, delivery.due_at) == (200, "ok", "", None)
    with pytest.raises(WebhookVerificationError):
        Standard(secret).verify(got.body + b" ", got.headers)


def test_only_chosen_kinds_are_sent_and_nothing_of_another_workspace(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "note.left", "agent.changed")
    note(fernhill)
    events.record(Kind.TOOL_SWITCHED, by=fernhill.sam.actor)
    events.record(Kind.AGENT_CHANGED, by=fernhill.mallory.actor)
    link()
    assert list(WebhookDelivery.objects.values_list("kind", flat=True)) == ["agent.changed"]
    deliveries.queue(Event.objects.filter(workspace=fernhill.fernhill), workspace_id=fernhill.fernhill.id)
    assert WebhookDelivery.objects.count() == 1


def test_during_a_rotation_both_secrets_verify_and_a_day_later_the_new_one_alone(
    fernhill: World, receiver: Receiver
) -> None:
    webhook, old = subscribe(fernhill, receiver.url, "agent.changed")
    _, new = subscriptions.rotate_secret(webhook.id, by=fernhill.sam.actor)
    note(fernhill)
    attempt()
    for secret in (old, new):
        Standard(secret).verify(receiver.got[0].body, receiver.got[0].headers)
    with clock.at(clock.now() + timedelta(hours=24, seconds=1)):
        assert jobs.hourly()["secrets"] == 1
    note(fernhill)
    attempt()
    Standard(new).verify(receiver.got[1].body, receiver.got[1].headers)
    with pytest.raises(WebhookVerificationError):
        Standard(old).verify(receiver.got[1].body, receiver.got[1].headers)


FAILING = [
    (Reply(500, b"Broken \0" + b"x" * 2_000), 500, "It answered 500.", "Broken \u2400" + "x" * 992),
    (Reply(302, b"", {"Location": "/elsewhere"}), 302, "It answered with a redirect, which is not followed.", ""),
    (Reply(404, b"<html>"), 404, "It answered 404.", "<html>"),
    (Reply(200, b"ok", {"Content-Length": "9", "Connection": "close"}), None, "Its answer broke off.", ""),
]


@pytest.mark.parametrize(("reply", "status", "error", "answer"), FAILING, ids=["500", "302", "404", "broken"])
def test_what_failed_is_shown_and_sent_again_under_the_same_id(
    reply: Reply, status: int | None, error: str, answer: str, fernhill: World, receiver: Receiver
) -> None:
    webhook, secret = subscribe(fernhill, receiver.url, "agent.changed")
    receiver.replies.append(reply)
    note(fernhill)
    before = clock.now()
    attempt()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.answer_status, delivery.error, delivery.answer) == (
        "waiting", status, error, answer,
    )  # fmt: skip
    assert timedelta(seconds=4.5) <= delivery.due_at - before <= timedelta(seconds=10)
    assert Webhook.objects.get().failing_since is not None
    attempt()
    assert len(receiver.got) == 1  # it is not due yet
    due_now()
    attempt()
    assert [got.id for got in receiver.got] == [delivery.id, delivery.id]
    assert receiver.got[0].body == receiver.got[1].body
    Standard(secret).verify(receiver.got[1].body, receiver.got[1].headers)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.error) == ("delivered", 2, "")
    assert Webhook.objects.get().failing_since is None


def test_a_huge_answer_is_a_delivery_all_the_same(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    receiver.replies.append(Reply(200, b"x" * 3_000_000))
    note(fernhill)
    attempt()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.answer_status, delivery.answer) == ("delivered", 200, "")


def test_a_receiver_that_asks_for_time_gets_it(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    receiver.replies.append(Reply(429, b"", {"Retry-After": "600"}))
    note(fernhill)
    attempt()
    waits = WebhookDelivery.objects.get().due_at - clock.now()
    assert timedelta(seconds=590) < waits <= timedelta(seconds=600)


def test_a_receiver_that_is_gone_is_switched_off_at_once(fernhill: World, receiver: Receiver) -> None:
    webhook, _ = subscribe(fernhill, receiver.url, "agent.changed")
    receiver.replies.append(Reply(410, b""))
    note(fernhill, 1)
    attempt()
    assert WebhookDelivery.objects.get().state == "failed"
    assert Webhook.objects.get().off == "gone"
    event = Event.objects.latest("id")
    assert (event.kind, event.actor_kind, event.subject_id) == ("webhook.disabled", "system", webhook.id)
    note(fernhill)
    assert WebhookDelivery.objects.count() == 1
    subscriptions.switch(webhook.id, by=fernhill.sam.actor, on=True)
    note(fernhill)
    assert WebhookDelivery.objects.count() == 2  # what happened meanwhile is not sent


def test_after_three_days_without_one_delivery_it_is_switched_off(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    receiver.replies.extend([Reply(500), Reply(500)])
    note(fernhill, 1)
    attempt()
    Webhook.objects.update(failing_since=clock.now() - timedelta(days=3))
    note(fernhill, 1)
    attempt()
    assert Webhook.objects.get().off == "failing"
    assert (
        list(WebhookDelivery.objects.values_list("state", "error")) == [("failed", "The webhook was switched off.")] * 2
    )
    assert Event.objects.filter(kind="webhook.disabled").count() == 1


def test_a_day_of_attempts_with_longer_and_longer_pauses_and_then_no_more() -> None:
    total = timedelta(0)
    for attempts, planned in enumerate(outcomes.PAUSES, 1):
        waits = {outcomes.pause(attempts, wait=timedelta(0)) for _ in range(20)}
        assert len(waits) > 1
        assert all(planned * 0.9 <= wait <= planned * 1.1 for wait in waits if wait)
        total += planned
    assert timedelta(hours=23) < total < timedelta(hours=25)
    assert outcomes.pause(11, wait=timedelta(0)) is None
    assert outcomes.pause(1, wait=timedelta(days=400)) == timedelta(hours=8)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("120", 120), ("Wed, 03 Jun 2026 12:05:00 GMT", 300), ("Wed, 03 Jun 2026 11:00:00 GMT", 0), ("soon", 0), ("", 0),
     ("-5", 0), ("9" * 400, 86_400), ("Wed, 03 Jun 2026 12:05:00", 0),
     ("Fri, 31 Dec 9999 23:59:59 -2359", 86_400), (f"Wed, 03 Jun 2026 12:05:00 +{'9' * 14}", 0),
     (f"Wed, 03 Jun 2026 {'9' * 20}:05:00 GMT", 0)],
)  # fmt: skip
def test_retry_after(header: str, seconds: int) -> None:
    assert outcomes._asked_for(header, now=NOON) == timedelta(seconds=seconds)


def test_every_failure_of_the_client_has_a_sentence() -> None:
    for kind in (
        "blocked_address",
        "unreachable",
        "timed_out",
        "redirected",
        "too_big",
        "broken_answer",
        "bad_encoding",
    ):
        failure = Failure(kind=kind, status=None, detail="", sent=True, elapsed_s=1)
        assert outcomes.read(failure, now=NOON).error.endswith(".")


def test_killed_between_sending_and_recording_it_is_sent_again_under_the_same_id(
    fernhill: World, receiver: Receiver
) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    answer = receiver.hold()
    with agent_process.as_process() as first:
        events.record(Kind.AGENT_CHANGED, by=fernhill.sam.actor)
        until(lambda: receiver.got)
        first.send_signal(signal.SIGKILL)
        first.wait(10)
    answer.set()
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.is_under_way) == ("waiting", True)
    with agent_process.as_process():
        WebhookDelivery.objects.update(due_at=clock.now(), claimed_at=clock.now() - HELD)
        until(lambda: WebhookDelivery.objects.get().state == "delivered")
    assert [got.id for got in receiver.got] == [delivery.id, delivery.id]
    assert receiver.got[0].body == receiver.got[1].body


def test_two_processes_and_two_chainers_send_each_event_once(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    with agent_process.as_process(), agent_process.as_process():
        for n in range(60):
            events.record(Kind.AGENT_CHANGED, by=fernhill.sam.actor, data={"n": n})
        until(lambda: WebhookDelivery.objects.filter(state=DeliveryState.DELIVERED).count() == 60)
    assert sorted(json.loads(got.body)["data"]["data"]["n"] for got in receiver.got) == list(range(60))
    assert set(WebhookDelivery.objects.values_list("attempts", flat=True)) == {1}


def test_a_receiver_that_hangs_holds_up_its_own_deliveries_alone(fernhill: World, receiver: Receiver) -> None:
    with receiving() as dead:
        dead.hold(times=100)
        subscribe(fernhill, dead.url, "agent.changed")
        subscribe(fernhill, receiver.url, "agent.changed")
        note(fernhill, 12)
        with agent_process.in_thread(DemoModel()):
            until(lambda: len(receiver.got) == 12)
            assert len(dead.got) == deliveries.EACH
            assert WebhookDelivery.objects.exclude(webhook__url=receiver.url).filter(attempts=1).count() == 4
            for event in dead.held:
                event.set()
            until(lambda: len(dead.got) == 12)


def test_replay_sends_it_once_more_whatever_became_of_it(fernhill: World, receiver: Receiver) -> None:
    webhook, _ = subscribe(fernhill, receiver.url, "agent.changed")
    note(fernhill)
    attempt()
    delivery = deliveries.replay(WebhookDelivery.objects.get().id, by=fernhill.sam.actor)
    assert (delivery.state, delivery.attempts) == ("waiting", 0)
    [under_way] = claim()
    deliveries.replay(delivery.id, by=fernhill.sam.actor)  # changes nothing: it is on its way
    assert claim() == []
    async_to_sync(send)([under_way])
    assert [got.id for got in receiver.got] == [delivery.id] * 2
    subscriptions.switch(webhook.id, by=fernhill.sam.actor, on=False)
    with pytest.raises(deliveries.WebhookOff):
        deliveries.replay(delivery.id, by=fernhill.sam.actor)


def test_a_failure_that_comes_late_does_not_count_against_the_next_attempt(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    note(fernhill)
    [first] = claim()
    due_now()
    [second] = claim()
    deliveries.record(first, outcomes.Outcome(delivered=False, error="It could not be reached."))
    assert WebhookDelivery.objects.get().error == ""
    deliveries.record(second, outcomes.Outcome(delivered=True, status=200))
    deliveries.record(first, outcomes.Outcome(delivered=False, error="It could not be reached."))
    assert WebhookDelivery.objects.get().state == "delivered"


def test_old_deliveries_go_and_those_that_wait_stay(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url, "agent.changed")
    note(fernhill)
    attempt()
    note(fernhill)
    with clock.at(clock.now() + timedelta(days=30, seconds=1)):
        assert jobs.hourly() == {"secrets": 0, "deliveries": 1}
    assert WebhookDelivery.objects.get().state == "waiting"


def test_nothing_leaves_a_workspace_that_was_deleted(fernhill: World, receiver: Receiver) -> None:
    subscribe(fernhill, receiver.url)
    note(fernhill)
    closing.close(by=fernhill.sam.actor, name="Fernhill")
    link()
    due_now()
    attempt()
    assert receiver.got == []
    assert set(WebhookDelivery.objects.values_list("state", flat=True)) == {"failed"}
    assert Webhook.objects.get().sealed_secret == ""
