"""Syncs over real sockets: what is asked and signed, what each answer does to the stored tools, and who shares what."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from joserfc import jwt
from joserfc.jwk import KeySet
from standardwebhooks import Webhook

from median_site.lib import clock, secrets
from median_site.lib.actors import system
from team.models import Event
from tests.manifest_server import ManifestServer, manifest_server
from tests.socket_server import answer
from tests.world import SECRET, World
from tools import calls, endpoints, keys, manifest, sync
from tools.client import Client
from tools.models import Endpoint, EndpointSync, Tool

pytestmark = pytest.mark.django_db(transaction=True)

STOCK = {"name": "stockLevel", "description": "How many are left."}
PRICE = {"name": "price", "description": "What it costs.", "risk": "medium"}


@pytest.fixture
def served() -> Iterator[ManifestServer]:
    with manifest_server(STOCK, PRICE) as server:
        yield server


@pytest.fixture
def endpoint(world: World, served: ManifestServer) -> Endpoint:
    return add(world, served)


def add(world: World, served: ManifestServer) -> Endpoint:
    return Endpoint.objects.create(workspace=world.fernhill, url=served.url, sealed_secret=secrets.seal(SECRET))


def run(endpoint: Endpoint, **options: Any) -> EndpointSync:
    return asyncio.run(_run(endpoint, **options))


def run_again(endpoint: Endpoint) -> EndpointSync:
    """Run as if the last minute's syncs had not been."""
    EndpointSync.objects.filter(endpoint=endpoint).delete()
    return run(endpoint)


async def _run(endpoint: Endpoint, *, deadline_s: float = 10, **options: Any) -> EndpointSync:
    client = Client(allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS, deadline_s=deadline_s)
    calls._desks[asyncio.get_running_loop()] = calls._Desk(client)
    try:
        return await sync.run(endpoint.id, by=system(endpoint.workspace_id), **options)
    finally:
        await calls.close()


def stored(endpoint: Endpoint) -> dict[str, tuple[str, str, bool, bool]]:
    rows = Tool.objects.filter(endpoint=endpoint)
    return {row.name: (row.label, row.risk, row.switched_on, row.present) for row in rows}


def changes(row: EndpointSync) -> list[tuple[str, str]]:
    return [(change["tool"], change["change"]) for change in row.changes]


def test_it_is_signed_in_both_ways(world: World, served: ManifestServer, endpoint: Endpoint) -> None:
    endpoints.rotate_secret(
        endpoint.id, by=world.sam.actor, secret="whsec_" + "bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldw=="
    )
    run(endpoint)
    (request,) = served.requests
    assert (request.method, request.body) == ("GET", b"")
    for secret in (SECRET, "whsec_bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldw=="):
        with pytest.raises(json.JSONDecodeError):  # it verifies, and then wants JSON in the empty body
            Webhook(secret).verify(request.body, request.headers)
    token = request.headers["authorization"].removeprefix("Bearer ")
    keyset = KeySet.import_key_set({"keys": keys.published(world.fernhill.id)})
    claims = jwt.decode(token, keyset, algorithms=["ES256"]).claims
    assert claims["aud"] == "median:sync"
    assert claims["iss"] == world.fernhill.issuer
    assert claims["jti"] == claims["sub"] == request.headers["webhook-id"]
    assert claims["anon"] is True
    assert "turn" not in claims


def test_what_a_sync_changes(served: ManifestServer, endpoint: Endpoint) -> None:
    first = run(endpoint)
    assert changes(first) == [("stockLevel", "added"), ("price", "added")]
    assert stored(endpoint) == {
        "stockLevel": ("Stock level", "low", True, True),
        "price": ("Price", "medium", True, True),
    }
    hash_before = Tool.objects.get(name="price").content_hash
    Tool.objects.update(switched_on=False)

    served.tools = [{**PRICE, "risk": "high", "label": "Ask the price"}]
    second = run(endpoint)
    assert changes(second) == [("price", "changed"), ("stockLevel", "gone")]
    assert second.changes[0]["fields"] == [
        {"field": "label", "old": "Price", "new": "Ask the price"},
        {"field": "risk", "old": "medium", "new": "high"},
    ]
    assert second.summary == "1 changed, 1 gone; Ask the price is high risk now, was medium risk"
    assert stored(endpoint) == {
        "stockLevel": ("Stock level", "low", False, False),
        "price": ("Ask the price", "high", False, True),
    }
    assert Tool.objects.get(name="price").content_hash != hash_before

    served.tools = [STOCK, PRICE]
    third = run(endpoint)
    assert changes(third) == [("stockLevel", "back"), ("price", "changed")]
    assert stored(endpoint)["stockLevel"] == ("Stock level", "low", False, True)
    assert changes(run(endpoint)) == []
    kinds = Event.objects.filter(subject_id=endpoint.id).order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["endpoint.synced"] * 4


def test_one_tool_that_is_wrong_costs_no_other(served: ManifestServer, endpoint: Endpoint) -> None:
    bad, twice = {"name": "bad", "description": "x", "input": {"type": "string"}}, {**PRICE, "name": "twice"}
    served.tools = [STOCK, bad, PRICE, twice, twice]
    run(endpoint)
    endpoint.refresh_from_db()
    assert sorted(stored(endpoint)) == ["price", "stockLevel"]
    assert [(tool["name"], tool["path"], tool["code"]) for tool in endpoint.refused] == [
        ("bad", "/tools/1/input", "invalid_tool"),
        ("twice", "/tools/3/name", "duplicate_tool"),
        ("twice", "/tools/4/name", "duplicate_tool"),
    ]


def test_a_tool_that_is_wrong_now_is_not_left_as_it_was(served: ManifestServer, endpoint: Endpoint) -> None:
    run(endpoint)
    served.tools = [STOCK, {**PRICE, "risk": "hihg"}]
    assert changes(run(endpoint)) == [("price", "gone")]


def test_the_endpoint_that_had_a_name_first_keeps_it(world: World, served: ManifestServer, endpoint: Endpoint) -> None:
    run(endpoint)
    with manifest_server({**PRICE, "risk": "low"}, {"name": "colour", "description": "Its colour."}) as other_server:
        other_server.etag = '"one"'
        other = add(world, other_server)
        run(other)
        other.refresh_from_db()
        assert sorted(stored(other)) == ["colour"]
        assert Tool.objects.get(name="price").risk == "medium"
        assert other.refused == [
            {
                "name": "price",
                "path": "",
                "code": "name_taken",
                "reason": f"The name is taken: {served.url} had it first.",
            }
        ]
        # The name is free now: the same manifest is read again in full, and gives it.
        endpoints.remove(endpoint.id, by=world.sam.actor)
        run(other)
        other.refresh_from_db()
        assert (sorted(stored(other)), other.refused, other.etag) == (["colour", "price"], [], '"one"')


def test_the_tool_beyond_two_hundred_arrives_switched_off(
    world: World, served: ManifestServer, endpoint: Endpoint
) -> None:
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=world.endpoint, name=f"tool{n}", label="x", description="x",
             input_schema="{}", content_hash="x") for n in range(199 - 8)
    )  # fmt: skip
    row = run(endpoint)
    assert [(change["tool"], change["off"]) for change in row.changes] == [("stockLevel", False), ("price", True)]
    assert row.summary == "2 added; 1 left switched off"
    assert stored(endpoint)["price"] == ("Price", "medium", False, True)
    served.tools = [PRICE]
    run(endpoint)
    endpoints.switch("price", by=world.sam.actor, on=True)
    assert Tool.objects.usable().filter(workspace=world.fernhill).count() == 200


MANY = json.dumps({"version": 1, "tools": [{}] * 101}).encode()
FAILURES = {
    "bad_status": (answer(b"oh no", status="500 Internal Server Error"), "500"),
    "redirected": (answer(b"", "Location: http://127.0.0.1/", status="302 Found"), "It answered 302."),
    "unauthorized": (answer(b"no", status="401 Unauthorized"), "It answered 401."),
    "too_large": (answer(b" " * 1_000_001), "More came than is read."),
    "not_json": (answer(b"<html>"), "Expecting value (line 1, column 1)."),
    "invalid_manifest": (answer(b'{"version":2,"tools":[]}'), "/version: The version must be 1."),
    "too_many_tools": (answer(MANY), "/tools: A manifest has at most 100 tools."),
    "unreachable": (b"SSH-2.0-OpenSSH_9.2\r\n", None),
}  # fmt: skip
ODD = {
    "an odd status": (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", "bad_status"),
    "an upgrade": (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "unreachable"),
    "304 to nothing": (answer(status="304 Not Modified"), "bad_status"),
    "403": (answer(b"no", status="403 Forbidden"), "unauthorized"),
    "cut off": (b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{", "unreachable"),
    "an unknown packing": (answer(b"x", "Content-Encoding: lzma"), "not_json"),
    "an empty line": (b"\r\n", "unreachable"),
    "NUL": (answer(b"\0"), "not_json"),
}  # fmt: skip


def test_a_sync_that_fails_changes_nothing(served: ManifestServer, endpoint: Endpoint) -> None:
    run(endpoint)
    before, synced_at = stored(endpoint), Endpoint.objects.get(id=endpoint.id).synced_at
    for code, (said, detail) in FAILURES.items():
        served.raw = said
        row = run_again(endpoint)
        endpoint.refresh_from_db()
        assert (row.code, endpoint.failure, row.changes) == (code, code, [])
        assert detail in (None, row.detail)
        assert endpoint.failed_at is not None
        assert (stored(endpoint), endpoint.synced_at) == (before, synced_at)
    served.raw = b""
    run(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.failure, endpoint.failure_detail, endpoint.failed_at) == ("", "", None)


def test_whatever_comes_is_a_reason(served: ManifestServer, endpoint: Endpoint) -> None:
    came = {}
    for what, (said, _) in ODD.items():
        served.raw = said
        came[what] = run_again(endpoint).code
    assert came == {what: code for what, (_, code) in ODD.items()}


def test_information_before_the_answer_is_skipped(served: ManifestServer, endpoint: Endpoint) -> None:
    served.raw = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer(served.body)
    assert (run(endpoint).code, sorted(stored(endpoint))) == ("", ["price", "stockLevel"])


def test_too_late_and_not_public(served: ManifestServer, endpoint: Endpoint, settings: Any) -> None:
    served.hold()
    assert run(endpoint, deadline_s=0.3).code == "timeout"
    settings.MEDIAN_ALLOWED_NETWORKS = []
    assert run(endpoint).code == "blocked_address"
    assert len(served.requests) == 1


def test_nothing_new(served: ManifestServer, endpoint: Endpoint) -> None:
    served.etag = 'W/"v1"'
    run(endpoint)
    row = run(endpoint)
    assert served.requests[1].headers["if-none-match"] == 'W/"v1"'
    assert (row.code, row.changes) == ("", [])
    assert sorted(stored(endpoint)) == ["price", "stockLevel"]
    endpoints.change_url(endpoint.id, url=served.url + "?v=2", by=system(endpoint.workspace_id))
    run(endpoint)
    assert "if-none-match" not in served.requests[2].headers


def test_an_etag_that_is_none_is_not_kept(served: ManifestServer, endpoint: Endpoint) -> None:
    for served.etag in ["plain", '"caf\u00e9"', '"a", "b"', '"' + "x" * 300 + '"', '"a"b"']:
        assert [run_again(endpoint).code, run_again(endpoint).code] == ["", ""]
        assert Endpoint.objects.get(id=endpoint.id).etag == ""


def test_the_statements_are_as_many_for_a_hundred_tools_as_for_one(world: World) -> None:
    def statements(count: int, *, name: str, version: str = "") -> int:
        tools = [{"name": f"{name}{n}", "description": version or "New."} for n in range(count)]
        served = manifest.parse(json.dumps({"version": 1, "tools": tools}).encode())
        with CaptureQueriesContext(connection) as captured:
            sync.store(world.endpoint, served)
        return len(captured)

    assert statements(1, name="few") == statements(100, name="many") == 17
    assert statements(100, name="many", version="Changed.") == 16
    statements(1, name="few")
    assert statements(1, name="few", version="Changed.") == 16


def test_the_last_twenty_are_kept(world: World) -> None:
    served = manifest.parse(b'{"version":1,"tools":[]}')
    for minutes in range(25):
        with clock.at(clock.now() + timedelta(minutes=minutes)):
            last = sync.store(world.endpoint, served)
    ids = EndpointSync.objects.filter(endpoint=world.endpoint).order_by("-id").values_list("id", flat=True)
    assert list(ids) == [last.id - n for n in range(20)]
