"""Whether the agents keep up. A turn that would only wait is better refused while its user can still hear it."""

import asyncio

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.clock import Clock
from common.logs import get_logger
from common.problems import ProblemCode, ProblemError
from common.streams.lag import group_progress
from common.streams.names import AGENT_GROUP

_log = get_logger(__name__)

_LOOK_EVERY_SECONDS = 1.0
_TIMEOUT_SECONDS = 0.2
_RETRY_AFTER_SECONDS = 5


class Backlog:
    """Looks at the agents' group at most once a second. What Redis cannot say is no backlog: turns are accepted."""

    def __init__(self, redis: Redis, clock: Clock, limit: int) -> None:
        self._redis = redis
        self._clock = clock
        self._limit = limit
        self._looked_at = -_LOOK_EVERY_SECONDS
        self._lag = 0

    async def must_be_short(self) -> None:
        """Raises ProblemError (503 with Retry-After) while more turns wait than the limit."""
        if self._clock.monotonic() - self._looked_at >= _LOOK_EVERY_SECONDS:
            self._looked_at = self._clock.monotonic()
            self._lag = await self._look()
        if self._lag > self._limit:
            raise ProblemError(ProblemCode.OVERLOADED, retry_after=_RETRY_AFTER_SECONDS)

    async def _look(self) -> int:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return (await group_progress(self._redis, AGENT_GROUP)).lag
        except (RedisError, OSError) as error:  # OSError covers the time-out
            _log.warning("backlog.unknown", error=error)
            return 0
