"""What only the user does with a card: confirm it or cancel it. Each is an edit of theirs, under their lock."""

from sqlalchemy import bindparam, update

from common.memory_api.orders import OrderCard, OrderRequest, OrderState
from common.memory_api.turns import Behaviour
from common.memory_api.user_data import BehaviourKind
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import orders
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.orders.rows import find_order, open_order, state_of
from memory.user_data.behaviour import add_behaviour
from memory.users import lock_user, next_seq, own

_SETTLE = Statement(
    update(orders)
    .where(own(orders), orders.c.order_id == bindparam("of_order"))
    .values(state=bindparam("new_state"), settled_at=bindparam("new_settled_at"))
    .returning(orders)
)


async def confirm_order(tx: UserTransaction, request: OrderRequest) -> OrderCard:
    """Repeating it changes nothing. Raises ProblemError for a card that was cancelled or has expired."""
    row, settled = await _settle(tx, request, OrderState.CONFIRMED)
    card = open_order(tx, row)
    if settled:
        bought = [Behaviour(kind=BehaviourKind.PURCHASE, text=line.item.title) for line in card.lines]
        await add_behaviour(tx, bought, turn_id=card.turn_id, seq=await next_seq(tx))
    return card


async def cancel_order(tx: UserTransaction, request: OrderRequest) -> OrderCard:
    """Repeating it changes nothing. Raises ProblemError for a card that was confirmed or has expired."""
    row, _ = await _settle(tx, request, OrderState.CANCELLED)
    return open_order(tx, row)


async def _settle(tx: UserTransaction, request: OrderRequest, wanted: OrderState) -> tuple[Row, bool]:
    """The card as it is now, and whether it was settled by this."""
    await lock_user(tx)  # two answers at once: the second finds the first
    row = await find_order(tx, request.order_id)
    state = state_of(tx, row)
    if state is wanted:
        return row, False
    if state is not OrderState.PENDING:
        raise ProblemError(ProblemCode.ORDER_SETTLED, f"It is {state}", state=state)
    change = {"of_order": request.order_id, "new_state": wanted, "new_settled_at": tx.now}
    return (await tx.connection.execute(_SETTLE, change)).one(), True
