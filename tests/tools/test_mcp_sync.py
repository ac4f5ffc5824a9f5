"""Syncs and calls of an MCP server that says what it likes: each ends in time, and is told as what it was."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from team import api_keys
from team.models import Event
from tests.api.conftest import Program
from tests.mcp_server import STREAM, McpServer, Message, event, mcp_server, response, says_json, streams, tool
from tests.socket_server import Connection, Request, Responder, answer, says
from tests.world import World
from tools import client
from tools.models import EndpointSync, Tool

pytestmark = pytest.mark.django_db(transaction=True)

OPENING = ["initialize", "notifications/initialized"]


@pytest.fixture
def served() -> Iterator[McpServer]:
    with mcp_server(tool()) as server:
        yield server


@pytest.fixture
def program(world: World) -> Program:
    return Program(api_keys.create(world.fernhill, name="Backoffice", scopes=api_keys.SCOPES)[1])


def added(program: Program, served: McpServer) -> Any:
    return program.post("/tool-endpoints", {"kind": "mcp", "url": served.url}).json()


def names(shown: Any) -> list[str]:
    return sorted(Tool.objects.filter(endpoint_id=shown["id"], present=True).values_list("name", flat=True))


def test_pages_are_read_to_the_last(program: Program, served: McpServer) -> None:
    pages: dict[str, Message] = {
        "": {"tools": [tool("one")], "nextCursor": "zwei / 2"},
        "zwei / 2": {"tools": [], "nextCursor": "three"},
        "three": {"tools": [tool("two")]},
    }

    def page(request: Request) -> bytes:
        asked = json.loads(request.body)
        assert asked.get("params") != {"cursor": ""}
        return response(request, result=pages[asked.get("params", {}).get("cursor", "")])

    served.says["tools/list"] = says_json(page)
    assert names(added(program, served)) == ["one", "two"]
    assert served.asked == [*OPENING, *["tools/list"] * 3]


@pytest.mark.parametrize(
    ("page", "requests", "failure"),
    [
        ({"tools": [], "nextCursor": "\ud800"}, 1, "/nextCursor: It holds what cannot be sent back."),
        ({"tools": [], "nextCursor": "again"}, 100, "/nextCursor: The list of tools has not ended after 100 pages."),
        ({"tools": [tool(f"t{n}") for n in range(60)], "nextCursor": "more"}, 2, "too_many_tools"),
        ({"tools": [tool(description="x" * 400_000)], "nextCursor": "more"}, 3, "too_large"),
    ],
)
def test_a_list_without_end_is_given_up(
    program: Program, served: McpServer, page: Message, requests: int, failure: str
) -> None:
    served.says["tools/list"] = says_json(lambda request: response(request, result=page))
    shown = added(program, served)
    assert failure in {shown["failure"]["code"], shown["failure"]["detail"]}
    assert served.asked.count("tools/list") == requests
    assert names(shown) == []


NO_ANSWERS: list[tuple[Responder, str]] = [
    (says(answer(b"", "Location: http://127.0.0.1:9/", status="307 Temporary Redirect")), "redirected"),
    (says(answer(b"no", status="401 Unauthorized")), "unauthorized"),
    (says(answer(b"no", status="404 Not Found")), "bad_status"),
    (says_json(b"<html>"), "invalid_manifest"),
    (says_json(b"[]"), "invalid_manifest"),
    (says_json(b'{"jsonrpc": "2.0", "id": "another", "result": {"tools": []}}'), "invalid_manifest"),
    (says_json(lambda asked: response(asked, result=[])), "invalid_manifest"),
    (says_json(lambda asked: response(asked, error={"code": -32603, "message": "Closed"})), "invalid_manifest"),
    (says_json(lambda asked: response(asked, error={"message": "\0\ud800"})), "invalid_manifest"),
    (says_json(lambda asked: response(asked, result={"tools": {}, "n": 1})[:-1]), "invalid_manifest"),
    (says(STREAM, close=True), "invalid_manifest"),
    (says(STREAM, event(b"{"), close=True), "invalid_manifest"),
    (says_json(b"x" * 1_100_000), "too_large"),
]


@pytest.mark.parametrize("method", ["initialize", "tools/list"])
def test_what_is_no_answer_is_told_and_costs_no_tool(program: Program, served: McpServer, method: str) -> None:
    shown = added(program, served)
    for reply, code in NO_ANSWERS:
        EndpointSync.objects.all().delete()
        served.asked.clear()
        served.says[method] = reply
        again = program.post(f"/tool-endpoints/{shown['id']}/sync").json()
        assert again["failure"]["code"] == code
        assert code != "invalid_manifest" or again["failure"]["detail"]
        assert names(shown) == ["findStock"]
        assert served.asked == (["initialize"] if method == "initialize" else [*OPENING, "tools/list"])
    assert Event.objects.filter(kind="endpoint.sync_failed").count() == len(NO_ANSWERS)


def test_the_version_that_the_server_chose_is_spoken(program: Program, served: McpServer) -> None:
    served.version = "2025-03-26"
    shown = added(program, served)
    assert shown["failure"] is None
    assert [request.headers["mcp-protocol-version"] for request in served.requests] == [
        "2025-11-25", "2025-03-26", "2025-03-26",
    ]  # fmt: skip
    served.version = "2031-01-01"
    again = program.post(f"/tool-endpoints/{shown['id']}/sync").json()
    assert again["failure"]["detail"] == "The server speaks no version of the protocol that is known here."
    assert served.asked == [*OPENING, "tools/list", "initialize"]


def test_a_session_is_named_in_what_follows_and_ended(program: Program, served: McpServer) -> None:
    served.session = "s-1"
    added(program, served)
    assert served.asked == [*OPENING, "tools/list", "DELETE"]
    assert [request.headers.get("mcp-session-id") for request in served.requests] == [None, "s-1", "s-1", "s-1"]


def test_a_session_id_that_cannot_be_sent_back_is_told(program: Program, served: McpServer) -> None:
    served.session = "s-\u00e9"
    assert added(program, served)["failure"]["detail"] == "The id of its session cannot be sent back."
    assert served.asked == ["initialize"]


def test_streams_that_stay_open_are_not_waited_for(program: Program, served: McpServer) -> None:
    said = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "Hi"}}'
    asks = b'{"jsonrpc": "2.0", "id": "list-0", "method": "ping"}'
    noise = (b"id: 0\ndata:\n\n", b": still here\n\n", event(said, b"\r\n\r\n"), event(asks, b"\r\r"))
    served.says["tools/list"] = streams(*noise, result={"tools": [tool()]})
    served.says["tools/call"] = streams(*noise, result={"content": [{"type": "text", "text": "7 left"}]})
    began = time.monotonic()
    shown = added(program, served)
    assert (shown["failure"], names(shown)) == (None, ["findStock"])
    run = program.post("/tools/findStock/test", {"input": {"sku": "A"}}).json()
    assert (run["status"], run["result"]) == ("completed", "7 left")
    assert time.monotonic() - began < 5
    assert served.asked.count("tools/call") == 1


def test_a_stream_that_ended_before_the_answer_is_resumed(program: Program, served: McpServer) -> None:
    added(program, served)
    served.says["tools/call"] = says(STREAM, b"id: e-1\nretry: 200\ndata:\n\n", close=True)
    again = iter([b"id: e-2\nretry: 200\ndata:\n\n", b""])

    def resumes(connection: Connection, request: Request) -> None:
        (call,) = [each for each in served.requests if b"tools/call" in each.body]
        text = {"content": [{"type": "text", "text": request.headers["last-event-id"]}]}
        connection.send(STREAM + (next(again) or event(response(call, result=text))))
        connection.close()

    served.says["GET"] = resumes
    run = program.post("/tools/findStock/test", {"input": {"sku": "A"}}).json()
    assert (run["status"], run["raw"]) == ("completed", "e-2")
    served.says["GET"] = says(answer(status="405 Method Not Allowed"))
    run = program.post("/tools/findStock/test", {"input": {"sku": "A"}}).json()
    assert (run["error"]["code"], run["error"]["detail"]) == ("broken_answer", "The answer holds no result.")
    assert (served.asked.count("tools/call"), served.asked.count("GET")) == (2, 3)


def test_all_of_a_sync_has_one_deadline(program: Program, served: McpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer trickles for less than the deadline; together they take longer."""
    monkeypatch.setattr(client, "DEADLINE_S", 0.6)
    served.session = "s-1"

    def trickle(connection: Connection, request: Request) -> None:
        result = {"protocolVersion": "2025-11-25", "tools": [], "nextCursor": "more"}
        body = served.reply(request, result)
        for at in range(0, len(body), 100):
            if not (connection.pause(0.1) and connection.send(body[at : at + 100])):
                break

    served.says |= {"initialize": trickle, "tools/list": trickle}
    began = time.monotonic()
    assert added(program, served)["failure"]["code"] == "timeout"
    assert time.monotonic() - began < 3
    assert served.asked[:3] == [*OPENING, "tools/list"]
    assert "DELETE" not in served.asked


def test_one_tool_that_is_wrong_costs_no_other(program: Program, served: McpServer) -> None:
    served.tools = [
        tool("good"),
        {"description": "No name."},
        "no object",
        tool("odd name"),
        tool("twice"),
        tool("twice"),
        tool("far", inputSchema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}),
        tool("text", inputSchema={"type": "string"}),
        tool("long", description="x" * 2_001, title="y" * 81),
        tool("bare", inputSchema=None, annotations="none", description=None, title="Bare one"),
        tool("both", annotations={"readOnlyHint": True, "destructiveHint": True}),
        tool("orderStatus"),
        tool("half", inputSchema={"type": "object", "properties": {"\ud800": {}}}),
        tool("whole", description="\ud800"),
    ]  # type: ignore[list-item]  # one is none on purpose
    shown = added(program, served)
    assert (shown["failure"], names(shown)) == (None, ["bare", "both", "good", "long", "whole"])
    assert [(row["name"], row["path"]) for row in shown["refused"]] == [
        ("", "/tools/1/name"), ("", "/tools/2"), ("odd name", "/tools/3/name"), ("twice", "/tools/4/name"),
        ("twice", "/tools/5/name"), ("far", "/tools/6/input/properties/a/$ref"), ("text", "/tools/7/input"),
        ("half", "/tools/12/input"), ("orderStatus", ""),
    ]  # fmt: skip
    risks = dict(Tool.objects.filter(endpoint_id=shown["id"]).values_list("name", "risk"))
    assert risks == {"good": "low", "long": "low", "bare": "high", "both": "high", "whole": "low"}
    assert Tool.objects.filter(label="y" * 79 + "…", description="x" * 1_999 + "…").count() == 1


def test_what_a_call_gives_is_kept_as_text(program: Program, served: McpServer) -> None:
    added(program, served)
    resource = {"uri": "x://1", "mimeType": "text/plain"}
    gives: list[tuple[Message, str]] = [
        ({"content": []}, ""),
        ({}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}, "[image image/png]"),
        ({"content": [{"type": "resource", "resource": resource | {"text": "What it says"}}]}, "What it says"),
        ({"content": [{"type": "resource", "resource": resource | {"blob": "AA"}}]}, "[resource text/plain x://1]"),
        ({"content": [{"type": "resource_link", "uri": "x://1", "name": "One"}]}, "[resource_link x://1]"),
        ({"content": [{"type": "text", "text": "7"}], "structuredContent": {"left": 7.5}}, '{"left":7.5}'),
        ({"structuredContent": {"left": "\ud800"}}, '{"left":"\ufffd"}'),
    ]
    for result, raw in gives:
        served.result = result
        run = program.post("/tools/findStock/test", {"input": {"sku": "A"}}).json()
        assert (run["status"], run["raw"]) == ("completed", raw)
