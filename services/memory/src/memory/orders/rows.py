"""Order rows: what a card holds is the user's, so it is encrypted with their key."""

from collections import defaultdict
from decimal import Decimal
from uuid import UUID

from sqlalchemy import bindparam, select

from common.memory_api.orders import NewOrder, OrderCard, OrderState, OrderTotal
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import orders
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import own

_CONTENT = "orders.content"

_FIND = Statement(select(orders).where(own(orders), orders.c.order_id == bindparam("of_order")))


async def find_order(tx: UserTransaction, order_id: UUID) -> Row:
    """Raises ProblemError."""
    row = (await tx.connection.execute(_FIND, {"of_order": order_id})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return row


def seal_order(tx: UserTransaction, order_id: UUID, order: NewOrder) -> bytes:
    return tx.cipher.encrypt(order.model_dump_json(), Place(_CONTENT, order_id))


def open_order(tx: UserTransaction, row: Row) -> OrderCard:
    order = NewOrder.model_validate_json(tx.cipher.decrypt(row.content, Place(_CONTENT, row.order_id)))
    return OrderCard(
        lines=order.lines,
        destination=order.destination,
        order_id=row.order_id,
        session_id=row.session_id,
        turn_id=row.turn_id,
        state=state_of(tx, row),
        totals=totals_of(order),
        created_at=row.created_at,
        expires_at=row.expires_at,
        settled_at=row.settled_at,
    )


def state_of(tx: UserTransaction, row: Row) -> OrderState:
    """A card that nobody settled in time has expired; no job has to say so."""
    state = OrderState(row.state)
    return OrderState.EXPIRED if state is OrderState.PENDING and row.expires_at <= tx.now else state


def totals_of(order: NewOrder) -> list[OrderTotal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line in order.lines:
        sums[line.item.currency] += line.item.price * line.quantity
    return [OrderTotal(amount=amount, currency=currency) for currency, amount in sorted(sums.items())]
