"""A curation under its lease: everything that its outcome looks at and locks, in one statement."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, select

from common.memory_api.dispatch import WorkKind
from common.problems import ProblemCode, ProblemError
from memory.database.schema import dispatch, turns, users
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import LockedRecord
from memory.turns.rows import TurnRow
from memory.users import own


class HeldCuration(NamedTuple):
    """`purge_generation` is the user's as of now; the turn's own is the one it was accepted under."""

    turn: TurnRow
    purge_generation: int
    record: LockedRecord
    error_code: str | None
    dry_run: bool


# PostgreSQL locks in the order in which the tables are named: user, turn, work record (see `memory.users`).
_LOCK = Statement(
    select(
        turns,
        users.c.memory_purge_gen.label("purge_generation_now"),
        users.c.key_id.label("key_in_force"),
        dispatch.c.state.label("work_state"),
        dispatch.c.attempts.label("work_attempts"),
        dispatch.c.lease_token.label("work_lease_token"),
        dispatch.c.error_code.label("work_error_code"),
        dispatch.c.dry_run.label("work_dry_run"),
    )
    .select_from(users)
    .join(turns, own(turns))
    .join(
        dispatch,
        and_(
            own(dispatch),
            dispatch.c.kind == WorkKind.CURATE_TURN,
            dispatch.c.subject_id == turns.c.turn_id,
            dispatch.c.run == bindparam("run"),
        ),
    )
    .where(own(users), turns.c.turn_id == bindparam("turn_id"))
    .with_for_update(of=[users, turns, dispatch], key_share=True)
)


async def lock_curation(tx: UserTransaction, turn_id: UUID, run: int) -> HeldCuration:
    """The user's row, the turn's and the work record's, locked. Says which key is in force."""
    row = (await tx.connection.execute(_LOCK, {"turn_id": turn_id, "run": run})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    tx.cipher.use(row.key_in_force)
    record = LockedRecord(WorkKind.CURATE_TURN, turn_id, run, row.work_state, row.work_attempts, row.work_lease_token)
    return HeldCuration(row, row.purge_generation_now, record, row.work_error_code, row.work_dry_run)
