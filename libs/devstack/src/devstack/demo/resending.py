"""Sends the events of turns that are long done once more, as an operator's mistake or a broken network would."""

from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from common.streams.names import AGENT_GROUP, ALL_GROUPS, CURATOR_GROUP, StreamGroup


@dataclass(frozen=True)
class RecordedEvent:
    """An entry of an event stream, byte for byte."""

    stream: str
    fields: dict[Any, Any]


async def recorded_events(redis: Redis) -> list[RecordedEvent]:
    """Every event of turns that the streams still hold: `turn.requested` and `turn.completed`."""
    return [
        RecordedEvent(group.stream, fields)
        for group in (AGENT_GROUP, CURATOR_GROUP)
        for _, fields in await redis.xrange(group.stream) or []
        if fields
    ]


async def resend(redis: Redis, events: list[RecordedEvent]) -> None:
    for event in events:
        await redis.xadd(event.stream, event.fields)


async def all_consumed(redis: Redis) -> bool:
    """Whether every group has read its stream to the end and acknowledged what it read."""
    return all([await _consumed(redis, group) for group in ALL_GROUPS])


async def _consumed(redis: Redis, wanted: StreamGroup) -> bool:
    newest = (await redis.xinfo_stream(wanted.stream))["last-generated-id"]
    groups = await redis.xinfo_groups(wanted.stream)
    return any(
        group["name"] == wanted.group.encode() and group["last-delivered-id"] == newest and group["pending"] == 0
        for group in groups
    )
