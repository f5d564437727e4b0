"""`order_propose`: the model lays a card before the user. It cannot do more."""

from sqlalchemy import bindparam, insert, select

from common.memory_api.orders import OrderCard, ProposeOrder
from memory.database.connection import Row
from memory.database.schema import orders
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import must_hold_lease
from memory.orders.rows import open_order, seal_order
from memory.turns.holding import lock_turn
from memory.turns.rows import TurnRow
from memory.users import own

_FIND = Statement(
    select(orders).where(
        own(orders), orders.c.turn_id == bindparam("turn_id"), orders.c.call_id == bindparam("call_id")
    )
)
_ADD = Statement(
    insert(orders).returning(orders),
    (
        "tenant_id",
        "user_id",
        "order_id",
        "session_id",
        "turn_id",
        "call_id",
        "content",
        "created_at",
        "expires_at",
    ),
)


async def propose_order(tx: UserTransaction, request: ProposeOrder) -> OrderCard:
    """One card per (turn, call id): a later attempt that repeats the call gets the same one."""
    turn, _, record = await lock_turn(tx, request.turn_id)
    must_hold_lease(record, request.lease_token)
    row = await _proposed_before(tx, request) or await _add(tx, request, turn)
    return open_order(tx, row)


async def _proposed_before(tx: UserTransaction, request: ProposeOrder) -> Row | None:
    wanted = {"turn_id": request.turn_id, "call_id": request.call_id}
    return (await tx.connection.execute(_FIND, wanted)).one_or_none()


async def _add(tx: UserTransaction, request: ProposeOrder, turn: TurnRow) -> Row:
    order_id = tx.new_id()
    card = {
        "order_id": order_id,
        "session_id": turn.session_id,
        "turn_id": request.turn_id,
        "call_id": request.call_id,
        "content": seal_order(tx, order_id, request.order),
        "created_at": tx.now,
        "expires_at": tx.now + tx.policy.order_expiry,
    }
    return (await tx.connection.execute(_ADD, card)).one()
