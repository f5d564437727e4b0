"""Sends the events of turns that are long done once more, as an operator's mistake or a broken network would."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from common.streams.names import AGENT_GROUP, CURATOR_GROUP, StreamGroup

_GROUPS = (AGENT_GROUP, CURATOR_GROUP)
"""Those that turns wake."""


@dataclass(frozen=True)
class RecordedEvent:
    """An entry of an event stream, byte for byte."""

    stream: str
    fields: dict[Any, Any]

    def names(self, session_id: str) -> bool:
        return any(session_id.encode() in value for value in self.fields.values())


async def recorded_events(redis: Redis, session_ids: Collection[str]) -> list[RecordedEvent]:
    """Every event of turns in these sessions that the streams still hold, once however often it was sent."""
    found: list[RecordedEvent] = []
    for group in _GROUPS:
        for _, fields in await redis.xrange(group.stream) or []:
            event = RecordedEvent(group.stream, fields or {})
            if event not in found and any(event.names(session_id) for session_id in session_ids):
                found.append(event)
    return found


async def resend(redis: Redis, events: list[RecordedEvent]) -> None:
    for event in events:
        await redis.xadd(event.stream, event.fields)


async def all_consumed(redis: Redis) -> bool:
    """Whether both groups have read their streams to the end and acknowledged what they read."""
    return all([await _consumed(redis, group) for group in _GROUPS])


async def _consumed(redis: Redis, wanted: StreamGroup) -> bool:
    newest = (await redis.xinfo_stream(wanted.stream))["last-generated-id"]
    groups = await redis.xinfo_groups(wanted.stream)
    return any(
        group["name"] == wanted.group.encode() and group["last-delivered-id"] == newest and group["pending"] == 0
        for group in groups
    )
