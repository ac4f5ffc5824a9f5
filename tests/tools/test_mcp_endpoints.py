"""MCP servers as endpoints, made with the official SDK and reached over a socket: synced, called, and misbehaving."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import pytest
import uvicorn
from django.test import Client
from django.urls import reverse
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from starlette.types import ASGIApp, Receive, Scope, Send

from median_site.lib import secrets
from team import api_keys
from team.models import Teammate
from tests.api.conftest import Program
from tests.world import World
from tools.models import Endpoint, Tool

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Served:
    """An MCP server of a company, and every request that reached it."""

    url: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)


def shop(served: Served) -> MCPServer:
    server = MCPServer("Shop")

    @server.tool(annotations=ToolAnnotations(title="Find stock", read_only_hint=True))
    def findStock(sku: str) -> dict[str, int]:
        """How many are in stock."""
        return {sku: 7}

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def dropOrder(number: str, context: Context) -> str:
        """Drop an order."""
        served.metas.append(dict(context.request_context.meta or {}))
        raise ToolError(f"Order {number} has left already.")

    @server.tool(name="odd name")
    def odd() -> str:
        """Its name is not one of ours."""
        return ""

    return server


@contextmanager
def serving(*, json_response: bool, stateless: bool) -> Iterator[Served]:
    served = Served()
    inner = shop(served).streamable_http_app(json_response=json_response, stateless_http=stateless)

    def watched(app: ASGIApp) -> ASGIApp:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                served.requests.append((scope["method"], headers))
            await app(scope, receive, send)

        return application

    door = socket.create_server(("127.0.0.1", 0))
    served.url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
    server = uvicorn.Server(uvicorn.Config(watched(inner), log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        yield served
    finally:
        server.should_exit = True
        thread.join(20)
        door.close()


@pytest.fixture
def program(world: World) -> Program:
    return Program(api_keys.create(world.fernhill, name="Backoffice", scopes=api_keys.SCOPES)[1])


@pytest.mark.parametrize(("json_response", "stateless"), [(True, True), (False, False)])
def test_its_tools_are_synced_and_called(world: World, program: Program, json_response: bool, stateless: bool) -> None:
    with serving(json_response=json_response, stateless=stateless) as served:
        body = {"kind": "mcp", "url": served.url, "secret": "letmein"}
        added = program.post("/tool-endpoints", body).json()
        assert (added["kind"], added["failure"], "secret" in added) == ("mcp", None, False)
        assert [(tool["name"], tool["path"]) for tool in added["refused"]] == [("odd name", "/tools/2/name")]
        stored = {tool.name: tool for tool in Tool.objects.filter(endpoint_id=added["id"], present=True)}
        assert {name: tool.risk for name, tool in stored.items()} == {"findStock": "low", "dropOrder": "high"}
        assert stored["findStock"].label == "Find stock"
        assert secrets.unseal(Endpoint.objects.get(id=added["id"]).sealed_secret) == "letmein"
        shown = {tool["name"]: tool for tool in program.get("/tools").json()["data"]}
        seen, risk = shown["dropOrder"]["content_hash"], "/tools/dropOrder/risk"
        assert shown["dropOrder"]["kind"] == "mcp"
        assert program.post(risk, {"risk": "medium", "content_hash": "x"}).json()["error"]["code"] == "tool_changed"
        assert program.post(risk, {"risk": "medium", "content_hash": seen}).json()["risk"] == "medium"
        of_a_manifest = program.post("/tools/orderStatus/risk", {"risk": "medium", "content_hash": "x"})
        assert of_a_manifest.json()["error"]["code"] == "risk_not_set_here"

        served.requests.clear()
        found = program.post("/tools/findStock/test", {"input": {"sku": "A-1"}}).json()
        assert (found["status"], found["result"]) == ("completed", {"A-1": 7})
        posts = [headers for method, headers in served.requests if method == "POST"]
        assert len(posts) == 3  # the greeting, its end, and the call once
        assert {headers["authorization"] for headers in posts} == {"Bearer letmein"}
        claims = jwt.decode(posts[2]["x-median-assertion"], options={"verify_signature": False})
        assert (claims["aud"], claims["jti"]) == ("findStock", found["id"])
        assert [method for method, _ in served.requests if method == "DELETE"] == ([] if stateless else ["DELETE"])

        failed = program.post("/tools/dropOrder/test", {"input": {"number": "7"}}).json()
        assert (failed["status"], failed["error"]["code"]) == ("failed", "tool_error")
        said = "Error executing tool dropOrder: Order 7 has left already."
        assert failed["error"]["message"] == f"The endpoint answered an error. {said}"
        assert [meta["median/toolCallId"] for meta in served.metas] == [failed["id"]]


def test_what_keeps_a_session_from_opening_is_told_and_nothing_is_sent(world: World, program: Program) -> None:
    refusal = program.post("/tool-endpoints", {"kind": "mcp", "url": "http://127.0.0.1:9/mcp", "secret": "a b"})
    assert (refusal.status_code, refusal.json()["error"]["field"]) == (422, "secret")
    added = program.post("/tool-endpoints", {"kind": "mcp", "url": "http://127.0.0.1:9/mcp"}).json()
    assert added["failure"]["code"] == "unreachable"
    Tool.objects.create(
        workspace=world.fernhill, endpoint_id=added["id"], name="late", label="Late", description="Late",
        input_schema='{"type":"object","properties":{},"additionalProperties":false}', content_hash="x",
    )  # fmt: skip
    failed = program.post("/tools/late/test", {}).json()
    assert (failed["status"], failed["error"]["detail"]) == ("failed", "Nothing was sent.")


def test_the_page_adds_one_and_replaces_its_token(world: World, browser_of: Callable[[Teammate], Client]) -> None:
    sam = browser_of(world.sam)
    form = {"as": world.sam.id, "kind": "mcp", "url": "http://127.0.0.1:9/mcp", "secret": "letmein"}
    shown = sam.post(reverse("tools:add"), form).content.decode()
    assert "<small>MCP server</small>" in shown
    assert "letmein" not in shown
    added = Endpoint.objects.get(kind="mcp")
    assert "Bearer token" in sam.get(reverse("tools:endpoint", args=[added.id])).content.decode()
    sam.post(reverse("tools:rotate_secret", args=[added.id]), {"as": world.sam.id, "secret": ""})
    added.refresh_from_db()
    assert (added.sealed_secret, added.sealed_old_secret) == ("", "")
