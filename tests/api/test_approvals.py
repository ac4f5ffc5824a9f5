"""/v1/tool-approvals and runs: what is shown, who may decide, and that nothing is decided twice."""

import base64
import json
from collections.abc import Callable
from copy import copy
from datetime import timedelta

import pytest
from django.test import Client

from approvals import decisions
from approvals.models import State, ToolApproval
from conversations import threads
from conversations.models import Status
from median_site.lib import clock, ids
from team import api_keys
from tests.api.conftest import Program
from tests.approvals.requests import INPUT, lines_of, request
from tests.world import World
from tools.models import ToolRun


def test_a_request_reads_as_its_card_does(world: World, program: Program) -> None:
    approval = request(world)
    shown = program.get(f"/tool-approvals/{approval.id}").json()
    assert shown["status"] == "pending"
    assert shown["input"] == {"orderNumber": "ORD-1042", "reason": "damaged"}
    assert (shown["tool"], shown["label"], shown["risk"]) == ("refundOrder", "Refund order", "high")
    assert (shown["decided_by"], shown["run"]) == (None, None)


def test_approving_through_the_api_is_by_the_api(world: World, program: Program) -> None:
    approval = request(world)
    answer = program.post(f"/tool-approvals/{approval.id}/approve", {})
    assert (answer.status_code, answer.json()["status"]) == (200, "executing")
    run = ToolRun.objects.get()
    assert (run.id, run.input, run.approver_name) == (approval.id, INPUT, "the API")
    assert lines_of(world)[1:] == ["the API approved running Refund order"]


def test_a_denial_may_carry_a_reason_for_the_team(world: World, program: Program) -> None:
    approval = request(world)
    answer = program.post(f"/tool-approvals/{approval.id}/deny", {"reason": "Paid back already."})
    assert (answer.status_code, answer.json()["status"], answer.json()["reason"]) == (
        200,
        "denied",
        "Paid back already.",
    )
    assert ToolRun.objects.count() == 0


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_a_second_decision_is_a_409_with_the_request_even_for_the_same_key(
    world: World, program: Program, verb: str
) -> None:
    approval = request(world)
    program.post(f"/tool-approvals/{approval.id}/approve")
    answer = program.post(f"/tool-approvals/{approval.id}/{verb}")
    assert answer.status_code == 409
    assert answer.json()["error"] == {
        "code": "already_reviewed",
        "message": "This request has already been reviewed.",
        "field": None,
    }
    assert answer.json()["approval"]["status"] == "executing"
    assert ToolRun.objects.count() == 1


def test_too_late_is_said_in_the_published_words(world: World, program: Program) -> None:
    approval = request(world)
    ToolApproval.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert program.get(f"/tool-approvals/{approval.id}").json()["status"] == "expired"
    answer = program.post(f"/tool-approvals/{approval.id}/approve")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "expired")
    assert answer.json()["error"]["message"] == "This request expired without a decision."


def test_an_ended_conversation_is_said_too(world: World, program: Program) -> None:
    approval = request(world)
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    answer = program.post(f"/tool-approvals/{approval.id}/approve")
    assert answer.json()["error"]["message"] == "This request expired because the conversation ended."


def test_extra_fields_never_change_what_is_sent(world: World, program: Program) -> None:
    approval = request(world)
    extra = {"input": {"orderNumber": "ORD-9999"}, "tool": "closeAccount"}
    assert program.post(f"/tool-approvals/{approval.id}/approve", extra).status_code == 200
    assert ToolRun.objects.get().input == INPUT
    other = request(world, tool="cancelSubscription", input_text="{}")
    refused = program.post(f"/tool-approvals/{other.id}/deny", {"input": {}})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "input")


def test_a_key_may_do_only_what_its_scopes_say(world: World, program_with: Callable[..., Program]) -> None:
    approval = request(world)
    reader = program_with("read")
    assert reader.get("/tool-approvals").status_code == 200
    for path in (f"/tool-approvals/{approval.id}/approve", f"/tool-approvals/{approval.id}/deny"):
        answer = reader.post(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")
    assert program_with("decide").get("/tool-approvals").status_code == 403
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_another_workspaces_key_finds_nothing(world: World, program_with: Callable[..., Program]) -> None:
    approval = request(world)
    foreign = program_with(*api_keys.SCOPES, elsewhere=True)
    absent = "call_" + "0" * 32
    for path in ("/tool-approvals/{}", "/tool-runs/{}"):
        assert foreign.get(path.format(approval.id)).content == foreign.get(path.format(absent)).content
    for verb in ("approve", "deny"):
        answer = foreign.post(f"/tool-approvals/{approval.id}/{verb}")
        assert answer.status_code == 404
        assert answer.content == foreign.post(f"/tool-approvals/{absent}/{verb}").content
    assert foreign.get("/tool-approvals").json() == {"data": [], "next_cursor": None}
    approval.refresh_from_db()
    assert approval.state == State.PENDING


def test_the_list_pages_by_key_and_filters(world: World, program: Program) -> None:
    for _ in range(5):
        world.conversation = threads.start(world.ana)
        request(world)
    decisions.deny(ToolApproval.objects.latest("requested_at").id, by=world.sam.actor)
    first = program.get("/tool-approvals?limit=3").json()
    second = program.get(f"/tool-approvals?limit=3&cursor={first['next_cursor']}").json()
    ids = [row["id"] for row in first["data"] + second["data"]]
    assert ids == list(ToolApproval.objects.order_by("-requested_at", "-id").values_list("id", flat=True))
    assert second["next_cursor"] is None
    assert len(program.get("/tool-approvals?status=pending").json()["data"]) == 4
    assert len(program.get("/tool-approvals?status=denied").json()["data"]) == 1
    assert len(program.get(f"/tool-approvals?conversation={world.conversation.id}").json()["data"]) == 1


def test_250_requests_come_once_each(world: World, program: Program, program_with: Callable[..., Program]) -> None:
    first = request(world)
    ToolApproval.objects.filter(id=first.id).update(state=State.DENIED)
    first.refresh_from_db()
    copies = [copy(first) for _ in range(249)]
    for number, row in enumerate(copies):
        row.id, row.requested_at = ids.call_id(), first.requested_at + timedelta(seconds=number // 2)
    ToolApproval.objects.bulk_create(copies)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = program.get(f"/tool-approvals?limit=50&cursor={cursor}").json()
        seen += [row["id"] for row in page["data"]]
        last, cursor = cursor, page["next_cursor"]
    assert len(seen) == len(set(seen)) == 250
    assert program_with("read", elsewhere=True).get(f"/tool-approvals?cursor={last}").json()["data"] == []
    ToolApproval.objects.all().delete()
    assert program.get(f"/tool-approvals?cursor={last}").json() == {"data": [], "next_cursor": None}


# A cursor as ours, after a row whose id is half a character.
HALF = base64.urlsafe_b64encode(json.dumps(["2026-01-01T00:00:00Z", "\ud800"]).encode()).decode().rstrip("=")


def test_a_bad_question_names_its_field(program: Program) -> None:
    for query in ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=1e9", "limit=10.5", "limit=%00",
                  "limit=1&limit=0", "cursor=x", "cursor=WyJ4Il0", "cursor=%00", "status=lost", "tool=%00",
                  "conversation=a%00b", f"cursor={HALF}"]:  # fmt: skip
        answer = program.get(f"/tool-approvals?{query}")
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, query.split("=")[0])


def test_no_body_decides_what_is_approved(world: World, program: Program) -> None:
    approval = request(world)
    client = Client(headers={"Authorization": f"Bearer {program.key}"})
    deny, approve = (f"/v1/tool-approvals/{approval.id}/{verb}" for verb in ("deny", "approve"))
    for body, kind, status in [(b"[]", "application/json", 422), (b"a=b", "text/plain", 400), (b'{"a', "", 400)]:
        assert client.post(deny, body, content_type=kind).status_code == status
    assert {client.generic(method, path).status_code for method in ("GET", "HEAD") for path in (deny, approve)} == {405}
    approval.refresh_from_db()
    assert approval.state == State.PENDING
    assert client.post(approve, b"null", content_type="text/plain").status_code == 200
    assert ToolRun.objects.get().input == INPUT
