"""Work records: one row for everything that must happen. PostgreSQL is the only recovery there is."""

from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from common.memory_api.dispatch import WorkKind, WorkState
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import dispatch
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.circuits import admit, note_failure
from memory.users import own


class LockedRecord(NamedTuple):
    """A record that was locked together with other rows."""

    kind: WorkKind
    subject_id: UUID
    run: int
    state: str
    attempts: int
    lease_token: UUID | None


Record = Row | LockedRecord


def _is() -> ColumnElement[bool]:
    """The record of the parameters `kind`, `subject_id` and `run`."""
    return and_(
        own(dispatch),
        dispatch.c.kind == bindparam("kind"),
        dispatch.c.subject_id == bindparam("subject_id"),
        dispatch.c.run == bindparam("run"),
    )


_ADD = Statement(
    insert(dispatch),
    (
        "tenant_id",
        "user_id",
        "kind",
        "subject_id",
        "run",
        "session_id",
        "seq",
        "purge_generation",
        "next_attempt_at",
        "publish_after",
        "created_at",
        "dry_run",
    ),
)
_LOCK = Statement(select(dispatch).where(_is()).with_for_update(key_share=True))


async def add_work(
    tx: UserTransaction,
    kind: WorkKind,
    subject_id: UUID,
    *,
    session_id: UUID,
    seq: int,
    generation: int,
    run: int = 0,
    dry_run: bool = False,
) -> None:
    """Record that something must happen. The live publish follows; the sweeper waits for it a little."""
    added = {
        "kind": kind,
        "subject_id": subject_id,
        "run": run,
        "session_id": session_id,
        "seq": seq,
        "purge_generation": generation,
        "next_attempt_at": tx.now,
        "publish_after": tx.now + tx.policy.publish_grace,
        "created_at": tx.now,
        "dry_run": dry_run,
    }
    await tx.connection.execute(_ADD, added)


async def lock_work(tx: UserTransaction, kind: WorkKind, subject_id: UUID, run: int = 0) -> Row:
    wanted = {"kind": kind, "subject_id": subject_id, "run": run}
    record: Row | None = (await tx.connection.execute(_LOCK, wanted)).one_or_none()
    if record is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return record


def holds_lease(record: Record, token: UUID) -> bool:
    """Only equality of the token decides who may write, never the time: clocks order nothing."""
    return bool(record.state == WorkState.LEASED and record.lease_token == token)


def must_hold_lease(record: Record, token: UUID) -> None:
    if not holds_lease(record, token):
        raise ProblemError(ProblemCode.LEASE_LOST)


async def take_lease(tx: UserTransaction, record: Row, token: UUID, *, deadline: timedelta | None = None) -> bool:
    """Lease a due record and count the attempt. False where the token holds it already: a repeated claim, whose
    first answer was lost, is the same claim and only begins its lease anew."""
    if holds_lease(record, token):
        await _change(tx, record, lease_until=tx.now + tx.policy.lease)
        return False
    if record.state == WorkState.LEASED:
        raise ProblemError(ProblemCode.LEASE_HELD)
    if record.state != WorkState.PENDING:
        raise ProblemError(ProblemCode.ALREADY_DONE)
    if record.next_attempt_at > tx.now or record.attempts >= tx.policy.max_attempts:
        raise ProblemError(ProblemCode.NOT_DUE)
    await admit(tx, WorkKind(record.kind))
    changes: dict[str, Any] = {
        "state": WorkState.LEASED,
        "attempts": record.attempts + 1,
        "lease_token": token,
        "lease_until": tx.now + tx.policy.lease,
        "error_code": None,
    }
    if deadline is not None and record.deadline_at is None:
        changes["deadline_at"] = tx.now + deadline
    await _change(tx, record, **changes)
    return True


async def renew(tx: UserTransaction, record: Record, token: UUID) -> None:
    must_hold_lease(record, token)
    await _change(tx, record, lease_until=tx.now + tx.policy.lease)


async def close(
    tx: UserTransaction, record: Record, state: WorkState = WorkState.DONE, error_code: str | None = None
) -> None:
    """End a record by its worker. The lease token stays, so that a repeated finish is recognised."""
    await _change(tx, record, state=state, error_code=error_code, finished_at=tx.now)
    tx.measured.work_ended(WorkKind(record.kind), state, record.attempts)


async def revoke(tx: UserTransaction, record: Record, state: WorkState, error_code: str | None) -> None:
    """End a record over its worker's head: whoever holds the lease has lost it."""
    await _change(
        tx, record, state=state, error_code=error_code, finished_at=tx.now, lease_token=None, lease_until=None
    )
    tx.measured.work_ended(WorkKind(record.kind), state, record.attempts)


async def hand_back(
    tx: UserTransaction,
    record: Record,
    *,
    spend_attempt: bool,
    error_code: str | None = None,
    pause: timedelta | None = None,
) -> None:
    """Make a leased record due again. Waiting is not failing: a dependency that is down spends no attempt."""
    attempts = record.attempts if spend_attempt else max(0, record.attempts - 1)
    wait = tx.policy.pause_after(record.attempts) if pause is None else pause
    await note_failure(tx, WorkKind(record.kind), record.subject_id, error_code)
    await _change(
        tx,
        record,
        state=WorkState.PENDING,
        attempts=attempts,
        lease_token=None,
        lease_until=None,
        next_attempt_at=tx.now + wait,
        publish_after=tx.now + wait,
        error_code=error_code,
    )


async def reopen(tx: UserTransaction, record: Record) -> None:
    """Give a dead record a new set of attempts."""
    await _change(
        tx,
        record,
        state=WorkState.PENDING,
        attempts=0,
        lease_token=None,
        lease_until=None,
        deadline_at=None,
        next_attempt_at=tx.now,
        publish_after=tx.now,
        error_code=None,
        finished_at=None,
    )


async def _change(tx: UserTransaction, record: Record, **values: Any) -> None:
    wanted = {"kind": record.kind, "subject_id": record.subject_id, "run": record.run}
    given = {f"new_{name}": value for name, value in values.items()}
    await tx.connection.execute(_changing(tuple(values)), {**wanted, **given})


@cache
def _changing(columns: tuple[str, ...]) -> Statement:
    return Statement(update(dispatch).where(_is()).values({name: bindparam(f"new_{name}") for name in columns}))
