"""The agent at work on the world's conversation: a scripted model and a scripted company, both over real sockets."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from median_tools.server import Server

from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Turn, TurnState
from conversations import threads
from conversations.models import ItemKind
from tests import agent_process
from tests import world as worlds
from tests.endpoint import Endpoint
from tests.model_server import ModelServer, Request
from tests.waiting import until
from tests.world import World


@dataclass
class Company(Endpoint):
    """An endpoint that serves the world's tools. A tool answers what `answers` says, status and body; else {}."""

    answers: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        status, body = 200, json.dumps({"version": 1, "tools": worlds.TOOLS}).encode()
        if environ["REQUEST_METHOD"] == "POST":
            status, body = self.answers.get(json.load(environ["wsgi.input"])["tool"], (200, b"{}"))
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status} Answer", headers)
        return [body]


@dataclass
class Talk:
    """Ana's side of the conversation, and what the model was asked."""

    world: World
    model: ModelServer
    company: Company
    sent: int = 0

    def write(self, text: str = "Where is ORD-1042?") -> int:
        """The number of the message."""
        self.sent += 1
        item = threads.customer_wrote(self.world.conversation.id, body=text, client_id=f"message-{self.sent}")
        return item.number

    def replies(self) -> list[str]:
        items = self.world.conversation.items.filter(kind=ItemKind.AGENT)
        return list(items.order_by("number").values_list("text", flat=True))

    def settle(self, *, turns: int) -> list[str]:
        """Wait until exactly that many turns have ended and none is left; gives the replies."""
        open_states = [TurnState.QUEUED, TurnState.RUNNING]
        until(lambda: Turn.objects.exclude(state__in=open_states).count() >= turns)
        until(lambda: not Turn.objects.filter(state__in=open_states).exists())
        assert Turn.objects.count() == turns
        return self.replies()

    def ask(self, *script: object, text: str = "Where is ORD-1042?") -> list[Request]:
        """One turn of the agent with this script of the model; gives the requests that the model got in it."""
        before, ended = len(self.model.requests), Turn.objects.count()
        self.model.script(script)  # type: ignore[arg-type]  # replies and functions of requests
        self.write(text)
        self.settle(turns=ended + 1)
        assert self.model.unused == 0
        return self.model.requests[before:]


@pytest.fixture
def company() -> Iterator[Company]:
    company = Company()
    with Server(company.wrap(company.app)) as server:
        server.start()
        company.url = f"{server.url}/tools"
        try:
            yield company
        finally:
            for event in company.held.values():
                event.set()


@pytest.fixture
def talk(transactional_db: None, company: Company, model: ModelServer) -> Talk:
    """The world, with nobody at work in it yet."""
    return Talk(worlds.build(endpoint_url=company.url), model, company)


@pytest.fixture
def ana(talk: Talk) -> Iterator[Talk]:
    """The same with an agent process at work. Its write-ups are not the scripted model's."""
    with agent_process.in_thread(OpenAIModel(talk.model.url, key="", name="test"), writer=DemoModel()):
        yield talk


def told(request: Request) -> list[Any]:
    """What the results at the end of a request said, in their order."""
    messages = request.messages
    first = max(place for place, message in enumerate(messages) if message["role"] == "assistant")
    assert [call["id"] for call in messages[first]["tool_calls"]] == [
        message["tool_call_id"] for message in messages[first + 1 :]
    ]
    return [json.loads(message["content"]) for message in messages[first + 1 :]]
