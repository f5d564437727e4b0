"""The user's cards: one, a page of them, and what a turn is told about them."""

from uuid import UUID

from sqlalchemy import BigInteger, bindparam, select

from common.memory_api.orders import ListOrders, OrderCard, OrderRequest, Orders, OrderState
from memory.database.schema import orders
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.orders.rows import find_order, open_order
from memory.users import own

TOLD_TO_A_TURN = 5

_OWN = select(orders).where(own(orders))
_NEWEST_FIRST = (orders.c.created_at.desc(), orders.c.order_id.desc())
_OF_TURN = Statement(
    _OWN.where(orders.c.turn_id == bindparam("turn_id")).order_by(orders.c.created_at, orders.c.order_id)
)
_NEWEST = Statement(_OWN.order_by(*_NEWEST_FIRST).limit(bindparam("most", type_=BigInteger)))


async def get_order(tx: UserTransaction, request: OrderRequest) -> OrderCard:
    return open_order(tx, await find_order(tx, request.order_id))


async def list_orders(tx: UserTransaction, request: ListOrders) -> Orders:
    query = _OWN
    match request.state:
        case OrderState.PENDING:
            query = query.where(orders.c.state == OrderState.PENDING, orders.c.expires_at > tx.now)
        case OrderState.EXPIRED:
            query = query.where(orders.c.state == OrderState.PENDING, orders.c.expires_at <= tx.now)
        case OrderState():
            query = query.where(orders.c.state == request.state)
    rows = await tx.connection.execute(query.order_by(*_NEWEST_FIRST).limit(request.limit))
    return Orders(orders=[open_order(tx, row) for row in rows])


async def newest_orders(tx: UserTransaction) -> list[OrderCard]:
    rows = await tx.connection.execute(_NEWEST, {"most": TOLD_TO_A_TURN})
    return [open_order(tx, row) for row in rows]


async def orders_of_turn(tx: UserTransaction, turn_id: UUID) -> list[OrderCard]:
    """In the order in which they were proposed."""
    rows = await tx.connection.execute(_OF_TURN, {"turn_id": turn_id})
    return [open_order(tx, row) for row in rows]


async def all_orders(tx: UserTransaction) -> list[OrderCard]:
    """Oldest first."""
    rows = await tx.connection.execute(_OWN.order_by(orders.c.created_at, orders.c.order_id))
    return [open_order(tx, row) for row in rows]
