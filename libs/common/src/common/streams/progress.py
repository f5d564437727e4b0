"""Progress of one turn, for whoever watches it: a capped stream of its own that expires within minutes.

It is the only place in Redis with user text. Nothing depends on it: writing is best effort, and a reader that
finds a gap asks the memory service.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from common.logs import get_logger
from common.streams.names import progress_stream

PROGRESS_MAXLEN = 4_000
PROGRESS_TTL_SECONDS = 600

_log = get_logger(__name__)

# One script, so that no crash between the two leaves user text without an expiry. What was forgotten stays forgotten,
# also when its agent has not heard of it yet.
_APPEND = """
if redis.call('EXISTS', KEYS[2]) == 1 then return false end
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'event', ARGV[3], 'data', ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return id
"""


class ProgressEvent(StrEnum):
    """The table of design section 12. `turn.snapshot` is made by the gateway and never stored."""

    TURN_STARTED = "turn.started"
    PLAN = "plan"
    TOOL_STARTED = "tool.started"
    TOOL_FINISHED = "tool.finished"
    TEXT_DELTA = "text.delta"
    ITEMS = "items"
    ORDER_CARD = "order.card"
    MEMORY_SAVED = "memory.saved"
    TURN_SNAPSHOT = "turn.snapshot"
    TURN_COMPLETED = "turn.completed"
    TURN_FAILED = "turn.failed"
    TURN_CANCELLED = "turn.cancelled"
    MEMORY_UPDATED = "memory.updated"

    @property
    def ends_answer(self) -> bool:
        return self in (
            ProgressEvent.TURN_COMPLETED,
            ProgressEvent.TURN_FAILED,
            ProgressEvent.TURN_CANCELLED,
        )


class ProgressWriter:
    """Writes the progress of one attempt. `n` counts from 1 without gaps, also over events that were lost.

    A writer without an attempt (the curator) writes events that stand outside this counting.
    """

    def __init__(self, redis: Redis, turn_id: UUID, attempt: int | None = None) -> None:
        self._redis = redis
        self._stream = progress_stream(turn_id)
        self._attempt = attempt
        self._n = 0

    async def emit(self, event: ProgressEvent, data: dict[str, Any]) -> None:
        """Best effort, whatever the data is. An event that is not written leaves a gap in `n`."""
        self._n += 1
        counted = {} if self._attempt is None else {"attempt": self._attempt, "n": self._n}
        try:
            body = _json_bytes({**counted, **data})
        except (TypeError, ValueError, RecursionError) as error:
            _log.error("progress.not_writable", progress_event=event, error=error)
            return
        try:
            await self._redis.eval(
                _APPEND,
                2,
                self._stream,
                _forgotten(self._stream),
                str(PROGRESS_MAXLEN),
                str(PROGRESS_TTL_SECONDS),
                event,
                body,
            )
        except (RedisError, OSError) as error:
            _log.warning("progress.not_written", progress_event=event, error=error)


async def forget_progress(redis: Redis, turn_ids: Iterable[UUID]) -> None:
    """Delete what was written about these turns, and let nothing more be written for as long as it would be kept.

    Best effort: what Redis does not do now, its expiry does within minutes.
    """
    try:
        for turn_id in turn_ids:
            stream = progress_stream(turn_id)
            # In this order: between the two nothing can be written that would stay.
            await redis.set(_forgotten(stream), b"", ex=PROGRESS_TTL_SECONDS)
            await redis.unlink(stream)
    except (RedisError, OSError) as error:
        _log.warning("progress.not_forgotten", error=error)


def _forgotten(stream: str) -> str:
    """The mark beside a stream; in the same slot of a cluster."""
    return f"{stream}:forgotten"


def _json_bytes(data: dict[str, Any]) -> bytes:
    """JSON in UTF-8. What UTF-8 cannot carry (half a surrogate pair) is replaced: it must not cost the event."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")
