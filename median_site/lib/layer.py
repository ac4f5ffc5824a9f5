"""The Channels layer: one broadcast that every process hears, each keeping what is for its own channels. At most once:
who may have missed something gets {"type": "layer.resync"}. What is worth sending is not decided here (live)."""

import asyncio
import json
import logging
import random
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import ClassVar, Final

import psycopg
import redis
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from psycopg.conninfo import make_conninfo
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from median_site.lib.db import in_thread

Message = dict[str, object]

BROADCAST: Final = "median"
RESYNC: Final = "layer.resync"
# PostgreSQL refuses a payload of 8,000 bytes.
PAYLOAD_LIMIT: Final = 8_000
# Messages that a channel holds for a slow reader, before they are dropped for one resync.
CAPACITY: Final = 1_000
# Seconds: between tries to hear again (doubling, jittered), and how long a new channel waits for the first.
PAUSES: Final = (0.1, 5.0)
FIRST_HEARING: Final = 5.0
# Seconds of quiet after which Redis is asked whether it is still there, and again until it is given up.
QUIET: Final = 15.0

log = logging.getLogger(__name__)


class MessageTooLarge(ValueError):
    """A layer carries doorbells; what it is about is read from the database."""


class _Ears:
    """The channels of one event loop, and the task that fills them."""

    def __init__(self, layer: "BroadcastLayer") -> None:
        self._layer = layer
        self.channels: dict[str, asyncio.Queue[Message]] = {}
        self.groups: dict[str, set[str]] = {}
        self.hearing = asyncio.Event()
        self.task = asyncio.create_task(self._listen(), name="channel layer")

    async def _listen(self) -> None:
        pause = PAUSES[0]
        while True:
            try:
                async with aclosing(self._layer._hear()) as payloads:
                    async for payload in payloads:
                        if payload is None:
                            pause = PAUSES[0]
                            self._begin()
                        else:
                            self._deliver(payload)
            except Exception as error:  # noqa: BLE001  # Whatever it was: a process that stays deaf is worse.
                log.warning("The channel layer hears nothing: %r", error)
            self.hearing.clear()
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311  # spreads load, keeps no secret
            pause = min(pause * 2, PAUSES[1])

    def _begin(self) -> None:
        """From here on everything is heard; what was sent before may have been missed."""
        self.hearing.set()
        for queue in self.channels.values():
            _put(queue, {"type": RESYNC})

    def _deliver(self, payload: str) -> None:
        try:
            envelope = json.loads(payload)
            message = envelope["message"]
            names = self.groups.get(envelope["group"], ()) if "group" in envelope else (envelope["channel"],)
        except (ValueError, TypeError, KeyError):
            log.warning("Somebody else speaks on the broadcast: %.200r", payload)
            return
        for name in names:
            if name in self.channels:
                _put(self.channels[name], message)

    def forget(self, channel: str) -> None:
        self.channels.pop(channel, None)
        for group in [group for group, names in self.groups.items() if channel in names]:
            self.leave(group, channel)

    def leave(self, group: str, channel: str) -> None:
        names = self.groups.get(group, set())
        names.discard(channel)
        if not names:
            self.groups.pop(group, None)


class BroadcastLayer(ABC):
    """What Channels asks of a layer (send, receive, new_channel, groups), and `notify` for code in a transaction."""

    extensions = ("groups",)
    # In a statement that rings by itself (lib.statement): SQL over `bell (of, message)`, and its value is for `rung`.
    RING: ClassVar[str]

    def __init__(self) -> None:
        self._by_loop: dict[asyncio.AbstractEventLoop, _Ears] = {}

    @abstractmethod
    def rung(self, value: object) -> None:
        """A statement gave this value for RING."""

    @abstractmethod
    def notify_all(self, messages: Sequence[tuple[str, Message]]) -> None:
        """Ring groups when the transaction commits, and not at all when it rolls back. Raises MessageTooLarge."""

    def notify(self, group: str, message: Message) -> None:
        self.notify_all([(group, message)])

    @abstractmethod
    def _publish(self, *payloads: str) -> None:
        """Broadcast on the spot (or with the transaction, where the broadcast has transactions)."""

    @abstractmethod
    def _hear(self) -> AsyncGenerator[str | None]:
        """First None, when nothing can be missed any more, then payloads. Raises, or ends, when something may be."""

    async def new_channel(self, prefix: str = "specific") -> str:
        """A channel that hears from here on, except while the broadcast is away: then a resync follows."""
        ears = self._ears()
        try:
            await asyncio.wait_for(ears.hearing.wait(), FIRST_HEARING)
        except TimeoutError:
            log.warning("A channel was opened while the channel layer hears nothing")
        name = f"{prefix}.{uuid.uuid4().hex}"
        ears.channels[name] = asyncio.Queue(CAPACITY)
        return name

    async def receive(self, channel: str) -> Message:
        """The next message. Cancelling it gives the channel up, as Channels expects."""
        ears = self._ears()
        queue = ears.channels.setdefault(channel, asyncio.Queue(CAPACITY))
        try:
            return await queue.get()
        except asyncio.CancelledError:
            ears.forget(channel)
            raise

    async def send(self, channel: str, message: Message) -> None:
        await in_thread(self._publish, _payload("channel", channel, message))

    async def group_send(self, group: str, message: Message) -> None:
        await in_thread(self._publish, _payload("group", group, message))

    async def group_add(self, group: str, channel: str) -> None:
        self._ears().groups.setdefault(group, set()).add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        self._ears().leave(group, channel)

    def _ears(self) -> _Ears:
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop = {open_loop: ears for open_loop, ears in self._by_loop.items() if not open_loop.is_closed()}
            self._by_loop[loop] = _Ears(self)
        return self._by_loop[loop]


class PostgresChannelLayer(BroadcastLayer):
    """LISTEN on a direct connection of its own; NOTIFY on Django's, so that a message is part of its transaction."""

    RING = f"count(pg_notify('{BROADCAST}', jsonb_build_object('group', bell.of, 'message', bell.message)::text))"

    def rung(self, value: object) -> None:
        """The statement has notified."""

    def notify_all(self, messages: Sequence[tuple[str, Message]]) -> None:
        self._publish(*_payloads(messages))

    def _publish(self, *payloads: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, each) FROM unnest(%s::text[]) AS each", [BROADCAST, list(payloads)])

    async def _hear(self) -> AsyncGenerator[str | None]:
        async with await psycopg.AsyncConnection.connect(_conninfo(), autocommit=True) as listener:
            await listener.execute(f"LISTEN {BROADCAST}")
            yield None
            async with aclosing(listener.notifies()) as notifications:
                async for notification in notifications:
                    yield notification.payload


class RedisChannelLayer(BroadcastLayer):
    """Pub/sub on one Redis channel. channels-redis does not tell that its listener was away, and pages stay behind."""

    RING = "json_agg(json_build_array(bell.of, bell.message))::text"

    def rung(self, value: object) -> None:
        self.notify_all([(group, message) for group, message in json.loads(str(value))])

    def __init__(self) -> None:
        super().__init__()
        self._client = redis.Redis.from_url(settings.MEDIAN_REDIS_URL, socket_timeout=2, socket_connect_timeout=2)

    def notify_all(self, messages: Sequence[tuple[str, Message]]) -> None:
        """A failure of Redis is logged: what happened has happened, and pages catch up when it is back."""
        payloads = _payloads(messages)
        transaction.on_commit(lambda: self._publish(*payloads), robust=True)

    def _publish(self, *payloads: str) -> None:
        with self._client.pipeline(transaction=False) as pipeline:
            for payload in payloads:
                pipeline.publish(BROADCAST, payload)
            pipeline.execute()

    async def _hear(self) -> AsyncGenerator[str | None]:
        # No silent retry: a connection that was away is a resync.
        client = AsyncRedis.from_url(settings.MEDIAN_REDIS_URL, socket_timeout=None, retry=Retry(NoBackoff(), 0))
        async with client, client.pubsub() as pubsub:
            await pubsub.subscribe(BROADCAST)
            asked = False
            while True:
                event = await pubsub.get_message(timeout=QUIET)
                if event is None and asked:
                    return
                asked = event is None
                if event is None:
                    await pubsub.ping()
                elif event["type"] == "subscribe":
                    yield None
                elif event["type"] == "message":
                    yield event["data"].decode()


def current() -> BroadcastLayer:
    """The layer of the settings."""
    layer = get_channel_layer()
    if not isinstance(layer, BroadcastLayer):
        raise ImproperlyConfigured("CHANNEL_LAYERS must name a layer of median_site.lib.layer.")
    return layer


def _payloads(messages: Sequence[tuple[str, Message]]) -> list[str]:
    return [_payload("group", group, message) for group, message in messages]


def _payload(kind: str, name: str, message: Mapping[str, object]) -> str:
    payload = json.dumps({kind: name, "message": message}, ensure_ascii=False, separators=(",", ":"))
    size = len(payload.encode())
    if size >= PAYLOAD_LIMIT:
        raise MessageTooLarge(f"A message to {name} has {size:,} bytes; fewer than {PAYLOAD_LIMIT:,} can be carried.")
    return payload


def _put(queue: asyncio.Queue[Message], message: Message) -> None:
    """A full queue's reader has to look for itself what it missed."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        message = {"type": RESYNC}
    queue.put_nowait(message)


def _conninfo() -> str:
    """Where Django connects to; a server that is gone without a word is noticed within half a minute."""
    params = connection.get_connection_params()
    params |= {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
    not_libpqs = {"cursor_factory", "context", "prepare_threshold"}
    return make_conninfo(**{name: str(value) for name, value in params.items() if name not in not_libpqs})
