"""Whether this process lives, and whether it should get traffic."""

import asyncio

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.logs import get_logger
from common.process.health import Health
from memory.database.connection import DatabaseError
from memory.database.transactions import Database
from memory.dispatch.sweeper import Sweeper

_log = get_logger(__name__)


class MemoryHealth:
    """Redis is shown but does not count: everything but the sweeper works without it, and an outage of Redis must
    not take every replica out of service."""

    def __init__(self, database: Database, redis: Redis, sweeper: Sweeper) -> None:
        self._database = database
        self._redis = redis
        self._sweeper = sweeper
        self._sweeping: asyncio.Task[None] | None = None
        self._stopping = False

    def health(self) -> Health:
        return Health(
            self.alive,
            {"accepting": self._accepting, "postgresql": self._postgresql_answers},
            optional={"redis": self._redis_answers},
        )

    def note_sweeping(self, sweeping: asyncio.Task[None]) -> None:
        self._sweeping = sweeping

    def alive(self) -> bool:
        """False once the sweeper has died of a bug: then only a new process helps."""
        return self._stopping or self._sweeping is None or not self._sweeping.done()

    def begin_stopping(self) -> None:
        """Take no new traffic, and publish nothing more after the present round."""
        self._stopping = True
        self._sweeper.stop()

    async def _accepting(self) -> bool:
        return not self._stopping

    async def _postgresql_answers(self) -> bool:
        try:
            await self._database.ping()
        except DatabaseError as error:
            _log.warning("memory.not_ready", error=error)
            return False
        return True

    async def _redis_answers(self) -> bool:
        try:
            return bool(await self._redis.ping())
        except (RedisError, OSError):
            return False
