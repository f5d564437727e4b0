"""How far a group is behind its stream."""

from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from common.streams.names import StreamGroup


async def group_lag(redis: Redis, wanted: StreamGroup) -> int:
    """Entries that the group has not read. A stream or group that Redis has lost, or a lag that it cannot say, is 0.

    Raises redis.exceptions.RedisError and OSError where Redis does not answer.
    """
    try:
        groups = await redis.xinfo_groups(wanted.stream)
    except ResponseError:  # there is no such stream
        return 0
    found = next((group for group in groups if _name(group) == wanted.group), None)
    return int(found.get("lag") or 0) if found else 0


def _name(group: dict[str, Any]) -> str:
    name = group["name"]
    return name.decode() if isinstance(name, bytes) else str(name)
