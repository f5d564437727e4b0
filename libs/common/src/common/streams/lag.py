"""How far a group is behind its stream."""

from typing import Any, NamedTuple

from redis.asyncio import Redis

from common.streams.names import StreamGroup


class GroupProgress(NamedTuple):
    """`lag` counts entries that the group has not read, `pending` those read and not acknowledged."""

    lag: int
    pending: int


async def group_progress(redis: Redis, wanted: StreamGroup) -> GroupProgress:
    """A stream or group that Redis has lost has nothing to read, and a lag that it cannot say is 0.

    Raises redis.exceptions.RedisError and OSError where Redis does not answer.
    """
    groups = await redis.xinfo_groups(wanted.stream) if await redis.exists(wanted.stream) else []
    found = next((group for group in groups if _name(group) == wanted.group), {})
    return GroupProgress(int(found.get("lag") or 0), int(found.get("pending") or 0))


def _name(group: dict[str, Any]) -> str:
    name = group["name"]
    return name.decode() if isinstance(name, bytes) else str(name)
