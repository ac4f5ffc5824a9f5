"""Retention: what is older than its workspace keeps goes, whole and alone."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from approvals.models import ToolApproval
from conversations import drafts, retention, threads
from conversations.models import Conversation, Customer, Draft, Item, Status
from median_site.lib import clock
from team import chain
from team.models import Event, Notification, Teammate, Workspace
from tests.approvals.requests import request
from tests.world import World
from tools.models import ToolRun

SignIn = Callable[[Teammate], Client]


def test_an_owner_chooses_how_long(world: World, browser_of: SignIn) -> None:
    sam, kim = browser_of(world.sam), browser_of(world.kim)
    assert sam.post("/settings/retention", {"days": "90"})["Location"] == "/settings/"
    assert '<option value="90" selected>90 days</option>' in sam.get("/settings/").text
    assert kim.post("/settings/retention", {"days": "30"}).status_code == 403
    assert sam.post("/settings/retention", {"days": "1"}).status_code == 400
    assert Workspace.objects.get(id=world.fernhill.id).retention_days == 90
    sam.post("/settings/retention", {"days": ""})
    assert Workspace.objects.get(id=world.fernhill.id).retention_days is None


@pytest.mark.parametrize("status", [Status.RESOLVED, Status.CLOSED, Status.ARCHIVED])
def test_an_ended_thread_goes_with_all_that_hangs_from_it(world: World, status: Status) -> None:
    threads.customer_wrote(world.conversation.id, body="Hello", client_id="message-1")
    request(world)
    threads.note(world.conversation.id, by=world.sam.actor, body="@Kim Ito, look")
    drafts.save(world.conversation.id, by=world.kim.actor, mode="reply", body="Dear Ana", base=0)
    threads.end(world.conversation.id, by=world.sam.actor, to=status)
    Workspace.objects.filter(id=world.fernhill.id).update(retention_days=30)
    ended_at = Conversation.objects.get(id=world.conversation.id).last_at
    while chain.link_all():
        pass

    with clock.at(ended_at + timedelta(days=30)):
        assert retention.erase_old() == 0
    with clock.at(ended_at + timedelta(days=31)):
        assert [retention.erase_old() for _ in range(2)] == [1, 0]

    for model in (Conversation, Item, Draft, Notification, ToolApproval, ToolRun):
        assert not model.objects.filter(workspace=world.fernhill).exists()
    assert not Customer.objects.filter(id=world.ana.id).exists()
    assert not Event.objects.filter(workspace=world.fernhill).exists()
    assert Workspace.objects.filter(id=world.fernhill.id).exists()


def test_what_is_open_or_kept_for_ever_stays(world: World) -> None:
    threads.customer_wrote(world.conversation.id, body="Hello", client_id="message-1")
    with clock.at(clock.now() + timedelta(days=4_000)):
        threads_before = list(Conversation.objects.values_list("id", flat=True))
        assert retention.erase_old() == 0
        Workspace.objects.filter(id=world.fernhill.id).update(retention_days=30)
        assert retention.erase_old() == 0
    assert list(Conversation.objects.values_list("id", flat=True)) == threads_before
    assert Customer.objects.filter(id=world.ana.id).exists()


def test_a_customer_with_another_thread_stays(world: World) -> None:
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.CLOSED)
    Workspace.objects.filter(id=world.fernhill.id).update(retention_days=30)
    with clock.at(clock.now() + timedelta(days=31)):
        newer = threads.start(world.ana)
        assert retention.erase_old() == 1
    assert list(Conversation.objects.filter(customer=world.ana).values_list("id", flat=True)) == [newer.id]
