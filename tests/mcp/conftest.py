"""An assistant of a company: the SDK's own client, with an API key, over a socket or straight to the application."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from median_site.asgi import application
from team import api_keys
from tests.world import World

URL = "http://127.0.0.1:8000"


@dataclass
class Assistant:
    """A connected client."""

    client: Client

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a function answers; the client holds it to the function's output schema."""
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content
        return dict(result.structured_content)

    async def refusal(self, name: str, **arguments: Any) -> tuple[str, str]:
        """The code and the sentence of a refused call."""
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result.structured_content
        error = result.structured_content["error"]
        assert [part.text for part in result.content] == [error["message"]]
        return error["code"], error["message"]


@asynccontextmanager
async def connected(key: str, *, url: str = "", mode: str = "auto") -> AsyncIterator[Assistant]:
    """The client of a key; without `url` there is no socket between it and the application."""
    transport = None if url else httpx2.ASGITransport(app=application)
    headers = {"Authorization": f"Bearer {key}"}
    http = httpx2.AsyncClient(transport=transport, headers=headers, timeout=30)
    async with http, Client(streamable_http_client(f"{url or URL}/mcp", http_client=http), mode=mode) as client:
        yield Assistant(client)


@pytest.fixture
def key_with(world: World) -> Callable[..., str]:
    """An API key with these scopes, in Fernhill unless told otherwise."""

    def make(*scopes: str, elsewhere: bool = False) -> str:
        workspace = world.elsewhere if elsewhere else world.fernhill
        return api_keys.create(workspace, name="Claude", scopes=scopes)[1]

    return make


@pytest.fixture
def everything(key_with: Callable[..., str]) -> str:
    """A key that may do all that is offered here."""
    return key_with("read", "decide", "run")
