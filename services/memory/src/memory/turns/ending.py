"""The end of a turn, the same for a finish by the agent, a cancel, a clear and the sweeper's giving up."""

from uuid import UUID

from sqlalchemy import select

from common.answers import fixed_answer
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.sessions import EntryKind, Layer, NewLogEntry
from common.memory_api.turns import FailureCode, ItemCard, TurnStatus
from memory.database.schema import turns
from memory.database.transactions import UserTransaction
from memory.dispatch.records import Record, add_work, lock_work, revoke
from memory.encryption.keys import CannotDecrypt
from memory.sessions.log import append, lock_session, read_log
from memory.turns.closing import closing_payloads
from memory.turns.rows import IS_OPEN, TurnRow, change_turn, find_turn, seal_items, seal_reply, user_text
from memory.users import own

_CANCELLING = frozenset({FailureCode.CANCELLED_BY_USER, FailureCode.MEMORY_CLEARED})


async def record_end(
    tx: UserTransaction,
    turn: TurnRow,
    *,
    failure: FailureCode | None,
    reply: str,
    items: list[ItemCard],
) -> TurnStatus:
    """Write the turn's end: its state, answer and items, and the curation to come; returns the state. The caller
    closes the record.

    A failed turn is curated too: what its user said stays said. A cancelled one is not: they took it back.
    """
    status = _status_of(failure)
    await change_turn(
        tx,
        turn.turn_id,
        status=status,
        failure=failure,
        reply=seal_reply(tx, turn.turn_id, reply),
        items=seal_items(tx, turn.turn_id, items),
        finished_at=tx.now,
    )
    tx.measured.turn_ended(turn.created_at, tx.now, failure)
    if status is not TurnStatus.CANCELLED and tx.policy.memory_enabled:
        await add_work(
            tx,
            WorkKind.CURATE_TURN,
            turn.turn_id,
            session_id=turn.session_id,
            seq=turn.seq,
            generation=turn.purge_generation,
        )
    return status


async def close_log(tx: UserTransaction, turn: TurnRow, head: int, answer: str) -> None:
    """Leave a valid log behind a turn that was cut off; the caller holds the session's lock."""
    log = await read_log(tx, turn.session_id, turn.turn_id)
    entries = [
        NewLogEntry(entry_id=tx.new_id(), layer=Layer.L3, payload=payload)
        for payload in closing_payloads([entry.payload for entry in log if entry.kind is EntryKind.MESSAGE], answer)
    ]
    await append(
        tx, turn.session_id, turn.turn_id, max(turn.attempt, 1), head=head, expected_head=head, entries=entries
    )


async def give_up(
    tx: UserTransaction,
    turn: TurnRow,
    record: Record,
    failure: FailureCode,
    work_state: WorkState = WorkState.DONE,
) -> None:
    """End a turn from this side, with its fixed answer; whoever still holds the lease has lost it."""
    head = await lock_session(tx, turn.session_id)
    try:
        answer = fixed_answer(failure, user_text(tx, turn))
        # A turn that never started has left nothing in the log that would need closing.
        if await read_log(tx, turn.session_id, turn.turn_id):
            await close_log(tx, turn, head, answer)
    except CannotDecrypt:
        answer = fixed_answer(failure, "")  # nobody can read this turn any more, but it must end
    await record_end(tx, turn, failure=failure, reply=answer, items=[])
    await revoke(tx, record, work_state, failure)


async def end_open_turns(tx: UserTransaction, failure: FailureCode, session_id: UUID | None = None) -> int:
    """End the user's open turns (of one session, or of all); the caller holds the user's lock."""
    query = select(turns.c.turn_id, turns.c.session_id).where(own(turns), IS_OPEN)
    if session_id is not None:
        query = query.where(turns.c.session_id == session_id)
    found = (await tx.connection.execute(query.order_by(turns.c.session_id))).all()
    ended = 0
    for turn_id, of_session in found:
        await lock_session(tx, of_session)
        turn = await find_turn(tx, turn_id, lock=True)
        if not TurnStatus(turn.status).open:
            continue
        await give_up(tx, turn, await lock_work(tx, WorkKind.TURN, turn_id), failure)
        ended += 1
    return ended


def _status_of(failure: FailureCode | None) -> TurnStatus:
    if failure is None:
        return TurnStatus.COMPLETED
    return TurnStatus.CANCELLED if failure in _CANCELLING else TurnStatus.FAILED
