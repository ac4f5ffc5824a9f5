"""What came back of a manifest tool's call over a real socket: on its card, in the API, and what the model is told."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from team import api_keys
from team.models import Teammate
from tests.socket_server import Connection, Request, Responder, SocketServer, answer, says
from tests.tools.http_tools_at_hand import queued, send
from tests.world import World
from tools import runs
from tools.models import Endpoint, Starter

Browser = Callable[[Teammate], Client]

NO_RESULT = "The tool returned no result. Check whether the action completed before retrying."
TWO_HEADS = (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}")
NOTE = "The tool said no. Tell the customer what it means, and do not call it again for the same thing."

pytestmark = pytest.mark.django_db(transaction=True)


def hang_up(connection: Connection, request: Request) -> None:
    connection.close()


def refused(*card: str, told: dict[str, str]) -> tuple[object, ...]:
    return card, None, told, {"refused": True, **told, "note": NOTE}


@pytest.mark.parametrize(
    ("responder", "card", "error", "refusal", "told"),
    [
        (says(answer(b'{"ok":false,"reason":"over_limit","detail":"Up to $50."}')),
         *refused("The tool refused: over_limit", "Up to $50.", told={"reason": "over_limit", "detail": "Up to $50."})),
        (says(answer(b'\xef\xbb\xbf{"known":false}')),
         *refused("The tool refused: tool_refused", told={"reason": "tool_refused", "detail": ""})),
        (says(answer(b'{"error":{"code":"declined","message":"No funds."}}', status="500 Oops")),
         ["The endpoint answered 500. declined: No funds."],
         {"code": "bad_status", "message": "The endpoint answered 500. declined: No funds.", "detail": None}, None,
         {"error": "The endpoint answered 500. declined: No funds."}),
        (says(answer(b"", "Location: http://127.0.0.1:9/", status="307 Elsewhere")),
         ["The endpoint redirected, which tool calls never follow.", "It answered 307."],
         {"code": "redirected", "message": "The endpoint redirected, which tool calls never follow.",
          "detail": "It answered 307."}, None, {"error": "The endpoint redirected, which tool calls never follow."}),
        (says(answer(b"x" * 100_001)),
         ["The endpoint answered with too much to read."],
         {"code": "too_big", "message": "The endpoint answered with too much to read.",
          "detail": "More came than is read."}, None, {"error": "The endpoint answered with too much to read."}),
        (says(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"refunded":true', close=True),
         [NO_RESULT, "The answer broke off: "], "broken_answer", None, {"error": NO_RESULT}),
        (says(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"refunded":true', close=True),
         [NO_RESULT, "The answer broke off: "], "broken_answer", None, {"error": NO_RESULT}),
        (says(*TWO_HEADS), [NO_RESULT, "The answer broke off: "], "broken_answer", None, {"error": NO_RESULT}),
        (hang_up, [NO_RESULT, "The answer broke off: "], "broken_answer", None, {"error": NO_RESULT}),
    ],
)  # fmt: skip
def test_an_outcome_is_the_same_on_the_card_in_the_api_and_to_the_model(
    world: World,
    browser_of: Browser,
    responder: Responder,
    card: list[str],
    error: object,
    refusal: object,
    told: object,
) -> None:
    with SocketServer(responder) as server:
        Endpoint.objects.filter(id=world.endpoint.id).update(url=server.url)
        run = send(queued(world, "subscription", started_by=Starter.TEAMMATE, by=world.sam.actor, turn_id=""))
    assert server.connections == len(server.requests) == 1
    if run.state == "completed":
        runs.write_up(run.id)

    thread = browser_of(world.kim).get(f"/inbox/{world.conversation.id}/").text
    for shown in card:
        assert shown in thread
    assert "Traceback" not in thread

    _, key = api_keys.create(world.fernhill, name="Backoffice", scopes=["read"])
    read = Client(headers={"Authorization": f"Bearer {key}"}).get(f"/v1/tool-runs/{run.id}").json()
    if isinstance(error, str):
        assert (read["error"]["code"], read["error"]["message"]) == (error, NO_RESULT)
        assert read["error"]["detail"].startswith("The answer broke off: ")
    else:
        assert read["error"] == error
    assert read["refusal"] == refusal
    assert json.loads(run.for_model) == told
