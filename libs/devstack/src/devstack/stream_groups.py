"""The set-up step of the event streams: every consumer group exists before the first event, at the beginning."""

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from common.streams.names import ALL_GROUPS, StreamGroup


async def create_stream_groups(redis_url: str) -> None:
    """Create the groups of `ALL_GROUPS` at 0, so that nothing published earlier is passed over."""
    async with Redis.from_url(redis_url) as redis:
        for wanted in ALL_GROUPS:
            await _create(redis, wanted)


async def _create(redis: Redis, wanted: StreamGroup) -> None:
    try:
        await redis.xgroup_create(wanted.stream, wanted.group, id="0", mkstream=True)
    except ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):
            raise
