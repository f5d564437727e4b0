"""A sweeper over the service's own database, driven by hand, and what it published."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from faststream.redis import RedisBroker
from faststream.redis.parser import BinaryMessageFormatV1
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService
from tests.support.scraping import parse

from common.crash_points import CrashPoints
from common.events import EventAdapter
from common.ids import new_id
from common.memory_api.base import Owner
from common.streams.names import ALL_GROUPS
from common.streams.sending import EventSender
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY, Metric
from memory.app import build_database
from memory.database.connection import Row
from memory.dispatch.publisher import EventPublisher
from memory.dispatch.sweeper import Sweeper
from memory.policy import Policy


class Sweeping:
    def __init__(self, memory: MemoryService, redis: Redis, broker: RedisBroker) -> None:
        self.policy = Policy.of(memory.settings)
        self.database = build_database(memory.settings, self.policy, memory.clock)
        self._redis = redis
        self.metrics = Metrics(MEMORY)
        self._sweeper = Sweeper(
            self.database,
            EventPublisher(EventSender(broker, self.metrics), redis, new_id),
            self.policy,
            memory.clock,
            CrashPoints(),
            timedelta(seconds=1),
            self.metrics,
        )

    async def sweep(self) -> None:
        await self._sweeper.sweep()

    async def hopeless(self, turn: ATurn) -> Row:
        """The turn's record, as a sweep sees it that is about to end it."""
        return next(record for record in await self._sweeper._hopeless() if record.subject_id == turn.turn_id)

    async def end(self, record: Row) -> None:
        owner = Owner(tenant_id=record.tenant_id, user_id=record.user_id)
        async with self.database.of_user(owner) as tx:
            await self._sweeper._end(tx, record)

    def value(self, metric: Metric, **labels: str) -> float:
        return parse(self.metrics.text().decode()).value(metric, **labels)

    async def published(self, stream: str) -> list[Any]:
        """Events on the stream, taken off it."""
        entries: list[tuple[bytes, dict[bytes, bytes]]] = await self._redis.xrange(stream)  # type: ignore[assignment]
        await self._redis.xtrim(stream, maxlen=0)
        bodies = [BinaryMessageFormatV1.parse(fields[b"__data__"])[0] for _, fields in entries]
        return [EventAdapter.validate_json(body) for body in bodies]


@asynccontextmanager
async def sweeping_by_hand(memory: MemoryService, redis: Redis, broker: RedisBroker) -> AsyncIterator[Sweeping]:
    """Begins with empty streams: what other tests have left behind has been swept."""
    for stream, group in ALL_GROUPS:
        await redis.xgroup_create(stream, group, id="0", mkstream=True)
    running = Sweeping(memory, redis, broker)
    await running.sweep()
    for stream, _ in ALL_GROUPS:
        await redis.xtrim(stream, maxlen=0)
    yield running
    await running.database.close()
