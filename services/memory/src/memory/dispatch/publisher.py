"""Publishing events about work records. Redis wakes, PostgreSQL remembers: a lost event is published again."""

from datetime import datetime
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.events import Cause, SessionClosed, TurnCompleted, TurnRequested
from common.ids import IdFactory
from common.logs import get_logger
from common.memory_api.dispatch import WorkKind
from common.streams.lag import group_progress
from common.streams.names import AGENT_GROUP, CURATOR_GROUP, SESSION_GROUP, StreamGroup
from common.streams.sending import EventSender
from memory.database.connection import Row

_log = get_logger(__name__)

GROUP_OF_KIND: dict[WorkKind, StreamGroup] = {
    WorkKind.TURN: AGENT_GROUP,
    WorkKind.CURATE_TURN: CURATOR_GROUP,
    WorkKind.CLOSE_SESSION: SESSION_GROUP,
}


class EventPublisher:
    def __init__(self, sender: EventSender, redis: Redis, new_id: IdFactory) -> None:
        self._sender = sender
        self._redis = redis
        self._new_id = new_id

    async def publish(self, record: Row, cause: Cause, now: datetime) -> bool:
        """Publish the event that wakes the record's worker; False where Redis did not take it."""
        event = self._event(record, cause, now)
        try:
            await self._sender.send(event)
        except (RedisError, OSError) as error:
            _log.warning("event.not_published", type=event.type, error=error)
            return False
        return True

    async def is_lagging(self, kind: WorkKind) -> bool:
        """Whether the group still has events to read; publishing again would only lengthen its queue.

        A stream or group that Redis has lost does not lag: what it held must be published again.
        """
        try:
            return (await group_progress(self._redis, GROUP_OF_KIND[kind])).lag > 0
        except (RedisError, OSError):
            return False

    def _event(self, record: Row, cause: Cause, now: datetime) -> TurnRequested | TurnCompleted | SessionClosed:
        shared: dict[str, Any] = {
            "event_id": self._new_id(),
            "tenant_id": record.tenant_id,
            "user_id": record.user_id,
            "session_id": record.session_id,
            "seq": record.seq,
            "purge_generation": record.purge_generation,
            "occurred_at": now,
            "cause": cause,
            "run": record.run,
        }
        if record.kind == WorkKind.TURN:
            return TurnRequested(turn_id=record.subject_id, **shared)
        if record.kind == WorkKind.CURATE_TURN:
            return TurnCompleted(turn_id=record.subject_id, **shared)
        return SessionClosed(**shared)
