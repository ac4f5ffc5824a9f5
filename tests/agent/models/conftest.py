"""The OpenAI-compatible model and the scripted server that it asks, over a real socket."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from agent.models.base import Answer, Message, ModelError, ToolSpec
from agent.models.openai import OpenAIModel
from tests.model_server import ModelServer, model_server

KEY = "sk-test-3f9a"
HELLO = [Message("system", "Be kind."), Message("user", "Hello")]
ORDER_STATUS = ToolSpec(
    "orderStatus",
    "Look up an order.",
    {"type": "object", "properties": {"orderNumber": {"type": "string"}}, "required": ["orderNumber"]},
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest_asyncio.fixture
async def model(server: ModelServer) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel(server.url, key=KEY, name="test-model")
    yield model
    await model.aclose()


async def ask(model: OpenAIModel, messages: list[Message] = HELLO, *, deadline_s: float = 10) -> Answer:
    return await model.complete(messages, tools=[ORDER_STATUS], deadline_s=deadline_s)


async def failure(model: OpenAIModel, *, deadline_s: float = 10) -> tuple[str, str, bool]:
    with pytest.raises(ModelError) as caught:
        await ask(model, deadline_s=deadline_s)
    assert str(caught.value) == caught.value.message
    return caught.value.code, caught.value.message, caught.value.retryable
