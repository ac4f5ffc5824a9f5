"""Who shares a sync, who waits for one, how many may go out, and what happens when several are under way at once."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TypeVar

import pytest
from django.db import connections

from agent.models.demo import DemoModel
from median_site.lib import clock, secrets
from median_site.lib.actors import system
from median_site.lib.errors import NotFound
from team.models import Event
from tests import agent_process
from tests.manifest_server import ManifestServer, manifest_server
from tests.waiting import until
from tests.world import SECRET, World
from tools import calls, endpoints, jobs, sync, sync_log
from tools.models import Endpoint, EndpointSync, Tool

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")
STOCK = {"name": "stockLevel", "description": "How many are left."}


@pytest.fixture
def served() -> Iterator[ManifestServer]:
    with manifest_server(STOCK) as server:
        yield server


@pytest.fixture
def endpoint(world: World, served: ManifestServer) -> Endpoint:
    return add(world, served)


def add(world: World, served: ManifestServer) -> Endpoint:
    return Endpoint.objects.create(workspace=world.fernhill, url=served.url, sealed_secret=secrets.seal(SECRET))


async def several(endpoint: Endpoint, count: int, *, fresh: bool) -> list[EndpointSync]:
    by = system(endpoint.workspace_id)
    try:
        return list(await asyncio.gather(*(sync.run(endpoint.id, by=by, fresh=fresh) for _ in range(count))))
    finally:
        await calls.close()


def one(endpoint: Endpoint, *, fresh: bool = True) -> EndpointSync:
    try:
        return asyncio.run(several(endpoint, 1, fresh=fresh))[0]
    finally:
        connections.close_all()


def test_conversations_that_start_together_share_one_fetch(served: ManifestServer, endpoint: Endpoint) -> None:
    rows = asyncio.run(several(endpoint, 20, fresh=False))
    assert len(served.requests) == 1
    assert {row.id for row in rows} == {EndpointSync.objects.get(endpoint=endpoint).id}


def test_so_do_those_of_other_processes(served: ManifestServer, endpoint: Endpoint) -> None:
    release = served.hold()
    with ThreadPoolExecutor(4) as threads:
        flights = [threads.submit(one, endpoint, fresh=False) for _ in range(4)]
        until(lambda: served.requests)
        release.set()
        rows = [flight.result(10) for flight in flights]
    assert len(served.requests) == 1
    assert {(row.id, row.code) for row in rows} == {(rows[0].id, "")}
    assert all(row.ended_at for row in rows)


def test_one_of_the_last_five_seconds_is_reused(served: ManifestServer, endpoint: Endpoint) -> None:
    first = one(endpoint)
    assert one(endpoint, fresh=False).id == first.id
    EndpointSync.objects.filter(id=first.id).update(ended_at=clock.now() - timedelta(seconds=6))
    assert one(endpoint, fresh=False).id != first.id
    assert len(served.requests) == 2


def test_a_failure_is_not_reused_and_a_press_reuses_nothing(served: ManifestServer, endpoint: Endpoint) -> None:
    served.raw = b"nonsense\r\n\r\n"
    one(endpoint)
    served.raw = b""
    assert one(endpoint, fresh=False).code == ""
    assert one(endpoint).code == ""
    assert len(served.requests) == 3


def test_a_sync_whose_process_died_is_waited_for_no_longer(served: ManifestServer, endpoint: Endpoint) -> None:
    lost = sync_log.begin(endpoint.id, by=system(endpoint.workspace_id), fresh=True).row
    EndpointSync.objects.filter(id=lost.id).update(at=clock.now() - timedelta(seconds=10.8))
    waited = one(endpoint, fresh=False)
    assert (waited.id, waited.ended_at, served.requests) == (lost.id, None, [])
    assert waited.at < clock.now() - timedelta(seconds=11)
    assert one(endpoint, fresh=False).id != lost.id
    assert len(served.requests) == 1


def test_ten_a_minute_over_all_processes(served: ManifestServer, endpoint: Endpoint) -> None:
    with ThreadPoolExecutor(5) as threads:
        rows = list(threads.map(lambda _: one(endpoint), range(14)))
    assert len(served.requests) == 10
    assert sorted(row.code for row in rows) == [""] * 10 + ["rate_limited"] * 4
    assert one(endpoint).code == "rate_limited"
    endpoint.refresh_from_db()
    assert endpoint.failure == "rate_limited"
    # However many come, the history keeps one row of it and the log one event.
    assert EndpointSync.objects.filter(endpoint=endpoint, code="rate_limited").count() == 1
    assert Event.objects.filter(subject_id=endpoint.id, kind="endpoint.sync_failed").count() == 1
    EndpointSync.objects.update(at=clock.now() - timedelta(seconds=61))
    assert one(endpoint).code == ""


def test_an_older_manifest_never_replaces_a_newer_one(served: ManifestServer, endpoint: Endpoint) -> None:
    release = served.hold()
    with ThreadPoolExecutor(1) as threads:
        older = threads.submit(one, endpoint)
        until(lambda: served.requests)
        served.tools = [{**STOCK, "description": "Newer."}]
        assert one(endpoint).code == ""
        release.set()
        outcome = older.result(10)
        assert (outcome.code, outcome.changes) == ("", [])
    assert Tool.objects.get(name="stockLevel").description == "Newer."
    endpoint.refresh_from_db()
    assert endpoint.failure == ""


@pytest.mark.parametrize("what", ["moved", "removed"])
def test_what_comes_of_an_address_that_is_left_is_not_used(
    what: str, world: World, served: ManifestServer, endpoint: Endpoint
) -> None:
    release = served.hold()
    with ThreadPoolExecutor(1) as threads:
        flight = threads.submit(one, endpoint)
        until(lambda: served.requests)
        if what == "moved":
            endpoints.change_url(endpoint.id, url="http://127.0.0.1:9/else", by=world.sam.actor)
        else:
            endpoints.remove(endpoint.id, by=world.sam.actor)
        release.set()
        assert flight.result(10).code == "superseded"
    assert not Tool.objects.filter(name="stockLevel").exists()
    if what == "removed":
        with pytest.raises(NotFound):
            one(endpoint)


def test_two_endpoints_that_race_for_names(world: World) -> None:
    names = [f"shared{number}" for number in range(30)]
    tools = [{"name": name, "description": "Shared."} for name in names]
    with manifest_server(*tools) as left, manifest_server(*reversed(tools)) as right:
        rivals = [add(world, left), add(world, right)]
        for _ in range(4):
            Tool.objects.filter(name__in=names).delete()
            with ThreadPoolExecutor(2) as threads:
                assert [row.code for row in threads.map(one, rivals)] == ["", ""]
            owners = set(Tool.objects.filter(name__in=names).values_list("endpoint_id", flat=True))
            assert Tool.objects.filter(name__in=names, present=True).count() == 30
            assert len(owners) == 1
            refused = {row.id: len(row.refused) for row in Endpoint.objects.filter(id__in=[each.id for each in rivals])}
            assert refused == {each.id: 0 if each.id in owners else 30 for each in rivals}
            EndpointSync.objects.all().delete()


def test_switches_pressed_while_syncs_store_are_kept(world: World, served: ManifestServer, endpoint: Endpoint) -> None:
    one(endpoint)

    def press(number: int) -> None:
        try:
            if number % 2:
                served.tools = [{**STOCK, "description": f"Version {number}."}]
                one(endpoint)
            else:
                endpoints.switch("stockLevel", by=world.sam.actor, on=False)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(press, range(8)))
    assert not Tool.objects.get(name="stockLevel").switched_on


def test_one_endpoint_that_breaks_keeps_no_reply(world: World, served: ManifestServer, endpoint: Endpoint) -> None:
    Endpoint.objects.filter(id=world.endpoint.id).update(sealed_secret="v1.broken")

    async def first_reply() -> None:
        await sync.run_all(world.fernhill.id)
        await calls.close()

    asyncio.run(first_reply())
    assert Tool.objects.get(name="stockLevel").present


def test_quiet_workspaces_are_synced_by_the_agent_process(
    world: World, served: ManifestServer, endpoint: Endpoint
) -> None:
    Endpoint.objects.filter(id=world.endpoint.id).update(removed_at=clock.now())
    assert jobs.hourly() == {"syncs": 1, "secrets": 0, "keys": 0}
    assert served.requests == []
    with agent_process.in_thread(DemoModel()):
        until(lambda: EndpointSync.objects.filter(endpoint=endpoint, code="").exclude(ended_at=None))
    endpoint.refresh_from_db()
    assert endpoint.sync_due_at is None
    assert len(served.requests) == 1
    assert jobs.hourly()["syncs"] == 0  # it was in step a moment ago
    with clock.at(clock.now() + timedelta(minutes=31)):
        assert jobs.hourly()["syncs"] == 1


def test_each_sync_that_is_due_goes_to_one_process(world: World) -> None:
    Endpoint.objects.bulk_create(
        Endpoint(workspace=world.fernhill, url=f"https://a.example/{n}", sealed_secret="x", sync_due_at=clock.now())
        for n in range(20)
    )

    def work(take: Callable[[], T]) -> T:
        try:
            return take()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        taken = list(threads.map(lambda _: work(lambda: sync.claim_due(limit=5)), range(8)))
    ids = [endpoint_id for each in taken for _, endpoint_id in each]
    assert len(ids) == len(set(ids)) == 20
