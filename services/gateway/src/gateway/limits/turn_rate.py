"""How many turns one user may begin per minute, over all replicas of the gateway."""

import asyncio
import math
from typing import Any

from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from limits.errors import StorageError
from redis.asyncio import Redis

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.base import Owner
from common.problems import ProblemCode, ProblemError

_log = get_logger(__name__)

_TIMEOUT_SECONDS = 0.2


class TurnRate:
    """Counts in Redis. Where Redis does not answer nothing is counted: an outage must not close the shop."""

    def __init__(self, redis: Redis, clock: Clock, per_minute: int) -> None:
        pool: Any = redis.connection_pool  # the library's types know only options that fit into a URL
        storage = RedisStorage("redis://", wrap_exceptions=True, implementation="redispy", connection_pool=pool)
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._limit = RateLimitItemPerMinute(per_minute, namespace="turns")
        self._clock = clock

    async def count(self, owner: Owner) -> None:
        """Count one more turn. Raises ProblemError (429, with the seconds to wait) above the limit."""
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                if await self._limiter.hit(self._limit, owner.tenant_id, owner.user_id):
                    return
                window = await self._limiter.get_window_stats(self._limit, owner.tenant_id, owner.user_id)
        except (StorageError, OSError) as error:  # OSError covers the time-out
            _log.warning("turn_rate.not_counted", error=error)
            return
        seconds = math.ceil(max(1.0, window.reset_time - self._clock.now().timestamp()))
        raise ProblemError(ProblemCode.TOO_MANY_REQUESTS, retry_after=min(seconds, 60))
