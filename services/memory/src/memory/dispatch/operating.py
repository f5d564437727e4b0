"""What an operator does with work records: list, show, drive again, discard."""

from sqlalchemy import func, select

from common.memory_api.base import Owner
from common.memory_api.dispatch import ListWork, WorkId, WorkKind, WorkRecord, WorkRecords, WorkState
from common.memory_api.sessions import Layer, NewLogEntry
from common.memory_api.turns import FailureCode, TurnStatus
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import curation_outcomes, dispatch, sessions, turns
from memory.database.transactions import Database, UserTransaction
from memory.dispatch.records import lock_work, reopen, revoke
from memory.sessions.log import append, lock_session, read_log
from memory.turns.ending import give_up
from memory.turns.rows import TurnRow, change_turn, find_turn
from memory.users import lock_user, own

_DRIVEN_AGAIN = '{"role":"user","content":"<system_notice>上一次没有做完，现在重新处理本轮请求。</system_notice>"}'


async def list_work(database: Database, request: ListWork) -> WorkRecords:
    query = select(dispatch).order_by(dispatch.c.created_at.desc(), dispatch.c.subject_id).limit(request.limit)
    if request.state is not None:
        query = query.where(dispatch.c.state == request.state)
    if request.kind is not None:
        query = query.where(dispatch.c.kind == request.kind)
    async with database.of_dispatch() as connection:
        return WorkRecords(records=[_view(row) for row in await connection.execute(query)])


async def show_work(database: Database, request: WorkId) -> WorkRecord:
    query = select(dispatch).where(
        dispatch.c.kind == request.kind, dispatch.c.subject_id == request.subject_id, dispatch.c.run == request.run
    )
    async with database.of_dispatch() as connection:
        row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return _view(row)


async def redrive_work(database: Database, request: WorkId) -> WorkRecord:
    """Give dead or discarded work a new set of attempts; a turn only if it is its open session's last."""
    owner = await _owner_of(database, request)
    async with database.of_user(owner) as tx:
        await lock_user(tx)
        if request.kind is WorkKind.TURN:
            await _reopen_turn(tx, request)
        record = await lock_work(tx, request.kind, request.subject_id, request.run)
        if record.state not in (WorkState.DEAD, WorkState.DISCARDED):
            raise ProblemError(ProblemCode.INVALID_REQUEST, "only dead or discarded work can be driven again")
        await reopen(tx, record)
    return await show_work(database, request)


async def discard_work(database: Database, request: WorkId) -> WorkRecord:
    """End work for good. A turn that is still open fails with its fixed answer."""
    owner = await _owner_of(database, request)
    async with database.of_user(owner) as tx:
        await lock_user(tx)
        turn = await _lock_turn(tx, request) if request.kind is WorkKind.TURN else None
        record = await lock_work(tx, request.kind, request.subject_id, request.run)
        if record.state == WorkState.DONE:
            raise ProblemError(ProblemCode.ALREADY_DONE)
        if turn is not None and TurnStatus(turn.status).open:
            await give_up(tx, turn, record, FailureCode.DISCARDED, WorkState.DISCARDED)
        else:
            await revoke(tx, record, WorkState.DISCARDED, record.error_code)
    return await show_work(database, request)


async def _reopen_turn(tx: UserTransaction, request: WorkId) -> None:
    turn = await _lock_turn(tx, request)
    if turn.status != TurnStatus.FAILED:
        raise ProblemError(ProblemCode.INVALID_REQUEST, "only a failed turn can be driven again")
    last = await tx.connection.scalar(
        select(func.max(turns.c.seq)).where(own(turns), turns.c.session_id == turn.session_id)
    )
    state = await tx.connection.scalar(
        select(sessions.c.state).where(own(sessions), sessions.c.session_id == turn.session_id)
    )
    if last != turn.seq or state != "open":
        raise ProblemError(ProblemCode.SESSION_ENDED, "the turn is not the last of an open session")
    await _drop_curation(tx, turn)
    await _tell_log(tx, turn)
    await change_turn(tx, turn.turn_id, status=TurnStatus.ACCEPTED, failure=None, reply=None, items=None)
    await change_turn(tx, turn.turn_id, first_claimed_at=None, finished_at=None)


async def _drop_curation(tx: UserTransaction, turn: TurnRow) -> None:
    """The turn will end again and record its curation then; facts keep the evidence they have."""
    await tx.connection.execute(
        curation_outcomes.delete().where(own(curation_outcomes), curation_outcomes.c.turn_id == turn.turn_id)
    )
    await tx.connection.execute(
        dispatch.delete().where(
            own(dispatch), dispatch.c.kind == WorkKind.CURATE_TURN, dispatch.c.subject_id == turn.turn_id
        )
    )


async def _tell_log(tx: UserTransaction, turn: TurnRow) -> None:
    """The log ends with the fixed answer of the failure; what follows it tells the model that work goes on."""
    head = await lock_session(tx, turn.session_id)
    if await read_log(tx, turn.session_id, turn.turn_id):
        notice = NewLogEntry(entry_id=tx.new_id(), layer=Layer.L3, payload=_DRIVEN_AGAIN)
        await append(tx, turn.session_id, turn.turn_id, turn.attempt, head=head, expected_head=head, entries=[notice])


async def _lock_turn(tx: UserTransaction, request: WorkId) -> TurnRow:
    turn = await find_turn(tx, request.subject_id)
    await lock_session(tx, turn.session_id)
    return await find_turn(tx, request.subject_id, lock=True)


async def _owner_of(database: Database, request: WorkId) -> Owner:
    record = await show_work(database, request)
    return Owner(tenant_id=record.tenant_id, user_id=record.user_id)


def _view(row: Row) -> WorkRecord:
    return WorkRecord(**{name: getattr(row, name) for name in WorkRecord.model_fields})
