"""Testing a tool: a real, signed call that stands in no thread, with everything that left and came back."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet
from standardwebhooks import Webhook

from conversations.models import Item
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, NotFound
from median_site.lib.strict_json import Json
from team.models import Event
from tests.manifest_server import ManifestServer, manifest_server
from tests.tools.http_tools_at_hand import draft, parameter, publish
from tests.world import SECRET, World
from tools import calls, keys, testing
from tools.models import Endpoint, Tool, ToolRun
from tools.testing import BadTestInput, Trial

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def served(world: World) -> Iterator[ManifestServer]:
    with manifest_server() as server:
        Endpoint.objects.filter(id=world.endpoint.id).update(url=server.url)
        yield server


def call(tool: str, *, by: Actor, input_text: str = "", subject: str | None = None, conversation: str = "") -> Trial:
    async def one() -> Trial:
        try:
            return await testing.call(
                tool, by=by, input_text=input_text, as_subject=subject, conversation_id=conversation
            )
        finally:
            await calls.close()

    return asyncio.run(one())


def test_as_nobody(world: World, served: ManifestServer) -> None:
    Tool.objects.filter(name="closeAccount").update(switched_on=False)
    tested = call("closeAccount", by=world.sam.actor)
    (request,) = served.requests
    body = Webhook(SECRET).verify(request.body, request.headers)
    assert body == {
        "tool": "closeAccount", "toolCallId": tested.run.id, "input": {},
        "context": {"conversationId": tested.run.id, "risk": "high", "visitor": {"verified": False}},
    }  # fmt: skip
    assert len(tested.run.id) == len("test_") + 32
    assert tested.run.id.startswith("test_")
    keyset = KeySet.import_key_set({"keys": keys.published(world.fernhill.id)})
    claims = jwt.decode(request.headers["authorization"].removeprefix("Bearer "), keyset, algorithms=["ES256"]).claims
    assert claims["aud"] == "closeAccount"
    assert claims["anon"] is True
    assert claims["sub"] == claims["jti"] == tested.run.id
    assert {"turn", "approval"}.isdisjoint(claims)


def test_as_a_customer_of_a_conversation(world: World, served: ManifestServer) -> None:
    tested = call(
        "refundOrder",
        by=world.sam.actor,
        input_text='{"orderNumber": "ORD-1042", "reason": "late"}',
        subject="user_123",
        conversation=world.conversation.id,
    )
    context = json.loads(served.requests[0].body)["context"]
    assert context == {
        "conversationId": world.conversation.id,
        "risk": "high",
        "visitor": {"verified": True, "externalId": "user_123"},
    }
    run = ToolRun.objects.get()
    assert run == tested.run
    assert (run.started_by, run.by_name, run.tested_as, run.state) == ("test", "Sam Okafor", "user_123", "completed")
    assert (run.raw, run.http_status, run.headline != "") == ('{"left":3}', 200, True)
    assert run.conversation is None
    assert not Item.objects.filter(ref=run.id).exists()
    ended = Event.objects.get(subject_id=run.id)
    assert (ended.actor_kind, ended.data["started_by"], ended.data["by"]) == ("system", "test", "Sam Okafor")


def test_what_does_not_fit_is_never_sent(world: World, served: ManifestServer) -> None:
    for given, said in {
        "{": "The input is not JSON: Expecting property name enclosed in double quotes (line 1, column 2).",
        "[]": "The input must be an object, not an array.",
        "{}": "orderNumber is needed to run this.",
        '{"orderNumber": 5}': "orderNumber must be a string, not the number 5.",
        '{"orderNumber": "a", "orderNumber": "b"}': 'The input is not JSON: The key "orderNumber" stands twice.',
    }.items():
        with pytest.raises(DomainError) as refused:
            call("orderStatus", by=world.sam.actor, input_text=given)
        assert refused.value.message.startswith(said)
        assert (refused.value.status, refused.value.field) == (422, "input")
    with pytest.raises(DomainError) as refused:
        call("closeAccount", by=world.sam.actor, subject="x" * 256)
    assert refused.value.field == "as"
    assert (served.requests, ToolRun.objects.count()) == ([], 0)


def test_a_value_for_the_subject_is_logged_though_the_input_is_refused(world: World) -> None:
    subject: Json = {"name": "user", "place": "query"}
    draft(world, "http://127.0.0.1:9/stock", parameters=[parameter("sku", "query")], subject=subject)
    publish(world)
    with pytest.raises(BadTestInput, match="sku is needed to run this"):
        call("stockLevel", by=world.sam.actor, input_text='{"user": "somebody_else"}')
    assert Event.objects.get(kind="tool.subject_dropped").actor_name == "Sam Okafor"
    assert ToolRun.objects.count() == 0


def test_nobody_elses(world: World, served: ManifestServer) -> None:
    with pytest.raises(NotFound):
        call("closeAccount", by=world.mallory.actor)
    Tool.objects.filter(name="closeAccount").update(present=False)
    with pytest.raises(NotFound):
        call("closeAccount", by=world.sam.actor)
    with pytest.raises(NotFound):
        call("subscription", by=world.sam.actor, conversation="nothing")
    assert (served.requests, ToolRun.objects.count()) == ([], 0)


def test_a_refusal_and_a_failure(world: World, served: ManifestServer) -> None:
    served.result = b'{"ok":false,"reason":"not_found"}'
    refused = call("subscription", by=world.sam.actor)
    assert (refused.run.state, refused.run.refusal) == ("completed", {"reason": "not_found", "detail": ""})
    Endpoint.objects.filter(id=world.endpoint.id).update(url="http://127.0.0.1:9/tools")
    failed = call("subscription", by=world.sam.actor)
    assert (failed.run.state, failed.run.error) == ("failed", "The endpoint did not answer in time.")
    assert failed.run.detail == "All connection attempts failed"
    assert failed.exchange.outbound.url == "http://127.0.0.1:9/tools"
