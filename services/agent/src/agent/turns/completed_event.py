"""`turn.completed`: wakes a curator. The curation is recorded already, so a lost event only delays it."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from common.events import Cause, TurnCompleted
from common.memory_api.base import Owner
from common.memory_api.turns import TurnReference


class EventPublisher(Protocol):
    async def publish(self, event: TurnCompleted, *, within: float) -> bool:
        """Best effort: False when it took longer than `within` seconds or failed."""


def completed_event(owner: Owner, turn: TurnReference, event_id: UUID, now: datetime) -> TurnCompleted:
    return TurnCompleted(
        event_id=event_id,
        tenant_id=owner.tenant_id,
        user_id=owner.user_id,
        session_id=turn.session_id,
        turn_id=turn.turn_id,
        seq=turn.seq,
        purge_generation=turn.purge_generation,
        occurred_at=now,
        cause=Cause.LIVE,
        run=0,
    )
