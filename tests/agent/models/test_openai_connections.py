"""The OpenAI-compatible model over its connections: deadlines, cuts, many at once; and the settings that name it."""

import asyncio
import gzip
import json
import logging
import socket
import threading
import traceback

import pytest

from agent.models import from_settings
from agent.models.base import ModelError
from agent.models.demo import DemoModel
from agent.models.openai import MAX_ANSWER_BYTES, OpenAIModel, completions_url
from tests.agent.models.conftest import KEY, ask, failure
from tests.model_server import ModelServer, Reply, model_server, says
from tests.socket_server import SocketServer, answer
from tests.socket_server import says as responds


async def test_a_redirect_is_not_followed(server: ModelServer, model: OpenAIModel) -> None:
    with model_server() as other:
        server.script([Reply(status=307, headers={"location": other.url})])
        assert await failure(model) == ("bad_status", "The model's API answered 307.", False)
        assert other.requests == []


async def test_what_comes_behind_an_answer_is_nobody_elses() -> None:
    """A server that says more than it was asked for must not answer the next customer with it."""
    ours, stray = answer(says("Yours.").body), answer(says("Somebody else's.").body)
    with SocketServer(responds(ours + stray)) as server:
        model = OpenAIModel(server.url, key="", name="test")
        assert [(await ask(model)).text for _ in range(3)] == ["Yours."] * 3
        assert server.connections == 3
        await model.aclose()


async def test_connections_are_kept() -> None:
    with SocketServer(responds(answer(says("Hi.").body))) as server:
        model = OpenAIModel(server.url, key="", name="test")
        assert [(await ask(model)).text for _ in range(3)] == ["Hi."] * 3
        assert (server.connections, len(server.requests)) == (1, 3)
        await model.aclose()


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    with SocketServer(responds(answer(says("Hi.").body), close=True)) as server:
        model = OpenAIModel(server.url, key="", name="test")
        for number in range(1, 4):
            try:
                assert (await ask(model)).text == "Hi."
            except ModelError:  # it was being closed just then: the turn asks once more
                assert (await ask(model)).text == "Hi."
            assert (server.connections, len(server.requests)) == (number, number)
        await model.aclose()


async def test_as_many_answers_are_waited_for_at_once_as_are_asked_for(server: ModelServer, model: OpenAIModel) -> None:
    hold = threading.Event()
    server.script([Reply(says("Hi.").body, delay_s=30, hold=hold)] * 120)
    asked = asyncio.gather(*(ask(model, deadline_s=30) for _ in range(120)))
    await asyncio.to_thread(server.wait_for, 120)
    hold.set()
    assert {each.text for each in await asked} == {"Hi."}


async def test_the_key_is_in_no_error_and_no_log(
    server: ModelServer, model: OpenAIModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    quoted = json.dumps({"error": {"message": "x" * 195 + " " + KEY}}).encode()
    server.script([Reply(quoted, status=401), Reply(quoted), Reply(cut=-1)])
    for code in ("refused", "bad_answer", "unreachable"):
        with pytest.raises(ModelError) as caught:
            await ask(model)
        assert caught.value.code == code
        assert "sk-" not in "".join(traceback.format_exception(caught.value))
    assert "sk-" not in caplog.text
    assert "sk-" not in repr(model)


async def test_a_short_key_leaves_answers_alone(server: ModelServer) -> None:
    server.script([says("next")])
    model = OpenAIModel(server.url, key="x\n", name="local")
    assert (await ask(model)).text == "next"
    await model.aclose()


async def test_too_much_to_read_stops_the_reading(server: ModelServer, model: OpenAIModel) -> None:
    padded = says("Hello.").body.ljust(MAX_ANSWER_BYTES)
    server.script([Reply(padded), Reply(padded + b" "), says("Still here.")])
    assert (await ask(model)).text == "Hello."
    assert await failure(model) == ("too_large", "The model answered with too much to read.", False)
    assert (await ask(model)).text == "Still here."


async def test_a_compressed_answer_is_not_unpacked(server: ModelServer, model: OpenAIModel) -> None:
    server.script([Reply(gzip.compress(says("Hi").body), headers={"content-encoding": "gzip"})])
    assert await failure(model) == ("bad_answer", "The model's API compressed its answer unasked.", True)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("late", [Reply(delay_s=30), Reply(b" " * 1_000, drip_s=0.05)], ids=["silent", "dripping"])
async def test_one_deadline_stands_for_the_whole_answer(server: ModelServer, model: OpenAIModel, late: Reply) -> None:
    server.script([late, says("Back.")])
    async with asyncio.timeout(5):
        assert await failure(model, deadline_s=0.3) == (
            "timeout",
            "The model did not answer within 0.3 seconds.",
            True,
        )
    assert (await ask(model)).text == "Back."


async def test_half_an_answer_and_none(server: ModelServer, model: OpenAIModel) -> None:
    server.script([Reply(says("Hello").body, cut=20), Reply(cut=-1), says("Back.")])
    for _ in range(2):
        assert await failure(model) == (
            "unreachable",
            "The model at 127.0.0.1 could not be reached (RemoteProtocolError).",
            True,
        )
    assert (await ask(model)).text == "Back."


async def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        model = OpenAIModel(f"http://127.0.0.1:{unused.getsockname()[1]}", key="", name="local")
        text = "The model at 127.0.0.1 could not be reached (ConnectError)."
        assert await failure(model) == ("unreachable", text, True)
        await model.aclose()


async def test_no_proxy_of_the_environment_is_used(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.script([says("Direct.")])
    model = OpenAIModel(server.url, key="", name="local")
    assert (await ask(model)).text == "Direct."
    await model.aclose()


async def test_a_cancelled_turn_stays_cancelled(server: ModelServer, model: OpenAIModel) -> None:
    server.script([Reply(delay_s=30)])
    task = asyncio.create_task(ask(model))
    await asyncio.to_thread(server.wait_for, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/v1/ ", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/v1/chat/completions", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/v1/chat/completions/", "https://api.example.com/v1/chat/completions"),
        ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("https://example.com/v1beta/openai/", "https://example.com/v1beta/openai/chat/completions"),
        ("https://example.com/openai?api-version=2", "https://example.com/openai/chat/completions?api-version=2"),
    ],
)
def test_the_url_may_end_anywhere(url: str, full: str) -> None:
    assert str(completions_url(url)) == full


@pytest.mark.parametrize(
    ("url", "key", "name"),
    [
        ("api.example.com/v1", "", "m"),
        ("ftp://api.example.com", "", "m"),
        ("https://", "", "m"),
        ("https://sk-1@api.example.com", "", "m"),
        ("http://[::1", "", "m"),
        ("https://api.example.com", "sk-1\nx", "m"),
        ("https://api.example.com", "sk-1é", "m"),
        ("https://api.example.com", "sk-1", ""),
    ],
)
def test_settings_that_cannot_work_are_refused_without_the_key(url: str, key: str, name: str) -> None:
    with pytest.raises(ValueError, match="model") as caught:
        from_settings(url, key=key, name=name)
    assert "sk-" not in str(caught.value)


async def test_settings_choose_the_model() -> None:
    chosen = from_settings("http://localhost:11434", key="", name="llama")
    assert (chosen.name, chosen.is_demo, isinstance(chosen, OpenAIModel)) == ("llama", False, True)
    await chosen.aclose()
    demo = from_settings("", key="", name="")
    assert (demo.name, demo.is_demo, isinstance(demo, DemoModel)) == ("Demo model", True, True)
