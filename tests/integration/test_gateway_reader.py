"""What the reader asks of Redis: not more for many turns, many entries and many clients than it must."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from tests.support.event_stream import Received, event_stream
from tests.support.servers import ValkeyServer
from tests.support.serving import running_gateway
from tests.support.waiting import wait_for

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api.base import Owner
from common.memory_api.turns import StepView, TurnStatus, TurnView
from common.streams.progress import ProgressEvent, ProgressWriter
from gateway.events.entry import START, ProgressEntry
from gateway.events.reader import REST_SECONDS_PER_TURN, ProgressReader
from gateway.events.watch import Watch

ALICE = Owner(tenant_id="shop", user_id="alice")


class HeldClock(SystemClock):
    """Whoever sleeps does so until the test lets go."""

    def __init__(self) -> None:
        self.sleeping: list[float] = []
        self._let_go = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.sleeping.append(seconds)
        await self._let_go.wait()

    def let_go(self) -> None:
        self._let_go.set()


@pytest.fixture
async def redis(own_valkey: ValkeyServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(own_valkey.url) as client:
        yield client


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
async def reader(redis: Redis, clock: HeldClock) -> AsyncIterator[ProgressReader]:
    reader = ProgressReader(redis, redis, clock, new_id, queue_length=1_000, jitter=lambda: 0.0)
    async with running_reader(reader):
        yield reader


@asynccontextmanager
async def running_reader(reader: ProgressReader) -> AsyncIterator[None]:
    running = asyncio.create_task(reader.run())
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def write(redis: Redis, turn_id: UUID, entries: int) -> None:
    writer = ProgressWriter(redis, turn_id)
    for _ in range(entries):
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "好"})


async def read(watch: Watch, entries: int) -> None:
    for _ in range(entries):
        assert isinstance(await watch.next(20), ProgressEntry)


async def calls(redis: Redis, command: str) -> int:
    statistics = await redis.info("commandstats")
    return int(statistics.get(f"cmdstat_{command}", {"calls": 0})["calls"])


async def test_one_read_brings_what_was_written_while_the_reader_rested(
    reader: ProgressReader, redis: Redis, clock: HeldClock
) -> None:
    first, second = new_id(), new_id()
    await write(redis, first, 1)
    with reader.watch(first, START) as one, reader.watch(second, START) as other:
        await read(one, 1)
        # The reader, after a read that named both turns, and what would wake it.
        await wait_for(lambda: clock.sleeping == [2 * REST_SECONDS_PER_TURN] * 2, "both rest")
        before = await calls(redis, "xread")
        await write(redis, first, 30)
        await write(redis, second, 30)
        clock.let_go()
        await read(one, 30)
        await read(other, 30)
        # The one, the one that the wake of before ends, and the one that waits for more.
        assert await calls(redis, "xread") - before <= 3


async def test_one_wake_serves_all_who_come(reader: ProgressReader, redis: Redis, clock: HeldClock) -> None:
    turn_ids = [new_id() for _ in range(50)]
    with ExitStack() as watching:
        watching.enter_context(reader.watch(new_id(), START))
        await wait_for(lambda: len(clock.sleeping) == 2, "the first one has woken the reader, and both rest")
        before = await calls(redis, "xadd")
        watches = [watching.enter_context(reader.watch(turn_id, START)) for turn_id in turn_ids]
        clock.let_go()
        for turn_id, watch in zip(turn_ids, watches, strict=True):
            await write(redis, turn_id, 1)
            await read(watch, 1)
        assert await calls(redis, "xadd") - before == len(turn_ids) + 1


async def test_a_crowd_that_comes_while_redis_is_slow_is_told_what_the_streams_hold(
    own_valkey: ValkeyServer, redis: Redis, tmp_path: Path
) -> None:
    crowd = 60
    async with running_gateway(own_valkey.url, tmp_path, event_streams_per_user=crowd, silence_seconds=30) as gateway:
        steps = [StepView(text="我来找找。", tools=[])]
        turns = [
            gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1, steps=steps) for _ in range(crowd)
        ]
        for turn in turns:
            await ProgressWriter(redis, turn.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})

        async def first_of(turn: TurnView) -> Received:
            async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
                return await stream.next()

        await redis.client_pause(500, all=True)
        received = await asyncio.gather(*(first_of(turn) for turn in turns))
    # Where the history cannot be read, a snapshot stands in for it.
    assert [each.event for each in received] == ["turn.started"] * crowd


async def test_a_wake_that_found_no_connection_is_sent_again(
    own_valkey: ValkeyServer, redis: Redis, clock: HeldClock
) -> None:
    commands = Redis.from_pool(BlockingConnectionPool.from_url(own_valkey.url, max_connections=1, timeout=0.01))
    busy = await commands.connection_pool.get_connection()  # type: ignore[no-untyped-call]
    reader = ProgressReader(redis, commands, clock, new_id, queue_length=1_000, jitter=lambda: 0.0)
    async with commands, running_reader(reader):
        with reader.watch(new_id(), START):
            await wait_for(lambda: len(clock.sleeping) == 1, "it waits before it tries again")
            assert await calls(redis, "xadd") == 0
            await commands.connection_pool.release(busy)
            clock.let_go()

            async def told() -> bool:
                return await calls(redis, "xadd") == 1

            await wait_for(told, "the reader is woken")


class SwallowsACancellation(Redis):
    """As redis-py does under Python 3.11, when the cancellation meets the end of its sending."""

    reads = 0
    swallowed = 0

    async def xread(self, *arguments: Any, **named: Any) -> Any:
        self.reads += 1
        try:
            return await super().xread(*arguments, **named)
        except asyncio.CancelledError:
            self.swallowed += 1
            if self.swallowed > 1:
                raise
            return []


async def test_a_reader_is_stopped_also_when_a_cancellation_is_swallowed(
    own_valkey: ValkeyServer, redis: Redis, clock: HeldClock
) -> None:
    clock.let_go()
    async with SwallowsACancellation(connection_pool=ConnectionPool.from_url(own_valkey.url)) as blocking:
        reader = ProgressReader(blocking, redis, clock, new_id, queue_length=1_000, jitter=lambda: 0.0)
        with reader.watch(new_id(), START):
            running = asyncio.create_task(reader.run())
            await wait_for(lambda: blocking.reads > 0, "it reads")
            running.cancel()
            await asyncio.wait([running], timeout=10.0)
            assert running.cancelled()
        assert blocking.swallowed == 2
