"""Endpoints: adding, moving, rotating the secret, removing; and the switches of tools."""

import asyncio
import time
from datetime import timedelta

import pytest
from django.db import connections
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from approvals.models import State, ToolApproval
from median_site.lib import clock
from median_site.lib.actors import system
from median_site.lib.errors import DomainError, NotFound
from team.models import Event
from tests.approvals import requests
from tests.manifest_server import manifest_server
from tests.world import SECRET, World
from tools import calls, endpoints, jobs, signing, sync
from tools.models import Endpoint, Tool
from tools.roster import TooManySwitchedOn

OTHER = "whsec_" + "b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVy"


def accepts(secret: str, endpoint: Endpoint) -> bool:
    """Whether a server that knows this secret takes what is signed now."""
    headers = signing.webhook_headers(
        endpoints.signing_secrets(endpoint), call_id="call_1", timestamp=int(time.time()), body=b"{}"
    )
    try:
        Webhook(secret).verify(b"{}", headers)
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.parametrize(
    "secret", ["", " ", "whsec_", "whsec_ ", "whsec_c2hvcnQ=", "b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVy", "whsec_!!!!"]
)
def test_a_secret_that_is_none_is_refused(secret: str, world: World) -> None:
    for change in (
        lambda: endpoints.add("http://127.0.0.1:8/tools", by=world.sam.actor, secret=secret),
        lambda: endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor, secret=secret),
    ):
        with pytest.raises(DomainError) as refused:
            change()
        assert (refused.value.code, refused.value.field, refused.value.status) == ("invalid_secret", "secret", 422)
    assert Endpoint.objects.count() == 1
    assert accepts(SECRET, Endpoint.objects.get())


def test_both_secrets_sign_for_a_day(world: World) -> None:
    endpoint, new = endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor)
    assert signing.parse_secret(new)
    assert endpoint.old_secret_until is not None
    assert abs(endpoint.old_secret_until - clock.now() - timedelta(hours=24)) < timedelta(seconds=5)
    assert (accepts(new, endpoint), accepts(SECRET, endpoint)) == (True, True)
    with clock.at(endpoint.old_secret_until):
        assert (accepts(new, endpoint), accepts(SECRET, endpoint)) == (True, False)
        assert jobs.hourly()["secrets"] == 1
    endpoint.refresh_from_db()
    assert endpoint.sealed_old_secret == ""
    assert new not in endpoint.sealed_secret
    event = Event.objects.get(kind="endpoint.changed")
    assert event.data == {"url": endpoint.url, "what": "secret"}


def test_stopping_the_old_one(world: World) -> None:
    _, new = endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor, secret=OTHER)
    for _ in range(2):
        endpoint = endpoints.stop_old_secret(world.endpoint.id, by=world.sam.actor)
    assert (new, accepts(OTHER, endpoint), accepts(SECRET, endpoint)) == (OTHER, True, False)
    kinds = Event.objects.filter(kind="endpoint.changed").order_by("id")
    assert [event.data["what"] for event in kinds] == ["secret", "old_secret_stopped"]


def test_a_second_rotation_ends_the_first(world: World) -> None:
    endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor, secret=OTHER)
    endpoint, newest = endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor)
    assert [accepts(secret, endpoint) for secret in (newest, OTHER, SECRET)] == [True, True, False]
    with pytest.raises(DomainError, match="The endpoint has this secret already."):
        endpoints.rotate_secret(world.endpoint.id, by=world.sam.actor, secret=newest)


def test_moving(world: World) -> None:
    Endpoint.objects.update(etag='"v1"')
    for _ in range(2):
        endpoints.change_url(world.endpoint.id, url="http://127.0.0.1:8/else", by=world.sam.actor)
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.etag) == ("http://127.0.0.1:8/else", "")
    assert Event.objects.get(kind="endpoint.changed").data == {
        "url": "http://127.0.0.1:8/else", "was": "http://127.0.0.1:9/tools", "what": "url",
    }  # fmt: skip
    endpoints.add("http://127.0.0.1:7/tools", by=world.sam.actor)
    with pytest.raises(DomainError, match="This endpoint is in the list already.") as refused:
        endpoints.change_url(endpoint.id, url="http://127.0.0.1:7/tools", by=world.sam.actor)
    assert (refused.value.code, refused.value.field) == ("endpoint_exists", "url")
    with pytest.raises(DomainError) as refused:
        endpoints.change_url(endpoint.id, url="http://10.0.0.5/tools", by=world.sam.actor)
    assert refused.value.field == "url"


def test_nobody_elses(world: World) -> None:
    by = world.mallory.actor
    for change in (
        lambda: endpoints.find(by, world.endpoint.id),
        lambda: endpoints.change_url(world.endpoint.id, url="http://127.0.0.1:8/else", by=by),
        lambda: endpoints.rotate_secret(world.endpoint.id, by=by),
        lambda: endpoints.stop_old_secret(world.endpoint.id, by=by),
        lambda: endpoints.remove(world.endpoint.id, by=by),
        lambda: endpoints.switch("refundOrder", by=by, on=False),
    ):
        with pytest.raises(NotFound):
            change()
    endpoint = Endpoint.objects.get()
    assert (endpoint.url, endpoint.is_rotating, endpoint.removed_at) == (world.endpoint.url, False, None)
    assert world.tool("refundOrder").switched_on


@pytest.mark.django_db(transaction=True)
def test_removing_expires_what_waits(world: World) -> None:
    waiting = requests.request(world)
    endpoints.remove(world.endpoint.id, by=world.sam.actor)
    assert ToolApproval.objects.get(id=waiting.id).state == State.EXPIRED
    assert requests.lines_of(world)[-1] == "the request to run Refund order expired because its endpoint was removed"
    assert not Tool.objects.usable().filter(workspace=world.fernhill).exists()
    with pytest.raises(NotFound):
        endpoints.remove(world.endpoint.id, by=world.sam.actor)


def test_at_most_two_hundred_are_switched_on(world: World) -> None:
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=world.endpoint, name=f"tool{n}", label="x", description="x",
             input_schema="{}", content_hash="x", switched_on=n < 192) for n in range(193)
    )  # fmt: skip
    with pytest.raises(TooManySwitchedOn, match="A workspace has at most 200 tools switched on."):
        endpoints.switch("tool192", by=world.sam.actor, on=True)
    endpoints.switch("tool0", by=world.sam.actor, on=False)
    endpoints.switch("tool192", by=world.sam.actor, on=True)


@pytest.mark.django_db(transaction=True)
def test_a_server_that_knows_either_secret_syncs_while_it_is_changed(world: World) -> None:
    """Old and new verify over the wire during the rotation, the old one not after it."""
    with manifest_server({"name": "stockLevel", "description": "How many."}) as served:
        endpoint, old = endpoints.add(served.url, by=world.sam.actor)
        _, new = endpoints.rotate_secret(endpoint.id, by=world.sam.actor)

        async def one() -> None:
            await sync.run(endpoint.id, by=system(endpoint.workspace_id))
            await calls.close()

        asyncio.run(one())
        endpoints.stop_old_secret(endpoint.id, by=world.sam.actor)
        asyncio.run(one())
        connections.close_all()
        during, after = (request.headers["webhook-signature"].split() for request in served.requests)
        assert (len(during), len(after)) == (2, 1)
        sent = served.requests[1].headers
        stamp = int(sent["webhook-timestamp"])
        expected = signing.webhook_headers([new], call_id=sent["webhook-id"], timestamp=stamp, body=b"")
        assert after == [expected["webhook-signature"]]
        assert old not in new
