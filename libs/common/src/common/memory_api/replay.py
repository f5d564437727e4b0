"""Replays: turns of the past through today's curator and rules. Ids and counts, no words."""

from enum import StrEnum
from uuid import UUID

from pydantic import AwareDatetime, Field, model_validator

from common.ids import TenantId, UserId
from common.memory_api.base import Message


class ReplayState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class ReplayTurnState(StrEnum):
    """`gone`: there is nothing to replay any more; the turn was erased, or its memory cleared."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    GONE = "gone"


class ReplaySelection(Message):
    """Which finished turns; what is given must all hold."""

    tenant_id: TenantId | None = None
    user_id: UserId | None = None
    session_id: UUID | None = None
    since: AwareDatetime | None = Field(default=None, description="Turns that ended at this time or later")
    until: AwareDatetime | None = Field(default=None, description="Turns that ended before this time")
    failed_only: bool = Field(default=False, description="Only turns whose curation is dead")

    @model_validator(mode="after")
    def _selects(self) -> "ReplaySelection":
        if self == ReplaySelection.model_construct():
            raise ValueError("choose by tenant, user, session, time, or what failed")
        if self.user_id is not None and self.tenant_id is None:
            raise ValueError("a user is known within a tenant")
        return self


class StartReplay(Message):
    job_id: UUID = Field(description="Chosen by the caller: started again with the same id, it is the same job")
    selection: ReplaySelection
    dry_run: bool = Field(default=False, description="Report what would change, and change nothing")
    turns_per_second: float | None = Field(default=None, gt=0, le=1_000, description="None: the service's setting")


class ReplayCounts(Message):
    """What became, or in a dry run would become, of the proposed facts."""

    added: int = 0
    changed: int = 0
    removed: int = Field(
        default=0, description="Facts last written from the turn that this run does not support; they are left standing"
    )
    candidates: int = Field(default=0, description="Values that wait for the user's approval")
    skipped: int = Field(default=0, description="Known already, older than what is known, or deleted by the user")
    refused: int = 0


class ReplayJob(Message):
    job_id: UUID
    tenant_id: TenantId | None
    user_id: UserId | None
    session_id: UUID | None
    since: AwareDatetime | None
    until: AwareDatetime | None
    failed_only: bool
    dry_run: bool
    turns_per_second: float
    state: ReplayState
    created_at: AwareDatetime
    finished_at: AwareDatetime | None
    turns: dict[ReplayTurnState, int] = Field(description="Number of turns in each state")
    counts: ReplayCounts

    @property
    def total(self) -> int:
        return sum(self.turns.values())

    @property
    def ended(self) -> int:
        return self.total - self.turns[ReplayTurnState.WAITING] - self.turns[ReplayTurnState.RUNNING]


class ReplayedTurn(Message):
    tenant_id: TenantId
    user_id: UserId
    session_id: UUID
    turn_id: UUID
    seq: int
    run: int | None
    state: ReplayTurnState
    counts: ReplayCounts


class ShowReplay(Message):
    job_id: UUID
    turns: int = Field(default=0, ge=0, le=10_000, description="How many turns to list, by user and seq")


class ReplayReport(Message):
    job: ReplayJob
    turns: list[ReplayedTurn]


class ListReplays(Message):
    limit: int = Field(default=20, ge=1, le=500)


class Replays(Message):
    jobs: list[ReplayJob]


class CancelReplay(Message):
    job_id: UUID
