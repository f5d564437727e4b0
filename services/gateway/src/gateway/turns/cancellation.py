"""Cancelling a turn: the memory service revokes its lease, then whoever watches is told."""

import asyncio

from redis.asyncio import Redis

from common.logs import get_logger
from common.memory_api.base import TurnRequest
from common.memory_api.operations import CANCEL_TURN
from common.memory_api.turns import TurnStatus, TurnView
from common.streams.progress import ProgressEvent, ProgressWriter
from gateway.events.view import ending_data
from gateway.memory_service import MemoryService

_log = get_logger(__name__)


class TurnCancellation:
    def __init__(self, memory: MemoryService, redis: Redis, hint_timeout_seconds: float) -> None:
        self._memory = memory
        self._redis = redis
        self._hint_timeout = hint_timeout_seconds

    async def cancel(self, request: TurnRequest) -> TurnView:
        """Returns the turn as it ended, which may be before the cancellation. Raises ProblemError."""
        turn = await self._memory.ask(CANCEL_TURN, request)
        if turn.status is TurnStatus.CANCELLED:
            await self._hint(turn)
        return turn

    async def _hint(self, turn: TurnView) -> None:
        """Only to be fast: a stream without this hint asks the memory service after its silence."""
        writer = ProgressWriter(self._redis, turn.turn_id)
        try:
            async with asyncio.timeout(self._hint_timeout):
                await writer.emit(ProgressEvent.TURN_CANCELLED, ending_data(turn))
        except TimeoutError as error:
            _log.warning("turn.cancellation_not_told", turn_id=str(turn.turn_id), error=error)
