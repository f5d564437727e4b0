"""Cancelling a turn on its user's word."""

from common.memory_api.base import TurnRequest
from common.memory_api.dispatch import WorkKind
from common.memory_api.turns import FailureCode, TurnStatus, TurnView
from memory.database.transactions import UserTransaction
from memory.dispatch.records import lock_work
from memory.sessions.log import lock_session
from memory.turns.ending import give_up
from memory.turns.rows import find_turn
from memory.turns.view import get_turn
from memory.users import lock_user


async def cancel_turn(tx: UserTransaction, request: TurnRequest) -> TurnView:
    """Cancel an open turn and revoke its lease; an ended one stays as it is."""
    await lock_user(tx)
    session_id = (await find_turn(tx, request.turn_id)).session_id
    await lock_session(tx, session_id)
    turn = await find_turn(tx, request.turn_id, lock=True)
    if TurnStatus(turn.status).open:
        record = await lock_work(tx, WorkKind.TURN, request.turn_id)
        await give_up(tx, turn, record, FailureCode.CANCELLED_BY_USER)
    return await get_turn(tx, request)
