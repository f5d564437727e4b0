"""A turn under its lease: everything that a write by its agent looks at and locks, in one statement."""

from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Select, and_, bindparam, select

from common.memory_api.dispatch import WorkKind
from common.problems import ProblemCode, ProblemError
from memory.database.schema import dispatch, sessions, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import LockedRecord
from memory.turns.rows import TurnRow
from memory.users import KEY_IN_FORCE, own


class HeldTurn(NamedTuple):
    """`head` is the position of the session's last log entry."""

    turn: TurnRow
    head: int
    record: LockedRecord


async def lock_turn(tx: UserTransaction, turn_id: UUID) -> HeldTurn:
    """The turn with its session, its own row and its work record locked. Says which key is in force."""
    row = (await tx.connection.execute(_LOCK, {"turn_id": turn_id, "kind": WorkKind.TURN})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    tx.cipher.use(row.key_id)
    record = LockedRecord(WorkKind.TURN, turn_id, 0, row.work_state, row.work_attempts, row.work_lease_token)
    return HeldTurn(row, row.session_head, record)


def _joined() -> Select[tuple[object, ...]]:
    return (
        select(
            turns,
            sessions.c.head.label("session_head"),
            KEY_IN_FORCE.label("key_id"),
            dispatch.c.state.label("work_state"),
            dispatch.c.attempts.label("work_attempts"),
            dispatch.c.lease_token.label("work_lease_token"),
        )
        .join(sessions, and_(own(sessions), sessions.c.session_id == turns.c.session_id))
        .join(
            dispatch,
            and_(
                own(dispatch),
                dispatch.c.kind == bindparam("kind"),
                dispatch.c.subject_id == turns.c.turn_id,
                dispatch.c.run == 0,
            ),
        )
        .where(own(turns), turns.c.turn_id == bindparam("turn_id"))
    )


# PostgreSQL locks in the order in which the tables are named: session, turn, work record (see `memory.users`).
_LOCK = Statement(_joined().with_for_update(of=[sessions, turns, dispatch], key_share=True))
