"""HTTP tools of Fernhill at a server of the test's, drafted and published as a teammate does it."""

import asyncio

from median_site.lib.strict_json import Json
from tests.socket_server import Connection, Request, Responder, SocketServer
from tests.world import World
from tools import calls, http_tools, offered, runs, tool_versions
from tools.models import HttpTool, Starter, ToolRun

TEXT: Json = {"type": "string"}


def parameter(name: str, place: str, schema: Json = TEXT, *, required: bool = True) -> Json:
    return {"name": name, "place": place, "required": required, "schema": schema}


def draft(world: World, url: str, **fields: Json) -> HttpTool:
    """A draft of Sam's, the look-up of an order if nothing else is said; one of the same name is replaced."""
    raw: dict[str, Json] = {
        "name": "stockLevel", "description": "How many are left.", "risk": "low", "method": "GET", "url": url, **fields
    }  # fmt: skip
    known = HttpTool.objects.filter(workspace=world.fernhill, name=raw["name"]).first()
    return http_tools.save(raw, by=world.sam.actor, draft_id=known.id if known else "")


def publish(world: World) -> int:
    """The number of the version that the drafts became. A conversation of the test keeps it from now on."""
    number = tool_versions.publish(by=world.sam.actor).number
    world.conversation.tool_version = number
    world.conversation.save(update_fields=["tool_version"])
    return number


def queued(world: World, name: str, input_text: str = "{}", **fields: object) -> ToolRun:
    """A run of the agent's, not sent yet."""
    tool = offered.by_name(world.conversation, name)
    assert tool is not None
    return runs.queue(
        world.conversation, tool, input_text=input_text, **{"started_by": Starter.AGENT, "turn_id": "turn1", **fields}
    )


def send(run: ToolRun) -> ToolRun:
    """Let the run leave, and give it as it ended."""

    async def sending() -> None:
        assert await calls.send(run.id)
        await calls.close()

    asyncio.run(sending())
    return ToolRun.objects.get(id=run.id)


def answering(body: bytes, *, status: str = "200 OK", more: bytes = b"") -> Responder:
    """A responder that gives every request this answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n".encode()

    def respond(connection: Connection, request: Request) -> None:
        connection.send(head + more + b"\r\n" + body)

    return respond


def base(server: SocketServer) -> str:
    return f"http://127.0.0.1:{server.port}"
