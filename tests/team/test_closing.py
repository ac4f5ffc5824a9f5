"""Deleting a workspace: every door closes at once, nothing of it leaves any more, and its rows go a day later."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from approvals import decisions
from approvals.models import ToolApproval
from conversations import attachments, threads
from conversations.channels import widget_session
from median_site.lib import clock
from median_site.lib.db import in_thread
from team import api_keys, closing, invitations
from team.events import Kind
from team.jobs import hourly
from team.models import Event, Teammate, Workspace
from tests.approvals.requests import request
from tests.world import World
from tools import calls, offered
from tools.models import RunState, ToolRun

SignIn = Callable[[Teammate], Client]


def rows_of(workspace_id: str) -> dict[str, int]:
    """How many rows each table holds of a workspace."""
    counted = {}
    for model in apps.get_models():
        rows: Any = model._default_manager
        if any(field.name == "workspace" for field in model._meta.fields):
            counted[model._meta.label] = rows.filter(workspace_id=workspace_id).count()
    return counted


def test_every_door_closes_at_once(world: World, browser_of: SignIn) -> None:
    sam, kim = browser_of(world.sam), browser_of(world.kim)
    _, key = api_keys.create(world.fernhill, name="Deploy", scopes=["read"])
    _, link = invitations.make(by=world.sam.actor, email="new@fernhill.example", role="member")
    token = widget_session.anonymous_token(world.fernhill, address="127.0.0.1")

    answer = sam.post("/settings/delete", {"name": "Fernhill"})

    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert sam.get("/settings/")["Location"] == "/accounts/login/?next=/settings/"
    assert kim.get("/inbox/").status_code == 403
    assert Client(headers={"Authorization": f"Bearer {key}"}).get("/v1/tools").status_code == 401
    assert Client().get(f"/join/{link}/").status_code == 404
    assert Client().get("/widget/fernhill/").status_code == 404
    assert Client().get("/w/fernhill/.well-known/jwks.json").status_code == 404
    with pytest.raises(widget_session.SessionInvalid):
        widget_session.open_session(token)
    assert offered.to_team(world.conversation) == []
    assert Event.objects.filter(kind=Kind.WORKSPACE_CLOSED).count() == 1


@pytest.mark.django_db(transaction=True)
async def test_a_call_that_was_approved_just_before_does_not_leave(world: World) -> None:
    def approve_and_close() -> str:
        approval_id = decisions.approve(request(world).id, by=world.sam.actor).id
        closing.close(by=world.sam.actor, name="Fernhill")
        return approval_id

    approval_id = await in_thread(approve_and_close)
    await calls.send(approval_id)

    run = await in_thread(lambda: ToolRun.objects.get(id=approval_id))
    assert (run.state, run.error) == (RunState.FAILED, "The tool is no longer available.")


@pytest.mark.parametrize("typed", ["", "fernhill", "Elsewhere"])
def test_it_takes_the_name(world: World, browser_of: SignIn, typed: str) -> None:
    answer = browser_of(world.sam).post("/settings/delete", {"name": typed}, headers={"Accept": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "name"
    assert Workspace.objects.get(id=world.fernhill.id).closed_at is None


def test_it_takes_an_owner(world: World, browser_of: SignIn) -> None:
    Teammate.objects.filter(id=world.kim.id).update(role="admin")
    kim = browser_of(world.kim)
    assert "Delete workspace" in browser_of(world.sam).get("/settings/").text
    assert "Delete workspace" not in kim.get("/settings/").text
    assert kim.post("/settings/delete", {"name": "Fernhill"}).status_code == 403
    assert Workspace.objects.get(id=world.fernhill.id).closed_at is None


def test_its_rows_go_a_day_later_and_nobody_elses(world: World) -> None:
    sent = attachments.store(None, name="lid.txt", data=b"x", by=world.ana.actor)
    threads.customer_wrote(world.conversation.id, body="Hello", client_id="message-1", files=[sent.id])
    request(world)
    theirs = rows_of(world.elsewhere.id)
    at = clock.now()
    closing.close(by=world.sam.actor, name="Fernhill")
    held = rows_of(world.fernhill.id)

    with clock.at(at + timedelta(hours=23)):
        assert hourly()["workspaces"] == 0
    assert rows_of(world.fernhill.id) == held
    with clock.at(at + timedelta(hours=25)):
        assert [hourly()["workspaces"] for _ in range(2)] == [1, 0]

    assert set(rows_of(world.fernhill.id).values()) == {0}
    assert not Workspace.objects.filter(id=world.fernhill.id).exists()
    assert rows_of(world.elsewhere.id) == theirs
    assert ToolApproval.objects.count() == 0
