"""Calls of HTTP tools over real sockets: what arrives, byte for byte, and every way in which they end."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta

import jwt
import pytest

from conversations.models import ItemKind
from median_site.lib import clock
from team.models import Event, SigningKey
from tests.socket_server import Connection, Request, Responder, SocketServer
from tests.tools.http_tools_at_hand import answering, base, draft, parameter, publish, queued, send
from tests.world import World
from tools import http_tools, outcomes, runs, tool_versions
from tools.client import Failure
from tools.models import RunState, Tool, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

SUBJECT = {"name": "user", "place": "query"}


@pytest.fixture
def server() -> Iterator[SocketServer]:
    with SocketServer(answering(b'{"left": 7}')) as listening:
        yield listening


def assertion(world: World, request: Request) -> dict[str, object]:
    token = request.headers["authorization"].removeprefix("Bearer ")
    key = SigningKey.objects.get(workspace=world.fernhill).public_jwk
    return jwt.decode(token, jwt.PyJWK(key), algorithms=["ES256"], audience="stockLevel", issuer=world.fernhill.issuer)


def test_a_get_carries_the_assertion_and_the_call_id_and_no_body(world: World, server: SocketServer) -> None:
    url = base(server) + "/stock/{sku}/level?v=2"
    draft(
        world, url, parameters=[parameter("sku", "path"), parameter("store", "query", required=False)], subject=SUBJECT
    )
    publish(world)
    with clock.at(clock.now() - timedelta(minutes=5)):  # the half minute of the assertion begins when the call leaves
        waited = queued(world, "stockLevel", '{"sku":"LID 4ü","store":"a&b"}')
    run = send(waited)
    (request,) = server.requests
    assert (request.method, request.target, request.body) == (
        "GET", "/stock/LID%204%C3%BC/level?v=2&store=a%26b&user=user_123", b"",
    )  # fmt: skip
    assert request.headers["x-median-call-id"] == run.id
    assert not {
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
        "content-type",
        "content-length",
        "cookie",
    } & set(request.headers)
    claims = assertion(world, request)
    assert {key: claims[key] for key in ("sub", "anon", "turn", "jti")} == {
        "sub": "user_123", "anon": False, "turn": "turn1", "jti": run.id,
    }  # fmt: skip
    assert (run.state, run.http_status, run.for_model, run.raw) == ("completed", 200, '{"left":7}', '{"left": 7}')


def test_a_body_is_the_input_digit_by_digit_with_the_subject(world: World, server: SocketServer) -> None:
    fields = [parameter("price", "body", {"type": "number"}), parameter("note", "body", required=False)]
    draft(world, base(server) + "/stock", method="PUT", parameters=fields, subject={"name": "by", "place": "body"})
    publish(world)
    send(queued(world, "stockLevel", '{"price":20.00,"note":"é"}'))
    (request,) = server.requests
    assert (request.method, request.target) == ("PUT", "/stock")
    assert request.body == '{"price":20.00,"note":"é","by":"user_123"}'.encode()
    assert request.headers["content-type"] == "application/json"
    assert request.headers["content-length"] == str(len(request.body))


def test_a_post_without_parameters_has_an_empty_body(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/recount", method="POST")
    publish(world)
    send(queued(world, "stockLevel"))
    (request,) = server.requests
    assert (request.method, request.body, request.headers["content-length"]) == ("POST", b"", "0")
    assert "content-type" not in request.headers


def test_an_approved_call_proves_who_approved_what(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/stock", risk="high")
    publish(world)
    approval = {"kind": "teammate", "name": "Kim Ito", "at": int(clock.now().timestamp())}
    send(queued(world, "stockLevel", approval=approval))
    claims = assertion(world, server.requests[0])
    assert claims["approval"] == {
        "by": {"kind": "teammate", "name": "Kim Ito"}, "at": approval["at"],
        "input_sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    }  # fmt: skip


def test_a_subject_that_could_leave_its_segment_is_never_sent(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/u/{user}/stock", subject={"name": "user", "place": "path"})
    publish(world)
    world.ana.subject = "../admin"
    world.ana.save(update_fields=["subject"])
    run = queued(world, "stockLevel")
    with pytest.raises(AssertionError):
        send(run)
    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.FAILED, "The tool request failed. Check the result before retrying.")
    assert server.connections == 0


def failing(kind: str) -> Responder:
    def respond(connection: Connection, request: Request) -> None:
        if kind == "cut":
            connection.send(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"le')
        connection.close()

    return respond


NO_RESULT = "The tool returned no result. Check whether the action completed before retrying."
LONG = b'"' + b"x" * 16_383 + b'"'


@pytest.mark.parametrize(
    ("responder", "card", "told"),
    [
        (answering(b'{"error": {"code": "no_sku", "message": "Secret stack trace"}}', status="404 Not Found"),
         "The endpoint answered 404. no_sku: Secret stack trace",
         {"status": "error", "kind": "refused", "httpCode": 404}),
        (answering(LONG * 2, status="500 Oops"), "The endpoint answered 500.",
         {"status": "error", "kind": "refused", "httpCode": 500}),
        (answering(b"", status="503 Busy"), "The endpoint answered 503.",
         {"status": "error", "kind": "returned-nothing", "httpCode": 503}),
        (answering(b"", status="302 Found", more=b"Location: /elsewhere\r\n"),
         "The endpoint redirected, which tool calls never follow.",
         {"status": "error", "kind": "refused", "httpCode": 302}),
        (answering(LONG, status="201 Created"), "The endpoint answered with too much to read.",
         {"status": "error", "kind": "response-too-big", "httpCode": 201}),
        (failing("cut"), NO_RESULT, {"status": "error", "kind": "transport-error"}),
        (failing("close"), NO_RESULT, {"status": "error", "kind": "transport-error"}),
    ],
)  # fmt: skip
def test_a_failure_is_a_sentence_on_the_card_and_a_small_object_for_the_model(
    world: World, responder: Responder, card: str, told: dict[str, object]
) -> None:
    with SocketServer(responder) as server:
        draft(world, base(server) + "/stock")
        publish(world)
        run = send(queued(world, "stockLevel"))
    assert (run.state, run.error, json.loads(run.for_model)) == ("failed", card, told)
    assert server.connections == len(server.requests) == 1


def test_what_no_server_answers(world: World) -> None:
    with SocketServer(answering(b"")) as gone:
        url = base(gone) + "/stock"
    draft(world, url)
    publish(world)
    run = send(queued(world, "stockLevel"))
    assert run.error == "The endpoint did not answer in time."
    assert json.loads(run.for_model) == {"status": "error", "kind": "transport-error"}
    late = Failure(kind="timed_out", status=None, detail="", sent=True, elapsed_s=10)
    assert outcomes.from_answer(late, kind="http").for_model == {"status": "error", "kind": "timed-out"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", ""),
        (b"seven", "seven"),
        (LONG[1:], LONG[1:].decode()),
        (b'{"ok": false, "reason": "closed"}', {"ok": False, "reason": "closed"}),
        (('"' + "é" * 16_382 + '"').encode(), "é" * 16_382),
    ],
)
def test_a_successful_answer_reaches_the_model_as_it_is(world: World, body: bytes, told: object) -> None:
    with SocketServer(answering(body)) as server:
        draft(world, base(server) + "/stock")
        publish(world)
        run = send(queued(world, "stockLevel"))
    assert (run.state, json.loads(run.for_model)) == ("completed", told)


def test_one_that_never_reports_back(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/stock")
    publish(world)
    run = queued(world, "stockLevel")
    assert runs.begin(run.id)
    ToolRun.objects.update(started_at=clock.now() - runs.STUCK)
    assert runs.fail_stuck() == 1
    run.refresh_from_db()
    assert (run.error, json.loads(run.for_model)) == (NO_RESULT, {"status": "error", "kind": "transport-error"})
    assert server.requests == []


@pytest.mark.parametrize("what", ["switched off", "removed from its version", "moved to an endpoint"])
def test_what_is_no_longer_there_is_not_called(world: World, server: SocketServer, what: str) -> None:
    made = draft(world, base(server) + "/stock")
    draft(world, base(server) + "/other", name="other")
    publish(world)
    run = queued(world, "stockLevel")
    if what == "switched off":
        Tool.objects.filter(name="stockLevel").update(switched_on=False)
    elif what == "moved to an endpoint":
        Tool.objects.filter(name="stockLevel").update(endpoint=world.endpoint)
    else:
        http_tools.remove(made.id, by=world.sam.actor)
        publish(world)
    with pytest.raises(AssertionError):
        send(run)
    run.refresh_from_db()
    assert (run.state, run.error) == (RunState.FAILED, "The tool is no longer available.")
    assert json.loads(run.for_model) == {"status": "error", "kind": "unknown-tool"}
    assert server.requests == []


def test_an_open_conversation_calls_by_the_version_that_it_has(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/v1/stock", parameters=[parameter("sku", "query")])
    publish(world)
    run = queued(world, "stockLevel", '{"sku":"LID"}')
    draft(world, base(server) + "/v2/stock", parameters=[parameter("code", "query", {"type": "integer"})])
    tool_versions.publish(by=world.sam.actor)
    assert send(run).state == RunState.COMPLETED
    assert [request.target for request in server.requests] == ["/v1/stock?sku=LID"]
    item = world.conversation.items.get(kind=ItemKind.RUN)
    assert item.ref == run.id


def test_nothing_of_the_subject_is_kept_with_the_run_or_in_the_log(world: World, server: SocketServer) -> None:
    draft(world, base(server) + "/stock", subject=SUBJECT)
    publish(world)
    run = send(queued(world, "stockLevel"))
    kept = json.dumps([list(Event.objects.values_list("data", flat=True)), run.input, run.for_model, run.raw])
    assert re.search("user_123", kept) is None
