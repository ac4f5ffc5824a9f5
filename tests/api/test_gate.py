"""What every request passes: the key, the limits, idempotency, and one shape of errors."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.http import HttpResponse
from django.test import Client

from conversations.models import Conversation, Item, ItemKind
from team import api_limits
from team.models import ApiAnswer, ApiKey
from tests.api.conftest import Program
from tests.world import World
from tools.models import ToolRun

MESSAGE = {"customer": {"subject": "user_9"}, "text": "Hello", "client_id": "message-1"}


def test_without_a_known_key_nothing_is_said(world: World, program: Program) -> None:
    for headers in ({}, {"Authorization": "Bearer mdn_unknown"}, {"Authorization": "Basic eDp5"}):
        answer = Client(headers=headers).get("/v1/tools")
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_is_unknown(world: World, program: Program) -> None:
    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert program.get("/tools").status_code == 401


def test_an_unknown_path_and_a_wrong_method_have_the_shape_of_errors(program: Program) -> None:
    assert program.get("/nothing-here").json()["error"]["code"] == "not_found"
    answer = program.delete("/tools")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


def test_the_same_key_and_body_answer_the_same_and_do_nothing_twice(world: World, program: Program) -> None:
    first = program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    again = program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Item.objects.filter(kind=ItemKind.CUSTOMER).count() == 1


def test_a_run_that_is_asked_for_again_runs_once(world: World, program: Program) -> None:
    path, body = f"/conversations/{world.conversation.id}/tools/run", {"tool": "subscription"}
    first, again = (program.post(path, body, **{"Idempotency-Key": "a"}) for _ in range(2))
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert program.post(path, body).json()["id"] != first.json()["id"]  # without a key it is another one
    assert ToolRun.objects.count() == 2


def test_another_body_under_the_same_key_is_refused(world: World, program: Program) -> None:
    program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    answer = program.post("/conversations", MESSAGE | {"text": "Other"}, **{"Idempotency-Key": "a"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "idempotency_key_reused")


def test_a_first_request_that_was_cut_off_is_not_done_again(world: World, program: Program) -> None:
    program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    ApiAnswer.objects.update(status=None)
    answer = program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "in_progress")


def test_a_day_later_the_key_is_new(world: World, program: Program) -> None:
    program.post("/conversations", MESSAGE, **{"Idempotency-Key": "a"})
    kept = ApiAnswer.objects.get()
    ApiAnswer.objects.update(created_at=kept.created_at - timedelta(hours=25))
    other = MESSAGE | {"client_id": "message-2"}
    assert program.post("/conversations", other, **{"Idempotency-Key": "a"}).status_code == 201
    assert Item.objects.filter(kind=ItemKind.CUSTOMER).count() == 2


def test_keys_of_two_programs_do_not_meet(world: World, program_with: Callable[..., Program]) -> None:
    for number in range(2):
        body = MESSAGE | {"client_id": f"message-{number}"}
        assert program_with("run").post("/conversations", body, **{"Idempotency-Key": "a"}).status_code == 201


@pytest.mark.parametrize(("writes", "limit"), [(False, 600), (True, 120)])
def test_over_the_limit_is_a_429_that_says_when(
    world: World, program: Program, monkeypatch: pytest.MonkeyPatch, writes: bool, limit: int
) -> None:
    assert (api_limits.WRITES if writes else api_limits.READS) == limit
    monkeypatch.setattr(api_limits, "READS", 2)
    monkeypatch.setattr(api_limits, "WRITES", 2)

    def ask() -> HttpResponse:
        return program.post("/conversations/none/notes", {"text": "x"}) if writes else program.get("/tools")

    assert [ask().headers["RateLimit-Remaining"] for _ in range(2)] == ["1", "0"]
    answer = ask()
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert answer.json()["error"]["message"] == "Too many requests. Wait a moment and try again."
    assert 1 <= int(answer.headers["Retry-After"]) <= 61


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"null", b'"text"', b'{"text": NaN}', b"[" * 100_000, b'{"text": "\\ud800"}', b"\xff\xfe", b""],
)
def test_a_broken_body_is_a_4xx_and_writes_nothing(world: World, program: Program, body: bytes) -> None:
    client = Client(headers={"Authorization": f"Bearer {program.key}"})
    answer = client.post("/v1/conversations", body, content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert set(answer.json()["error"]) == {"code", "message", "field"}
    assert Conversation.objects.count() == 1


def test_what_is_no_json_is_named(program: Program) -> None:
    client = Client(headers={"Authorization": f"Bearer {program.key}"})
    for body, field, said in [
        (b'{"customer": {"subject": NaN}}', "customer.subject", "NaN"),
        (b'{"text": "a", "text": "b"}', "text", 'The key "text" stands twice.'),
    ]:
        answer = client.post("/v1/conversations", body, content_type="application/json")
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (400, "not_json", field)
        assert said in error["message"]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/tools/subscription/test", {"input": {"a": "\ud800"}}, "input"),
        ("/tools/subscription/test", {"as_customer": "\ud800"}, "as_customer"),
        ("/tools/subscription/test", {"as_customer": "x" * 256}, "as_customer"),
        ("/session-tokens", {"subject": "a", "claims": {"\ud800": 1}}, "claims"),
        ("/session-tokens", {"subject": "a", "name": "\0"}, "name"),
        ("/conversations", MESSAGE | {"query": "x"}, "query"),
        ("/conversations", MESSAGE | {"payload": "x"}, "payload"),
        ("/conversations", [], None),
        ("/webhooks/none", {"enabled": "no"}, "enabled"),
    ],
)
def test_what_is_wrong_with_a_body_has_its_name(program: Program, path: str, body: object, field: str | None) -> None:
    answer = program.patch(path, body) if path == "/webhooks/none" else program.post(path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (422, field)
    assert error["message"].startswith(f"{field or 'The body'}: ")
    assert "items" not in error["message"]  # characters


def test_a_nul_is_nobodys_name_and_visible_in_prose(world: World, program: Program) -> None:
    nul, thread = "a\0bcdefgh", f"/conversations/{world.conversation.id}"
    bodies: list[tuple[str, dict[str, object]]] = [
        ("/conversations", MESSAGE | {"customer": {"subject": nul}}),
        ("/conversations", MESSAGE | {"client_id": nul}),
        (f"{thread}/tools/run", {"tool": nul}),
        (f"{thread}/tools/run", {"tool": "subscription", "input": {"a": nul}}),
        (f"{thread}/notes", {"text": "a", "attachments": [nul]}),
        (f"{thread}/status", {"status": nul}),
        ("/tools/subscription/test", {"conversation_id": nul}),
        ("/tools/subscription/test", {"as_customer": nul}),
        ("/tool-endpoints", {"url": nul}),
        ("/tool-endpoints", {"url": "http://127.0.0.1:9/x", "secret": nul}),
        ("/tool-endpoints", {"url": f"http://127.0.0.1:9/{nul}"}),
        ("/tool-endpoints", {"kind": "mcp", "url": "http://127.0.0.1:9/x", "secret": nul}),
        ("/webhooks", {"url": f"http://127.0.0.1:9/{nul}"}),
        ("/webhooks", {"url": "http://127.0.0.1:9/", "kinds": [nul]}),
        ("/http-tools", {"name": nul}),
        ("/session-tokens", {"subject": nul}),
        ("/session-tokens", {"subject": "a", "claims": {"a": nul}}),
    ]
    for path, body in bodies:
        assert (path, body, program.post(path, body).status_code) == (path, body, 422)
    shown = program.post("/conversations", MESSAGE | {"customer": {"subject": "u", "name": nul, "email": nul}}).json()
    assert shown["customer"]["name"] == "a␀bcdefgh"
    assert program.post(f"{thread}/notes", {"text": nul}).json()["text"] == "a␀bcdefgh"


@pytest.mark.parametrize(
    ("path", "field", "takes"),
    [
        ("/tool-approvals?state=pending", "state", "It takes status, conversation, tool, cursor, limit"),
        ("/tool-approvals?limit=1&Status=pending", "Status", "It takes status, conversation, tool, cursor, limit"),
        ("/tool-approvals?%C2%A0%3B=1", "\N{NO-BREAK SPACE};", "It takes status, conversation, tool, cursor, limit"),
        ("/tool-approvals?=1", "?", "It takes status, conversation, tool, cursor, limit"),
        ("/tool-approvals/none?limit=1", "limit", "It takes wait"),
    ],
)
def test_a_parameter_that_is_none_is_named_and_filters_nothing_silently(
    program: Program, path: str, field: str, takes: str
) -> None:
    answer = program.get(path)
    assert (answer.status_code, answer.json()["error"]) == (
        422, {"code": "invalid", "field": field, "message": f"{field}: There is no such parameter here. {takes}."},
    )  # fmt: skip


def test_a_parameter_given_twice_is_refused(program: Program) -> None:
    answer = program.get("/tool-approvals?tool=orderStatus&limit=1&tool=refundOrder")
    why = "tool: Given more than once. It takes one value."
    assert (answer.status_code, answer.json()["error"]) == (422, {"code": "invalid", "field": "tool", "message": why})


def test_a_body_of_ten_megabytes_is_refused(world: World, program: Program) -> None:
    answer = program.post("/conversations", MESSAGE | {"text": "x" * 10_000_000})
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
