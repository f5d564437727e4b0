"""What follows the end of a session: a work record that makes `session.closed` known until its consumer has answered.

A session that is ended by a clear has none: nothing of it is to be kept.
"""

from uuid import UUID

from sqlalchemy import bindparam, select

from common.memory_api.base import Done
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.sessions import FinishClosing
from memory.database.schema import turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.circuits import note_success
from memory.dispatch.records import add_work, close, lock_work
from memory.users import own

_LAST_TURN = Statement(
    select(turns.c.seq, turns.c.purge_generation)
    .where(own(turns), turns.c.session_id == bindparam("session_id"))
    .order_by(turns.c.seq.desc())
    .limit(1)
)


async def add_closing(tx: UserTransaction, session_id: UUID) -> None:
    """For a session that has just been ended. One without turns has nothing to be kept."""
    last = (await tx.connection.execute(_LAST_TURN, {"session_id": session_id})).one_or_none()
    if last is not None:
        await add_work(
            tx,
            WorkKind.CLOSE_SESSION,
            session_id,
            session_id=session_id,
            seq=last.seq,
            generation=last.purge_generation,
        )


async def finish_closing(tx: UserTransaction, request: FinishClosing) -> Done:
    """May be asked again: the consumer has no lease, and gets the event once more when its answer is lost."""
    record = await lock_work(tx, WorkKind.CLOSE_SESSION, request.session_id)
    if record.state == WorkState.PENDING:
        await close(tx, record)
        await note_success(tx, WorkKind.CLOSE_SESSION, request.session_id)
    return Done()
