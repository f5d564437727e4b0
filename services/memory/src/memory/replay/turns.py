"""Beginning the replay of one turn: its next run of `curate_turn`, in the user's transaction."""

from uuid import UUID

from sqlalchemy import bindparam, select, update

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.replay import ReplayTurnState
from memory.database.connection import Row
from memory.database.schema import dispatch, replay_turns, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import add_work, lock_work
from memory.users import lock_user, own

_LAST_RUN = Statement(
    select(dispatch)
    .where(own(dispatch), dispatch.c.kind == WorkKind.CURATE_TURN, dispatch.c.subject_id == bindparam("turn_id"))
    .order_by(dispatch.c.run.desc())
    .limit(1)
)
_GENERATION = Statement(select(turns.c.purge_generation).where(own(turns), turns.c.turn_id == bindparam("turn_id")))
_UNDER_WAY = Statement(
    select(replay_turns.c.turn_id).where(own(replay_turns), replay_turns.c.state == ReplayTurnState.RUNNING).limit(1)
)
_MARK = Statement(
    update(replay_turns)
    .where(
        own(replay_turns),
        replay_turns.c.job_id == bindparam("of_job_id"),
        replay_turns.c.turn_id == bindparam("of_turn_id"),
    )
    .values(state=bindparam("new_state"), run=bindparam("new_run"), finished_at=bindparam("new_finished_at"))
)


async def begin_turn(tx: UserTransaction, job: Row, turn_id: UUID) -> Row | None:
    """The new work record. None where nothing began: the turn is gone, or another turn of the user is under way."""
    counters = await lock_user(tx)
    if (await tx.connection.execute(_UNDER_WAY)).all():
        return None
    last = (await tx.connection.execute(_LAST_RUN, {"turn_id": turn_id})).one_or_none()
    generation = await tx.connection.scalar(_GENERATION, {"turn_id": turn_id})
    # After a clear no model need be asked. What is cleared later is refused where it would be written.
    if last is None or generation != counters.purge_generation:
        await _mark(tx, job, turn_id, ReplayTurnState.GONE, None)
        return None
    if last.state in (WorkState.PENDING, WorkState.LEASED):
        return None  # driven again by an operator: first things first
    run = last.run + 1
    await add_work(
        tx,
        WorkKind.CURATE_TURN,
        turn_id,
        session_id=last.session_id,
        seq=last.seq,
        generation=last.purge_generation,
        run=run,
        dry_run=job.dry_run,
    )
    await _mark(tx, job, turn_id, ReplayTurnState.RUNNING, run)
    return await lock_work(tx, WorkKind.CURATE_TURN, turn_id, run)


async def _mark(tx: UserTransaction, job: Row, turn_id: UUID, state: ReplayTurnState, run: int | None) -> None:
    finished_at = None if state is ReplayTurnState.RUNNING else tx.now
    wanted = {"of_job_id": job.job_id, "of_turn_id": turn_id}
    await tx.connection.execute(_MARK, {**wanted, "new_state": state, "new_run": run, "new_finished_at": finished_at})
