"""Events on the streams. They are pointers: ids and counters, never a user's words.

The unit of agreement is the JSON of the envelope (design section 12). A new field gets a default, a changed
meaning a new `schema_version`.
"""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from common.ids import TenantId, UserId


class Cause(StrEnum):
    """Why an event was published: the thing just happened, the sweeper woke it again, or a replay asked."""

    LIVE = "live"
    SWEEP = "sweep"
    REPLAY = "replay"


class _Envelope(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1] = 1
    event_id: UUID
    tenant_id: TenantId
    user_id: UserId
    session_id: UUID
    seq: int = Field(ge=1)
    purge_generation: int = Field(ge=0)
    occurred_at: AwareDatetime
    cause: Cause
    run: int = Field(ge=0)


class TurnRequested(_Envelope):
    """A turn was accepted; an agent may claim it."""

    type: Literal["turn.requested"] = "turn.requested"
    turn_id: UUID


class TurnCompleted(_Envelope):
    """A turn has ended with an answer; a curator may claim its curation."""

    type: Literal["turn.completed"] = "turn.completed"
    turn_id: UUID


class SessionClosed(_Envelope):
    """A session was closed; what is kept per session may be written now."""

    type: Literal["session.closed"] = "session.closed"
    turn_id: None = None


Event = Annotated[TurnRequested | TurnCompleted | SessionClosed, Field(discriminator="type")]

EventAdapter: TypeAdapter[TurnRequested | TurnCompleted | SessionClosed] = TypeAdapter(Event)

__all__ = ["Cause", "Event", "EventAdapter", "SessionClosed", "TurnCompleted", "TurnRequested"]
