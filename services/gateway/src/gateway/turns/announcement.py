"""Telling the agents that a turn was accepted. Best effort: the sweeper tells them what was lost here."""

import asyncio

from redis.exceptions import RedisError

from common.clock import Clock
from common.events import Cause, TurnRequested
from common.ids import IdFactory
from common.logs import get_logger
from common.memory_api.base import Owner
from common.memory_api.turns import TurnReference
from common.streams.sending import EventSender

_log = get_logger(__name__)


class TurnAnnouncer:
    def __init__(self, sender: EventSender, clock: Clock, new_id: IdFactory, timeout_seconds: float) -> None:
        self._sender = sender
        self._clock = clock
        self._new_id = new_id
        self._timeout = timeout_seconds

    async def announce(self, owner: Owner, turn: TurnReference) -> None:
        """Publish `turn.requested`. Never fails: the turn is accepted, whatever Redis does."""
        event = self._event(owner, turn)
        try:
            async with asyncio.timeout(self._timeout):
                await self._sender.send(event)
        except (RedisError, OSError) as error:  # OSError covers the time-out
            _log.warning("turn.not_announced", turn_id=str(turn.turn_id), error=error)

    def _event(self, owner: Owner, turn: TurnReference) -> TurnRequested:
        return TurnRequested(
            event_id=self._new_id(),
            tenant_id=owner.tenant_id,
            user_id=owner.user_id,
            session_id=turn.session_id,
            turn_id=turn.turn_id,
            seq=turn.seq,
            purge_generation=turn.purge_generation,
            occurred_at=self._clock.now(),
            cause=Cause.LIVE,
            run=0,
        )
