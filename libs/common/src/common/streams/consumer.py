"""Consuming events: what the agent and the curator share.

Redis wakes, PostgreSQL remembers. A handler records its outcome with the memory service and the entry is always
acked, whatever happened: nothing is reclaimed from Redis, because the sweeper wakes what has not moved.

FastStream's subscribers die for good when their group is gone (FLUSHALL, an emptied server) and call again
without a pause when the server refuses them. So a watch looks every second: it creates lost groups at 0, starts
dead subscribers in process, and stops them while the server refuses.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from faststream import AckPolicy
from faststream.redis import RedisBroker, StreamSub
from pydantic import ValidationError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import EqualJitterBackoff, NoBackoff
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from common.clock import Clock
from common.events import EventAdapter, SessionClosed, TurnCompleted, TurnRequested
from common.logs import get_logger
from common.process.tasks import end_tasks
from common.streams.connection import connection_class
from common.streams.names import StreamGroup, stream_of
from common.streams.observation import HandlingMetrics, handling_span
from common.streams.sending import EventSender
from common.telemetry.metrics import Metrics
from common.telemetry.traces import failed

_log = get_logger(__name__)

AnyEvent = TurnRequested | TurnCompleted | SessionClosed

BLOCK_MS = 1_000
"""How long one read waits. An event ends the wait at once; a shutdown cancels it."""

_SOCKET_TIMEOUT = 10.0  # must exceed the block
_WATCH_INTERVAL = 1.0
_DATA_FIELD = b"__data__"  # FastStream's field of a stream entry


@dataclass(frozen=True)
class Subscription:
    """`workers` events of the group are handled at a time; a worker reads the next one when it is free."""

    source: StreamGroup
    handle: Callable[[AnyEvent], Awaitable[None]]
    workers: int


@dataclass
class _Slot:
    """One worker: a FastStream subscriber with a consumer name of its own, and whether its handler is at work."""

    source: StreamGroup
    consumer_name: str
    subscriber: Any = None
    busy: bool = False


@dataclass(frozen=True)
class _Entry:
    body: bytes
    headers: Mapping[str, str]


class EventConsumer:
    """The consumers of one process. It works whatever state Redis is in, also when it is not there yet."""

    def __init__(self, redis_url: str, subscriptions: Sequence[Subscription], clock: Clock, metrics: Metrics) -> None:
        self._subscriptions = subscriptions
        self._handling = HandlingMetrics(metrics, clock)
        self._broker = RedisBroker(
            redis_url,
            connection_class=connection_class(redis_url),
            socket_timeout=_SOCKET_TIMEOUT,
            socket_connect_timeout=2.0,
            retry=Retry(EqualJitterBackoff(cap=1.0, base=0.05), retries=20),
            retry_on_error=[ReadOnlyError],
            apply_types=False,
            logger=None,  # type: ignore[arg-type] # its messages quote entries; ours are below
            graceful_timeout=3_600.0,  # `stop` has the budget
        )
        self._sender = EventSender(self._broker, metrics)
        self._redis = Redis.from_url(
            redis_url,
            connection_class=connection_class(redis_url),
            socket_timeout=2.0,
            socket_connect_timeout=2.0,
            retry=Retry(NoBackoff(), 0),
        )
        self._slots = [
            self._subscribe(subscription, number)
            for subscription in subscriptions
            for number in range(subscription.workers)
        ]
        for subscription in subscriptions:
            self._handling.has_workers(subscription.source.stream, subscription.workers)
        self._watch_task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def start(self) -> None:
        """Begin to consume. Returns at once; `ready` tells when all subscribers run."""
        await self._broker.connect()
        self._watch_task = asyncio.create_task(self._watch(), name="consumer-watch")

    def alive(self) -> bool:
        """False once the watch has died of a bug: then nothing starts subscribers again, and only a new process
        helps."""
        return self._stopping.is_set() or self._watch_task is None or not self._watch_task.done()

    def subscribed(self) -> bool:
        """Whether every subscriber runs and none is being stopped."""
        return not self._stopping.is_set() and all(slot.subscriber.running for slot in self._slots)

    async def redis_answers(self) -> bool:
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False

    async def ready(self) -> bool:
        """Whether Redis answers and every subscriber runs."""
        return self.subscribed() and await self.redis_answers()

    async def publish(self, event: AnyEvent, *, within: float) -> bool:
        """Publish, best effort: False when it took longer than `within` seconds or failed."""
        try:
            async with asyncio.timeout(within):
                await self._sender.send(event)
        except (RedisError, OSError, TimeoutError) as error:
            _log.warning("event.not_published", event_type=event.type, turn_id=str(event.turn_id), error=error)
            return False
        return True

    async def stop(self, budget: float) -> bool:
        """Stop reading, let running handlers end for `budget` seconds, then cancel them.

        True when all ended by themselves.
        """
        self._stopping.set()
        if self._watch_task is not None:
            # Asked to end before it is cancelled: a cancellation inside a subscriber's start may be swallowed.
            await asyncio.wait((self._watch_task,), timeout=2.0)
            self._watch_task.cancel()
        drained = True
        try:
            async with asyncio.timeout(budget):
                await asyncio.gather(*(_stop_subscriber(slot.subscriber) for slot in self._slots))
        except TimeoutError:
            drained = False
            await end_tasks([task for slot in self._slots for task in slot.subscriber.tasks])
        await self._forget_consumers()
        with suppress(RedisError, OSError):
            await self._broker.stop()
        await self._redis.aclose()
        return drained

    def _subscribe(self, subscription: Subscription, number: int) -> _Slot:
        source = subscription.source
        slot = _Slot(source, f"{socket.gethostname()}-{os.getpid()}-{number}")
        slot.subscriber = self._broker.subscriber(
            stream=StreamSub(
                source.stream,
                group=source.group,
                consumer=slot.consumer_name,
                polling_interval=BLOCK_MS,
                max_records=1,
            ),
            ack_policy=AckPolicy.ACK,
            parser=_parse_any,
            decoder=_entry,
            no_reply=True,
        )

        async def receive(entry: _Entry) -> None:
            slot.busy = True
            try:
                await self._receive(subscription, entry)
            finally:
                slot.busy = False

        slot.subscriber(receive)
        return slot

    async def _receive(self, subscription: Subscription, entry: _Entry) -> None:
        stream = subscription.source.stream
        event = _parse_event(subscription.source, entry.body)
        if event is None:
            self._handling.malformed(stream)
            return
        with self._handling.of(event, stream) as handled, handling_span(event, stream, entry.headers) as current:
            try:
                await subscription.handle(event)
            except Exception as error:  # noqa: BLE001 - the edge: a bug must not stop the consumer
                handled.failed = True
                failed(current, type(error).__qualname__)
                _log.error("event.bug", event_type=event.type, turn_id=str(event.turn_id), error=error)

    async def _watch(self) -> None:
        while not self._stopping.is_set():
            for subscription in self._subscriptions:
                await self._look_after(subscription.source)
            with suppress(TimeoutError):
                async with asyncio.timeout(_WATCH_INTERVAL):
                    await self._stopping.wait()

    async def _look_after(self, source: StreamGroup) -> None:
        slots = [slot for slot in self._slots if slot.source == source]
        try:
            await self._create_group(source)
            for slot in slots:
                await self._revive(slot)
        except ResponseError as error:
            _log.error("group.refused", stream=source.stream, group=source.group, error=error)
            for slot in slots:
                slot.subscriber.running = False  # reads no more; a handler at work goes on
        except (RedisError, OSError, TimeoutError) as error:
            _log.warning("redis.unavailable", stream=source.stream, group=source.group, error=error)

    async def _revive(self, slot: _Slot) -> None:
        if slot.subscriber.running or slot.busy:
            return
        await _stop_subscriber(slot.subscriber)
        await slot.subscriber.start()
        _log.info("subscriber.started", stream=slot.source.stream, consumer=slot.consumer_name)

    async def _create_group(self, source: StreamGroup) -> None:
        try:
            await self._redis.xgroup_create(source.stream, source.group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):
                raise
        else:
            _log.info("group.created", stream=source.stream, group=source.group)

    async def _forget_consumers(self) -> None:
        """Take this process's consumer names out of the groups, so that restarts do not pile them up.

        What is still pending under them goes along; the sweeper wakes it, as for a killed process.
        """
        try:
            async with asyncio.timeout(1.0):
                for slot in self._slots:
                    await self._redis.xgroup_delconsumer(slot.source.stream, slot.source.group, slot.consumer_name)
        except (RedisError, OSError, TimeoutError) as error:
            _log.warning("consumers.not_forgotten", error=error)


async def _stop_subscriber(subscriber: Any) -> None:
    """Stop reading, let the handler end and ack, and see the reader end: one that goes on takes one more event and
    drops it."""
    readers = list(subscriber.tasks)  # its own stop forgets them
    await subscriber.stop()
    await end_tasks(readers)


def _parse_event(source: StreamGroup, body: bytes) -> AnyEvent | None:
    """The event, or None (and a log line) when the entry is not an event of this stream."""
    try:
        event = EventAdapter.validate_json(body)
    except ValidationError as error:
        reason = error.errors(include_input=False, include_url=False, include_context=False)[0]["type"]
        _log.warning("event.malformed", stream=source.stream, reason=reason)
        return None
    if stream_of(event) != source.stream:
        _log.warning("event.malformed", stream=source.stream, reason="wrong stream")
        return None
    return event


async def _parse_any(message: Any, original: Callable[[Any], Awaitable[Any]]) -> Any:
    """FastStream's parser, for entries it cannot read too: those get a body that is no event, and are acked."""
    try:
        return await original(message)
    except Exception:  # noqa: BLE001 - a foreign entry may hold any bytes; the parser promises no error type
        return await original({**message, "data": {_DATA_FIELD: b"unreadable"}})


async def _entry(message: Any) -> _Entry:
    # Whoever wrote the entry may have put anything there; traces read texts.
    texts = {name: value for name, value in message.headers.items() if isinstance(value, str)}
    return _Entry(bytes(message.body), texts)
