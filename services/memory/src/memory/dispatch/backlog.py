"""How much is waiting, as gauges: work records in PostgreSQL, and entries of the streams in Redis.

Every replica tells the same numbers, so that they are known whichever of them lives. They are for alerts; no
replica counts itself as broken because of them.
"""

import asyncio
from datetime import datetime

from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy import and_, func, literal_column, or_, select

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.dispatch import WorkKind, WorkState
from common.streams.lag import group_progress
from common.streams.names import ALL_GROUPS, StreamGroup
from common.telemetry.metrics import Metrics
from common.telemetry.table import BACKLOG_OBSERVED, GROUP_LAG, GROUP_PENDING, OLDEST_DUE_WORK, WORK_RECORDS
from memory.database.connection import DatabaseError
from memory.database.schema import dispatch
from memory.database.transactions import Database

_log = get_logger(__name__)

_SHOWN = (WorkState.PENDING, WorkState.LEASED, WorkState.DEAD)


class Backlog:
    def __init__(
        self, database: Database, redis: Redis, clock: Clock, interval_seconds: float, metrics: Metrics
    ) -> None:
        self._database = database
        self._redis = redis
        self._clock = clock
        self._interval = interval_seconds
        self._records = metrics.gauge(WORK_RECORDS)
        self._oldest_due = metrics.gauge(OLDEST_DUE_WORK)
        self._lag = metrics.gauge(GROUP_LAG)
        self._pending = metrics.gauge(GROUP_PENDING)
        self._observed = metrics.gauge(BACKLOG_OBSERVED)

    async def run(self) -> None:
        """Look for ever, until cancelled."""
        while True:
            await self.observe()
            await asyncio.sleep(self._interval)

    async def observe(self) -> None:
        """Look once. What does not answer keeps its old numbers, and the time of the observation shows it."""
        try:
            await self._observe_work()
        except DatabaseError as error:
            _log.warning("backlog.not_observed", source="postgresql", error=error)
        try:
            for group in ALL_GROUPS:
                await self._observe_group(group)
            self._observed.labels("redis").set_to_current_time()
        except (RedisError, OSError) as error:
            _log.warning("backlog.not_observed", source="redis", error=error)

    async def _observe_work(self) -> None:
        now = self._clock.now()
        due = and_(dispatch.c.state == WorkState.PENDING, dispatch.c.next_attempt_at <= now)
        query = (
            select(
                dispatch.c.kind,
                dispatch.c.state,
                func.count().label("records"),
                func.min(dispatch.c.next_attempt_at).filter(due).label("due_at"),
            )
            # One condition for each state: there is an index for the open ones, and one for the dead.
            .where(or_(*(dispatch.c.state == literal_column(f"'{state.value}'") for state in _SHOWN)))
            .group_by(dispatch.c.kind, dispatch.c.state)
        )
        async with self._database.of_dispatch() as connection:
            rows = (await connection.execute(query)).all()
        found = {(row.kind, row.state): row for row in rows}
        for kind in WorkKind:
            for state in _SHOWN:
                row = found.get((kind.value, state.value))
                self._records.labels(kind.value, state.value).set(0 if row is None else row.records)
            pending = found.get((kind.value, WorkState.PENDING.value))
            self._oldest_due.labels(kind.value).set(_age(None if pending is None else pending.due_at, now))
        self._observed.labels("postgresql").set_to_current_time()

    async def _observe_group(self, wanted: StreamGroup) -> None:
        progress = await group_progress(self._redis, wanted)
        self._lag.labels(*wanted).set(progress.lag)
        self._pending.labels(*wanted).set(progress.pending)


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else (now - since).total_seconds()
