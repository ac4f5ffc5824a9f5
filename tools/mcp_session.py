"""Speaking MCP to a company's server: a session for one sync or one call, over the client of all tool traffic.

Streamable HTTP, one answer for each request. Reading what an answer means is in tools.mcp_messages.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from median_site.lib.strict_json import Json
from tools import client as clients
from tools import failures, mcp_messages
from tools.client import Answer, Client, Failure, Limit, Outbound
from tools.failures import SyncFailure
from tools.manifest import MAX_TOOLS, Manifest
from tools.mcp_messages import Fault

HEADERS: Final[Mapping[str, str]] = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": mcp_messages.VERSION,
}
GREETING_LIMIT: Final = Limit(bytes=100_000)
PAGES: Final = 100
GOODBYE_S: Final = 1.0


class McpCall(Outbound):
    """A request that is made within a session of its own, which its headers open."""


class _Session:
    """One conversation with a server; everything in it shares one deadline."""

    def __init__(self, client: Client, opening: McpCall) -> None:
        self._client = client
        self._opening = opening
        self._headers = dict(opening.headers)
        self._until = asyncio.get_running_loop().time() + clients.DEADLINE_S

    async def open(self) -> Answer | Failure:
        """Greet the server and give its answer. Raises Fault when it is none that a session can begin with."""
        answer = await self.ask(mcp_messages.INITIALIZE, id=mcp_messages.OPENING, limit=GREETING_LIMIT)
        if isinstance(answer, Failure) or answer.status >= 300:
            return answer
        version = mcp_messages.result(answer, id=mcp_messages.OPENING).get("protocolVersion")
        if not isinstance(version, str) or version not in mcp_messages.VERSIONS:
            raise Fault("The server speaks no version of the protocol that is known here.")
        self._headers["MCP-Protocol-Version"] = version
        if session_id := mcp_messages.session_of(answer):
            self._headers["Mcp-Session-Id"] = session_id
        await self.ask(mcp_messages.INITIALIZED, id="", limit=GREETING_LIMIT)
        return answer

    async def ask(self, body: bytes, *, id: str, limit: Limit) -> Answer | Failure:
        """Send a message, of which `id` is the id; empty for one that has no answer."""
        answer = await self._send(Outbound("POST", self._opening.url, self._headers, body), id=id, limit=limit)
        while isinstance(answer, Answer) and (more := mcp_messages.resumption(answer, id=id)):
            # The server took the message, and asks to come back for the answer: nothing is sent a second time.
            await asyncio.sleep(min(more.after_s, self._left()))
            headers = {**self._headers, "Last-Event-ID": more.last_event}
            resumed = await self._send(Outbound("GET", self._opening.url, headers), id=id, limit=limit)
            if isinstance(resumed, Answer) and resumed.status != 200:
                break
            answer = resumed
        return answer

    async def _send(self, request: Outbound, *, id: str, limit: Limit) -> Answer | Failure:
        awaited = mcp_messages.Awaited(id)
        return await self._client.send(request, limit=limit, within_s=self._left(), is_whole=awaited)

    async def close(self) -> None:
        """Let the server forget the session; whether it does is its own affair."""
        if "Mcp-Session-Id" in self._headers and (left := self._left()):
            goodbye = Outbound("DELETE", self._opening.url, self._headers)
            await self._client.send(goodbye, limit=GREETING_LIMIT, within_s=min(left, GOODBYE_S))

    def _left(self) -> float:
        return max(0.0, self._until - asyncio.get_running_loop().time())


async def call(client: Client, asked: McpCall, *, limit: Limit) -> Answer | Failure:
    """Open a session and send the call in it, once. What keeps the session from opening is told as nothing sent."""
    session = _Session(client, asked)
    try:
        opened = await session.open()
    except Fault as fault:
        return Failure(
            kind="broken_answer", status=None, detail=f"{clients.NOTHING_SENT} {fault}", sent=False, elapsed_s=0
        )
    if isinstance(opened, Failure):
        return replace(opened, detail=clients.NOTHING_SENT, sent=False)
    if opened.status >= 300:
        return opened
    try:
        return await session.ask(asked.body, id=asked.headers["X-Median-Call-Id"], limit=limit)
    finally:
        await session.close()


async def list_tools(client: Client, asked: McpCall, *, limit: Limit) -> Manifest | SyncFailure:
    """The server's tools, as a manifest."""
    session = _Session(client, asked)
    try:
        opened = await session.open()
        if failure := failures.unusable(opened):
            return failure
        try:
            return await _pages(session, limit=limit)
        finally:
            await session.close()
    except Fault as fault:
        return SyncFailure("invalid_manifest", str(fault)[:400])


async def _pages(session: _Session, *, limit: Limit) -> Manifest | SyncFailure:
    """All pages, which share the limit."""
    tools: list[Json] = []
    cursor, room = "", limit.bytes or 0
    for number in range(PAGES):
        asked = mcp_messages.list_tools(number, cursor=cursor)
        answer = await session.ask(asked, id=mcp_messages.page_id(number), limit=Limit(bytes=room))
        if failure := failures.unusable(answer):
            return failure
        assert isinstance(answer, Answer)  # noqa: S101  (a Failure is unusable)
        room -= len(answer.body)
        found, cursor = mcp_messages.tools_of(mcp_messages.result(answer, id=mcp_messages.page_id(number)))
        tools += found
        if not cursor or len(tools) > MAX_TOOLS:
            return failures.parsed(mcp_messages.manifest_of(tools))
    raise Fault(f"/nextCursor: The list of tools has not ended after {PAGES} pages.")
