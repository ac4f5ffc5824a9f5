"""/mcp before the protocol: keys, origins, limits, methods and bodies; and once over a real socket."""

import json
from pathlib import Path

import httpx2
import pytest
from django.conf import settings
from mcp.shared.exceptions import MCPError

from median_site.asgi import application
from median_site.lib.db import in_thread
from team import api_keys, api_limits
from team.models import ApiKey
from tests.approvals.requests import request
from tests.mcp.conftest import URL, connected
from tests.web_process import serving
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)

PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
LATER = {"MCP-Protocol-Version": "2025-11-25"}


async def ask(key: str, body: bytes = PING, *, method: str = "POST", **headers: str) -> httpx2.Response:
    sent = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **LATER, **headers}
    sent |= {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application)) as http:
        return await http.request(method, f"{URL}/mcp", content=body, headers=sent)


def code_of(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["data"]["code"])


async def test_a_client_works_over_a_socket(world: World, everything: str, tmp_path: Path) -> None:
    approval = await in_thread(request, world)
    with serving(tmp_path / "web.log") as web:
        for mode in ("legacy", "auto"):
            async with connected(everything, url=web.url, mode=mode) as assistant:
                assert len((await assistant.client.list_tools()).tools) == 8
                assert (await assistant.call("list_requests"))["data"][0]["id"] == approval.id
        async with connected(everything, url=web.url) as assistant:
            key = await in_thread(ApiKey.objects.get)
            await in_thread(api_keys.revoke, key.id, by=world.sam.actor)
            with pytest.raises(MCPError, match="This API key is not known here, or it was revoked."):
                await assistant.client.call_tool("list_requests", {})
    assert "Traceback" not in (tmp_path / "web.log").read_text()


async def test_without_a_key_nothing_is_said(world: World) -> None:
    for key in ("", "mdn_wrong"):
        answer = await ask(key)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert code_of(answer) == "unauthorized"


async def test_only_post_is_answered(everything: str) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = await ask(everything, b"", method=method)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


async def test_pages_of_other_origins_and_other_names_are_refused(everything: str) -> None:
    assert (await ask(everything, Origin=settings.MEDIAN_URL)).status_code == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:8001"):
        assert code_of(await ask(everything, Origin=origin)) == "wrong_origin"
    assert (await ask(everything, Host="rebound.example")).status_code == 421


async def test_requests_and_writes_are_limited_as_in_rest(
    world: World, everything: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_limits, "WRITES", 0)
    async with connected(everything) as assistant:
        assert await assistant.refusal("decide_request", request_id="x", decision="deny") == (
            "rate_limited", "Too many requests. Wait a moment and try again.",
        )  # fmt: skip
    monkeypatch.setattr(api_limits, "READS", 0)
    answer = await ask(everything)
    assert (answer.status_code, code_of(answer)) == (429, "rate_limited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 61


async def test_a_broken_body_is_a_4xx(everything: str) -> None:
    broken = [b"{", b"", b'{"a": NaN}', b"[" * 100_000, b"\xff", b"[]", b"null", b'{"jsonrpc": "2.0", "id": 1}']
    for body in broken:
        for version in ("2025-11-25", "2026-07-28"):
            answer = await ask(everything, body, **{"MCP-Protocol-Version": version})
            assert 400 <= answer.status_code < 500
            assert answer.headers["RateLimit-Limit"] == "600"
            assert answer.json()["error"]["code"] < -32000


async def test_a_body_is_read_up_to_a_megabyte(everything: str) -> None:
    padded = json.dumps(json.loads(PING) | {"params": {"_meta": {"padding": ""}}})
    fits = padded.replace('"padding": ""', '"padding": "%s"' % ("x" * (1_000_000 - len(padded))))
    assert (await ask(everything, fits.encode())).status_code == 200
    answer = await ask(everything, fits.encode() + b" ")
    assert (answer.status_code, code_of(answer)) == (413, "too_large")
