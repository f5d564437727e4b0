"""Work records as an operator sees them: ids and counters, no words."""

from enum import StrEnum
from uuid import UUID

from pydantic import AwareDatetime, Field

from common.ids import TenantId, UserId
from common.memory_api.base import Message


class WorkKind(StrEnum):
    TURN = "turn"
    CURATE_TURN = "curate_turn"
    CLOSE_SESSION = "close_session"
    USER_DAY = "user_day"


class WorkState(StrEnum):
    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    DEAD = "dead"
    DISCARDED = "discarded"


class WorkId(Message):
    kind: WorkKind
    subject_id: UUID
    run: int = Field(default=0, ge=0)


class WorkRecord(Message):
    kind: WorkKind
    subject_id: UUID
    run: int
    tenant_id: TenantId
    user_id: UserId
    session_id: UUID
    seq: int
    purge_generation: int
    state: WorkState
    attempts: int
    lease_until: AwareDatetime | None
    next_attempt_at: AwareDatetime
    error_code: str | None
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


class ListWork(Message):
    state: WorkState | None = None
    kind: WorkKind | None = None
    limit: int = Field(default=50, ge=1, le=500)


class WorkRecords(Message):
    records: list[WorkRecord]


class InvariantReport(Message):
    """Rows that break each invariant; all zero is the promise kept."""

    violations: dict[str, int]

    @property
    def clean(self) -> bool:
        return not any(self.violations.values())


class CheckInvariants(Message):
    settled: bool = Field(
        default=False, description="Also require that nothing is open: every turn ended, every curation done"
    )
