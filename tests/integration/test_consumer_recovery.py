"""The consumer against a real Valkey that loses everything: the same process consumes again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from tests.support.servers import ValkeyServer

from common.clock import SystemClock
from common.events import Cause, TurnRequested
from common.ids import new_id
from common.streams.consumer import AnyEvent, EventConsumer, Subscription
from common.streams.names import AGENT_GROUP, TURN_REQUESTED
from common.telemetry.metrics import Metrics
from common.telemetry.table import AGENT


def requested() -> TurnRequested:
    return TurnRequested(
        event_id=new_id(),
        tenant_id="t",
        user_id="u",
        session_id=new_id(),
        turn_id=new_id(),
        seq=1,
        purge_generation=0,
        occurred_at=datetime.now(UTC),
        cause=Cause.LIVE,
        run=0,
    )


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - a state outside this process has no event
            await asyncio.sleep(0.02)


class Seen:
    """Records what was handled."""

    def __init__(self) -> None:
        self.turns: list[UUID] = []

    async def handle(self, event: AnyEvent) -> None:
        assert event.turn_id is not None
        self.turns.append(event.turn_id)

    async def has(self, event: TurnRequested) -> bool:
        return event.turn_id in self.turns


@asynccontextmanager
async def consuming(
    url: str, handle: Callable[[AnyEvent], Awaitable[None]], workers: int = 2
) -> AsyncIterator[EventConsumer]:
    consumer = EventConsumer(url, [Subscription(AGENT_GROUP, handle, workers)], SystemClock(), Metrics(AGENT))
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop(5.0)


async def publish_from_outside(url: str, event: TurnRequested) -> None:
    """As the gateway does it: another process's broker."""
    async with RedisBroker(url, logger=None) as broker:  # type: ignore[arg-type]
        await broker.publish(event.model_dump(mode="json"), stream=TURN_REQUESTED)


async def pending(url: str) -> int:
    async with Redis.from_url(url) as client:
        return int((await client.xpending(TURN_REQUESTED, AGENT_GROUP.group))["pending"])


async def test_events_from_before_the_group_existed_are_handled(redis_url: str) -> None:
    early, seen = requested(), Seen()
    await publish_from_outside(redis_url, early)
    async with consuming(redis_url, seen.handle):
        await eventually(lambda: seen.has(early))


async def test_consumes_again_after_flushall(redis_url: str) -> None:
    seen = Seen()
    async with consuming(redis_url, seen.handle) as consumer, Redis.from_url(redis_url) as client:
        await eventually(consumer.ready)
        for _ in range(3):
            await client.flushall()
            event = requested()
            await publish_from_outside(redis_url, event)
            await eventually(lambda event=event: seen.has(event))  # type: ignore[misc]
            await eventually(consumer.ready)
    assert len(seen.turns) == 3


async def test_consumes_again_after_the_server_was_killed_and_came_back_empty(own_valkey: ValkeyServer) -> None:
    seen = Seen()
    async with consuming(own_valkey.url, seen.handle) as consumer:
        await eventually(consumer.ready)
        own_valkey.kill()
        assert not await consumer.ready()
        await own_valkey.start()
        event = requested()
        await publish_from_outside(own_valkey.url, event)
        await eventually(lambda: seen.has(event))
        await eventually(consumer.ready)


async def test_starts_before_its_server(own_valkey: ValkeyServer) -> None:
    own_valkey.kill()
    seen, event = Seen(), requested()
    async with consuming(own_valkey.url, seen.handle) as consumer:
        assert not await consumer.ready()
        await own_valkey.start()
        await publish_from_outside(own_valkey.url, event)
        await eventually(lambda: seen.has(event))


async def test_waits_while_the_server_refuses(redis_url: str) -> None:
    """The stream's name is taken by a string: the server answers every read with an error."""
    seen, event = Seen(), requested()
    async with Redis.from_url(redis_url) as client:
        await client.set(TURN_REQUESTED, "not a stream")
        async with consuming(redis_url, seen.handle) as consumer:
            before = int((await client.info("commandstats")).get("cmdstat_xreadgroup", {}).get("calls", 0))
            await asyncio.sleep(1.5)  # the time over which calls are counted
            after = int((await client.info("commandstats")).get("cmdstat_xreadgroup", {}).get("calls", 0))
            assert after - before < 20
            assert not await consumer.ready()
            await client.delete(TURN_REQUESTED)
            await publish_from_outside(redis_url, event)
            await eventually(lambda: seen.has(event))


@pytest.mark.parametrize(
    "fields",
    [
        {"__data__": b"\xff\xfe"},
        {"__data__": b"{"},
        {"__data__": b'{"type":"turn.requested"}'},
        {b"\xff": b"\xfe\x00"},
        {"id": "7", "data": "hello"},
        {"data": '{"type":"turn.requested","turn_id":null}'},
    ],
)
async def test_malformed_events_are_acked_and_the_work_goes_on(redis_url: str, fields: dict[str, bytes]) -> None:
    seen, event = Seen(), requested()
    async with consuming(redis_url, seen.handle, workers=1), Redis.from_url(redis_url) as client:
        await client.xadd(TURN_REQUESTED, fields)  # type: ignore[arg-type]
        await publish_from_outside(redis_url, event)
        await eventually(lambda: seen.has(event))
    assert seen.turns == [event.turn_id]
    assert await pending(redis_url) == 0


async def test_an_event_of_another_type_is_not_handled(redis_url: str) -> None:
    seen, event = Seen(), requested()
    wrong = event.model_dump(mode="json") | {"type": "session.closed", "turn_id": None}
    async with consuming(redis_url, seen.handle, workers=1):
        async with RedisBroker(redis_url, logger=None) as broker:  # type: ignore[arg-type]
            await broker.publish(wrong, stream=TURN_REQUESTED)
        await publish_from_outside(redis_url, event)
        await eventually(lambda: seen.has(event))
    assert seen.turns == [event.turn_id]


async def test_a_failing_handler_is_acked_and_the_next_event_is_handled(redis_url: str) -> None:
    seen, bad, good = Seen(), requested(), requested()

    async def handle(event: AnyEvent) -> None:
        if event.turn_id == bad.turn_id:
            raise RuntimeError("a bug")
        await seen.handle(event)

    async with consuming(redis_url, handle, workers=1):
        await publish_from_outside(redis_url, bad)
        await publish_from_outside(redis_url, good)
        await eventually(lambda: seen.has(good))
    assert await pending(redis_url) == 0


async def test_an_entry_is_acked_when_its_handler_has_ended(redis_url: str) -> None:
    """And not before: what a killed process had in hand is seen to be pending, and not taken for done."""
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: AnyEvent) -> None:
        started.set()
        await go_on.wait()

    async def none_is_pending() -> bool:
        return await pending(redis_url) == 0

    async with consuming(redis_url, slow, workers=1):
        await publish_from_outside(redis_url, requested())
        await started.wait()
        assert await pending(redis_url) == 1
        go_on.set()
        await eventually(none_is_pending)


async def test_a_busy_worker_takes_no_second_event(redis_url: str) -> None:
    """So that a free replica can have it."""
    first, second, seen = requested(), requested(), Seen()
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: AnyEvent) -> None:
        started.set()
        await go_on.wait()

    async with consuming(redis_url, slow, workers=1):
        await publish_from_outside(redis_url, first)
        await started.wait()
        await publish_from_outside(redis_url, second)
        async with consuming(redis_url, seen.handle, workers=1) as replica:
            await eventually(replica.ready)
            await eventually(lambda: seen.has(second))
            go_on.set()


async def test_stop_waits_for_the_handler_and_forgets_the_consumer(redis_url: str) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: AnyEvent) -> None:
        started.set()
        await asyncio.sleep(0.3)
        ended.set()

    consumer = EventConsumer(redis_url, [Subscription(AGENT_GROUP, slow, 2)], SystemClock(), Metrics(AGENT))
    await consumer.start()
    await publish_from_outside(redis_url, requested())
    await started.wait()
    assert await consumer.stop(5.0)
    assert ended.is_set()
    assert await pending(redis_url) == 0
    async with Redis.from_url(redis_url) as client:
        assert await client.xinfo_consumers(TURN_REQUESTED, AGENT_GROUP.group) == []


async def test_stop_says_when_the_budget_was_too_short(redis_url: str) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def stuck(_: AnyEvent) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    consumer = EventConsumer(redis_url, [Subscription(AGENT_GROUP, stuck, 1)], SystemClock(), Metrics(AGENT))
    await consumer.start()
    await publish_from_outside(redis_url, requested())
    await started.wait()
    assert not await consumer.stop(0.2)
    async with asyncio.timeout(2.0):
        await cancelled.wait()


async def test_stop_ends_a_reader_that_swallows_a_cancellation(redis_url: str) -> None:
    """As Python 3.11 does under redis-py; a reader that goes on takes an event and drops it."""
    started, swallowed, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(_: AnyEvent) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    consumer = EventConsumer(redis_url, [Subscription(AGENT_GROUP, stubborn, 1)], SystemClock(), Metrics(AGENT))
    await consumer.start()
    await publish_from_outside(redis_url, requested())
    await started.wait()
    assert not await consumer.stop(0.1)
    assert swallowed.is_set()
    assert ended.is_set()
