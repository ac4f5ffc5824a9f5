"""The channel layer on real PostgreSQL and, where redis-server is installed, on real Redis: what is heard, and when."""

import logging
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from django.db import connection, transaction
from pytest_django import Settings

from median_site.lib import layer as layers
from median_site.lib.db import in_thread
from median_site.lib.layer import BroadcastLayer, MessageTooLarge, PostgresChannelLayer, RedisChannelLayer
from team.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)

REDIS = shutil.which("redis-server")
RESYNC = {"type": "layer.resync"}


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of these tests' own, since they cut its connections."""
    assert REDIS is not None
    path = tmp_path_factory.mktemp("redis") / "sock"
    command = [REDIS, "--port", "0", "--unixsocket", str(path), "--save", "", "--appendonly", "no"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if "ready to accept connections" in line.lower():
                break
        yield f"unix://{path}"
        server.terminate()
        server.stdout.read()


@pytest.fixture(params=["postgres", *(["redis"] if REDIS else [])])
def layer(request: pytest.FixtureRequest, settings: Settings) -> BroadcastLayer:
    if request.param == "postgres":
        return PostgresChannelLayer()
    settings.MEDIAN_REDIS_URL = request.getfixturevalue("redis_url")
    return RedisChannelLayer()


@pytest.fixture
def cut(layer: BroadcastLayer) -> Callable[[], None]:
    """Cuts every listener's connection from the server's side."""

    def cut_postgres() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query = 'LISTEN median'"
            )
            assert cursor.fetchall() == [(True,)]

    def cut_redis() -> None:
        assert isinstance(layer, RedisChannelLayer)
        assert layer._client.client_kill_filter(_type="pubsub") == 1

    return cut_postgres if isinstance(layer, PostgresChannelLayer) else cut_redis


def in_transaction(layer: BroadcastLayer, group: str, *numbers: int, fails: bool = False) -> None:
    """Rings `group` for each number in one transaction that also writes a workspace named like it."""
    try:
        with transaction.atomic():
            Workspace.objects.create(slug=uuid.uuid4().hex, name=group)
            for number in numbers:
                layer.notify(group, {"type": "bell", "number": number})
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails


async def test_heard_once_each_and_in_order_after_the_commit(layer: BroadcastLayer) -> None:
    channel = await layer.new_channel()
    await layer.group_add("workspace.a", channel)

    await in_thread(in_transaction, layer, "workspace.a", 1, 2, 3)
    await in_thread(in_transaction, layer, "workspace.a", 4)

    assert [(await layer.receive(channel))["number"] for _ in range(4)] == [1, 2, 3, 4]
    await layer.send(channel, {"type": "last"})
    assert await layer.receive(channel) == {"type": "last"}


async def test_a_rollback_rings_nothing(layer: BroadcastLayer) -> None:
    channel = await layer.new_channel()
    await layer.group_add("workspace.a", channel)

    def roll_back() -> None:
        in_transaction(layer, "workspace.a", 1, fails=True)

    await in_thread(roll_back)
    await layer.group_send("workspace.a", {"type": "next"})

    assert await layer.receive(channel) == {"type": "next"}


async def test_nothing_is_heard_before_the_commit(layer: BroadcastLayer) -> None:
    channel = await layer.new_channel()
    await layer.group_add("workspace.a", channel)

    def ring_and_meanwhile() -> None:
        with transaction.atomic():
            layer.notify("workspace.a", {"type": "inside"})
            other_connection()

    def other_connection() -> None:
        # From a connection of its own, so that it is out before the transaction ends.
        if isinstance(layer, RedisChannelLayer):
            layer._publish(layers._payload("channel", channel, {"type": "meanwhile"}))
        else:
            with connection.copy().cursor() as cursor:
                payload = layers._payload("channel", channel, {"type": "meanwhile"})
                cursor.execute("SELECT pg_notify('median', %s)", [payload])
                cursor.connection.close()

    await in_thread(ring_and_meanwhile)

    assert [(await layer.receive(channel))["type"] for _ in range(2)] == ["meanwhile", "inside"]


async def test_only_members_of_the_group_hear(layer: BroadcastLayer) -> None:
    here, elsewhere, gone = [await layer.new_channel() for _ in range(3)]
    await layer.group_add("workspace.a", here)
    await layer.group_add("workspace.b", elsewhere)
    await layer.group_add("workspace.a", gone)
    await layer.group_discard("workspace.a", gone)

    await layer.group_send("workspace.a", {"type": "for a"})
    for channel in (elsewhere, gone):
        await layer.send(channel, {"type": "direct"})

    assert await layer.receive(here) == {"type": "for a"}
    assert await layer.receive(elsewhere) == {"type": "direct"}
    assert await layer.receive(gone) == {"type": "direct"}


async def test_twenty_kilobytes_are_refused_and_the_transaction_goes_on(layer: BroadcastLayer) -> None:
    channel = await layer.new_channel()
    await layer.group_add("workspace.a", channel)

    def ring() -> None:
        with transaction.atomic():
            with pytest.raises(MessageTooLarge, match=r"has 20,\d\d\d bytes; fewer than 8,000 can be carried"):
                layer.notify("workspace.a", {"type": "large", "text": "x" * 20_000})
            layer.notify("workspace.a", {"type": "small", "text": "ä" * 3_900})

    await in_thread(ring)

    assert await layer.receive(channel) == {"type": "small", "text": "ä" * 3_900}


async def test_a_lost_listener_comes_back_and_says_so(layer: BroadcastLayer, cut: Callable[[], None]) -> None:
    first, second = await layer.new_channel(), await layer.new_channel()
    await layer.group_add("workspace.a", first)

    await in_thread(cut)

    assert await layer.receive(first) == RESYNC
    assert await layer.receive(second) == RESYNC
    await layer.group_send("workspace.a", {"type": "again"})
    assert await layer.receive(first) == {"type": "again"}


async def test_a_full_channel_is_emptied_for_one_resync(layer: BroadcastLayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CAPACITY", 3)
    full, probe = await layer.new_channel(), await layer.new_channel()
    await layer.group_add("workspace.a", full)

    await in_thread(in_transaction, layer, "workspace.a", 1, 2, 3, 4, 5)
    await layer.send(probe, {"type": "all delivered"})
    await layer.receive(probe)

    assert await layer.receive(full) == RESYNC
    assert await layer.receive(full) == {"type": "bell", "number": 5}


async def test_what_others_say_on_the_broadcast_is_passed_over(layer: BroadcastLayer) -> None:
    channel = await layer.new_channel()

    for payload in ("not json", "[]", "{}", '{"group": 1}'):
        await in_thread(layer._publish, payload)
    await layer.send(channel, {"type": "ours"})

    assert await layer.receive(channel) == {"type": "ours"}


def test_without_redis_the_change_stands_and_the_failure_is_logged(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MEDIAN_REDIS_URL = f"unix://{tmp_path}/nobody-listens"
    layer = RedisChannelLayer()

    with caplog.at_level(logging.ERROR, logger="django.db.backends.base"):
        in_transaction(layer, "workspace.a", 1)

    assert Workspace.objects.filter(name="workspace.a").count() == 1
    [record] = caplog.records
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], redis.ConnectionError)
