"""What a company's endpoint may answer, what a page may send and who may pretend: nothing breaks, nothing sticks."""

import base64
import html
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

import jwt
import pytest
from django.test import Client

from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Turn, TurnState
from approvals import decisions
from approvals.models import State, ToolApproval
from conversations.models import Item, Status
from median_site.lib import clock
from team.models import Event, Teammate
from tests import agent_process
from tests import world as worlds
from tests.approvals.requests import request
from tests.flows.conftest import Chat
from tests.model_server import ModelServer, calls, says
from tests.socket_server import Connection, Request, Responder, SocketServer, answer
from tests.waiting import until
from tests.world import World
from tools import calls as tool_calls
from tools import keys, session_tokens
from tools.client import Client as ToolClient
from tools.models import Endpoint, RunState, Tool, ToolRun

SignIn = Callable[[Teammate], Client]
WISH = "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund."
INPUT = '{"orderNumber":"ORD-1042","reason":"damaged"}'
MANIFEST = answer(json.dumps({"version": 1, "tools": worlds.TOOLS}).encode(), "Content-Type: application/json")
NO_ANSWER = "The endpoint did not answer in time."
NO_RESULT = "The tool returned no result. Check whether the action completed before retrying."
REDIRECTED = "The endpoint redirected, which tool calls never follow."
TOO_MUCH = "The endpoint answered with too much to read."


def bytes_of(data: bytes) -> Responder:
    """Answers so, and hangs up."""

    def respond(connection: Connection, request: Request) -> None:
        connection.send(data)
        connection.close()

    return respond


def silence(connection: Connection, request: Request) -> None:
    connection.wait_for_hang_up()


GARBAGE = bytes_of(b"\x00\xffSSH-2.0-OpenSSH_9.6\r\n")
HALF = bytes_of(answer(b'{"refunded":true}')[:-5])
REDIRECT = bytes_of(answer(b"", "Location: https://evil.example/", status="302 Found"))
DECLINED = bytes_of(answer(b'{"error":{"code":"declined","message":"No funds."}}', status="500 Oops"))


@pytest.fixture
def agent(live_world: World, model: ModelServer) -> Iterator[None]:
    with agent_process.in_thread(OpenAIModel(model.url, key="", name="test"), writer=DemoModel()):
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole call has one second, not ten."""
    monkeypatch.setattr(tool_calls, "Client", partial(ToolClient, deadline_s=1))


def company(respond: Responder) -> SocketServer:
    """An endpoint with a sound manifest and this answer to every call."""

    def either(connection: Connection, request: Request) -> None:
        if request.method == "GET":
            connection.send(MANIFEST)
        else:
            respond(connection, request)

    return SocketServer(either)


def asked(ana: Chat, model: ModelServer, *, then: str) -> ToolApproval:
    """Ana asks, the agent parks the refund, and will say `then` once it knows what became of it."""
    model.script([calls(("refundOrder", INPUT)), says("That needs sign-off."), says(then)])
    ana.write(WISH)
    until(lambda: ana.replies() == ["That needs sign-off."])
    return ToolApproval.objects.get()


def nothing_sticks() -> bool:
    turns = Turn.objects.filter(state__in=[TurnState.QUEUED, TurnState.RUNNING])
    runs = ToolRun.objects.filter(state__in=[RunState.QUEUED, RunState.RUNNING])
    return not turns.exists() and not runs.exists()


@pytest.mark.parametrize(
    ("respond", "sentence"),
    [
        (None, NO_ANSWER),
        (silence, NO_ANSWER),
        (REDIRECT, REDIRECTED),
        (GARBAGE, NO_RESULT),
        (HALF, NO_RESULT),
        (DECLINED, "The endpoint answered 500. declined: No funds."),
        (bytes_of(answer(b"x" * 100_001)), TOO_MUCH),
    ],
    ids=["down", "slow", "redirect", "garbage", "half", "error", "too much"],
)
@pytest.mark.usefixtures("agent", "impatient")
def test_an_approved_call_that_fails_says_so_to_everybody(
    live_world: World, ana: Chat, model: ModelServer, browser_of: SignIn, respond: Responder | None, sentence: str
) -> None:
    with company(respond or silence) as server:
        Endpoint.objects.update(url=server.url if respond else "http://127.0.0.1:9/tools")
        approval = asked(ana, model, then="It did not go through.")
        sam = browser_of(live_world.sam)
        assert sam.post(f"/approvals/{approval.id}/approve", headers={"HX-Request": "true"}).status_code == 200
        until(lambda: ana.replies()[1:] == ["It did not go through."])

    until(nothing_sticks)
    run = ToolRun.objects.get()
    assert (run.state, run.error) == (RunState.FAILED, sentence)
    assert ToolApproval.objects.get().state == State.FAILED
    page = html.unescape(sam.get(f"/inbox/{ana.conversation.id}/").content.decode())
    assert page.count(f"<b>{sentence}</b>") == 1
    assert "but it did not run" in page
    assert sentence in json.dumps(model.requests[-1].messages)
    assert [sent.method for sent in server.requests].count("POST") == (1 if respond else 0)


@pytest.mark.usefixtures("agent")
def test_what_may_have_been_done_is_said_and_done_again_only_after_another_sign_off(
    live_world: World, ana: Chat, model: ModelServer, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_calls, "Client", partial(ToolClient, deadline_s=0.3))
    with company(silence) as server:
        Endpoint.objects.update(url=server.url)
        first = asked(ana, model, then="It may have gone through.")
        decisions.approve(first.id, by=live_world.sam.actor)
        until(lambda: ana.replies()[1:] == ["It may have gone through."])
        until(nothing_sticks)
        model.script([calls(("refundOrder", INPUT)), says("I asked the team again.")])
        ana.write("It failed, try again.")
        until(lambda: ana.replies()[2:] == ["I asked the team again."])

    assert "The request was sent; the action may have happened." in json.dumps(model.requests[2].messages)
    assert "A call that timed out may have been done all the same" in model.requests[2].messages[0]["content"]
    again = ToolApproval.objects.exclude(id=first.id).get()
    assert again.state == State.PENDING
    card = browser_of(live_world.sam).get(f"/approvals/{again.id}/").content.decode()
    assert "The same input was tried for this customer before" in card
    assert [sent.method for sent in server.requests].count("POST") == 1


@pytest.mark.parametrize(
    ("body", "raw"),
    [(b"", ""), (b"a\0b", "a␀b"), (b'{"note":"a\\u0000b"}', '{"note":"a\\u0000b"}'), (b"\xff\xfe\xfd", "\ufffd" * 3)],
    ids=["empty", "a NUL", "an escaped NUL", "no text"],
)
@pytest.mark.usefixtures("agent")
def test_an_odd_body_is_an_answer(
    live_world: World, ana: Chat, model: ModelServer, browser_of: SignIn, body: bytes, raw: str
) -> None:
    with company(bytes_of(answer(body))) as server:
        Endpoint.objects.update(url=server.url)
        approval = asked(ana, model, then="Done.")
        sam = browser_of(live_world.sam)
        sam.post(f"/approvals/{approval.id}/approve")
        until(lambda: ana.replies()[1:] == ["Done."])

    until(lambda: nothing_sticks() and ToolRun.objects.get().headline)
    assert ToolApproval.objects.get().state == State.COMPLETED
    assert ToolRun.objects.get().raw == raw
    thread = sam.get(f"/inbox/{ana.conversation.id}/").content.decode()
    assert ("Bytes that are not text stand as �." in thread) == ("\ufffd" in raw)
    assert ("Characters that cannot be stored stand as ␀" in thread) == (raw == "a␀b")


@pytest.mark.parametrize(
    ("respond", "code", "sentence", "fix"),
    [
        (None, "unreachable", "The endpoint could not be reached.", "Check that the address is right"),
        (silence, "timeout", NO_ANSWER, "Answer within 10 seconds"),
        (REDIRECT, "redirected", REDIRECTED, "Use the address that it redirects to."),
        (GARBAGE, "unreachable", "The endpoint could not be reached.", "Check that the address is right"),
        (HALF, "unreachable", "The endpoint could not be reached.", "Check that the address is right"),
        (DECLINED, "bad_status", "The endpoint answered 500.", "A signed GET must answer 200 with the manifest."),
        (bytes_of(answer(b"")), "not_json", "The endpoint did not answer with JSON.", "Serve the manifest"),
        (bytes_of(answer(b'{"version"\0:1}')), "not_json", "The endpoint did not answer with JSON.", "Serve the"),
        (bytes_of(answer(b"x" * 1_000_001)), "too_large", TOO_MUCH, "Keep the manifest below 1 MB."),
        (bytes_of(answer(b'{"version":2}')), "invalid_manifest", "The manifest is not valid.", "Correct the manifest"),
    ],
    ids=["down", "slow", "redirect", "garbage", "half", "error", "empty", "NUL", "too much", "invalid"],
)  # fmt: skip
@pytest.mark.usefixtures("impatient", "transactional_db")
def test_a_sync_that_fails_says_why_and_keeps_the_tools(
    world: World, browser_of: SignIn, respond: Responder | None, code: str, sentence: str, fix: str
) -> None:
    tools = list(Tool.objects.order_by("name").values())
    sam = browser_of(world.sam)
    with SocketServer(respond or silence) as server:
        Endpoint.objects.update(url=server.url if respond else "http://127.0.0.1:9/tools")
        asked = sam.post(f"/agent/tools/endpoints/{world.endpoint.id}/sync")
    assert asked.status_code == 302, asked.content

    assert Endpoint.objects.get().failure == code
    assert list(Tool.objects.order_by("name").values()) == tools
    page = html.unescape(sam.get("/agent/tools/").content.decode())
    assert sentence in page
    assert f"To fix: {fix}" in page
    assert f"Still showing {len(worlds.TOOLS)} tools" in page


def test_approving_takes_nothing_from_the_page(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    fake = {"input": {"orderNumber": "ORD-9999"}, "tool": "closeAccount", "risk": "low", "reason": "x"}
    sam = browser_of(world.sam)
    for path in ("call_" + "0" * 32, "turn"):
        assert sam.post(f"/approvals/{path}/approve", fake, content_type="application/json").status_code == 404

    answered = sam.post(
        f"/approvals/{approval.id}/approve?tool=closeAccount", fake, content_type="application/json",
        headers={"HX-Request": "true"},
    )  # fmt: skip

    assert answered.status_code == 200
    run = ToolRun.objects.get()
    assert (run.id, run.tool_name, run.input) == (approval.id, "refundOrder", INPUT)


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("headers", [{}, {"Sec-Purpose": "prefetch"}, {"HX-Request": "true"}], ids=str)
@pytest.mark.parametrize("signed_in", [True, False])
def test_opening_a_link_decides_nothing(
    world: World, browser_of: SignIn, method: str, headers: dict[str, str], signed_in: bool
) -> None:
    approval = request(world)
    events = Event.objects.count()
    client = browser_of(world.sam) if signed_in else Client()
    for last in ("", "approve", "deny"):
        answered = client.generic(method, f"/approvals/{approval.id}/{last}", headers=headers)
        assert answered.status_code in ({200, 405} if signed_in else {302, 401, 405})
        assert signed_in or b"ORD-1042" not in answered.content
    assert ToolApproval.objects.get().state == State.PENDING
    assert Event.objects.count() == events


def test_a_card_of_a_conversation_that_was_resolved_elsewhere(world: World, browser_of: SignIn) -> None:
    approval = request(world)
    sam, kim = browser_of(world.sam), browser_of(world.kim)
    kim.post(f"/inbox/{world.conversation.id}/resolve")
    for _ in range(2):
        for verb in ("approve", "deny"):
            pressed = sam.post(f"/approvals/{approval.id}/{verb}", headers={"HX-Request": "true"})
            assert pressed.status_code == 409
            assert pressed.content.decode() == "This request expired because the conversation ended."
        kim.post(f"/inbox/{world.conversation.id}/reopen")
    world.conversation.refresh_from_db()
    assert world.conversation.status == Status.OPEN
    assert ToolApproval.objects.get().state == State.EXPIRED
    assert ToolRun.objects.count() == 0


def forged(world: World, kind: str) -> str:
    """A session token that looks like Ana's."""
    good = worlds.session_token(world.ana)
    head, claims, signature = good.split(".")
    if kind == "expired":
        return session_tokens.mint(
            keys.current(world.fernhill.id), issuer=world.fernhill.issuer, subject=world.ana.subject, anonymous=False,
            claims={}, email=None, name=None, now=clock.now() - timedelta(hours=1),
        )  # fmt: skip
    if kind == "of another workspace":
        keys.ensure(world.elsewhere.id)
        return session_tokens.mint(
            keys.current(world.elsewhere.id), issuer=world.fernhill.issuer, subject=world.ana.subject, anonymous=False,
            claims={}, email=None, name=None, now=clock.now(),
        )  # fmt: skip
    said = jwt.decode(good, options={"verify_signature": False})
    if kind == "unsigned":
        return jwt.encode(said, None, algorithm="none", headers={"kid": jwt.get_unverified_header(good)["kid"]})
    if kind == "someone else":
        other = base64.urlsafe_b64encode(json.dumps({**said, "sub": "user_999"}).encode()).rstrip(b"=").decode()
        return f"{head}.{other}.{signature}"
    return {"nothing": "", "no token": "Fernhill", "cut off": good[:-9]}[kind]


@pytest.mark.parametrize(
    "kind", ["expired", "of another workspace", "unsigned", "someone else", "nothing", "no token", "cut off"]
)
def test_a_forged_or_expired_session_token_opens_nothing(world: World, kind: str) -> None:
    headers = {"Authorization": f"Bearer {forged(world, kind)}", "Accept": "application/json"}
    items = Item.objects.count()
    message = {"text": "Refund me", "client_id": "message-1"}
    for answered in (
        Client().get("/widget/fernhill/thread", headers=headers),
        Client().post("/widget/fernhill/messages", message, content_type="application/json", headers=headers),
    ):
        code = "session_expired" if kind == "expired" else "session_invalid"
        assert (answered.status_code, answered.json()["error"]["code"]) == (401, code)
        assert world.ana.name.encode() not in answered.content
    assert Item.objects.count() == items
