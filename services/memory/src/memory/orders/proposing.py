"""`order_propose`: the model lays a card before the user. It cannot do more."""

from collections import Counter
from decimal import Decimal

from sqlalchemy import and_, bindparam, insert, or_, select

from common.memory_api.orders import NewOrder, OrderCard, OrderState, ProposedCard, ProposeOrder
from memory.database.connection import Row
from memory.database.schema import orders
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.dispatch.records import must_hold_lease
from memory.orders.rows import open_order, seal_order
from memory.turns.holding import lock_turn
from memory.turns.rows import TurnRow
from memory.users import own

_MAYBE_THE_SAME = Statement(
    select(orders)
    .where(
        own(orders),
        orders.c.session_id == bindparam("session_id"),
        or_(
            orders.c.turn_id == bindparam("turn_id"),
            and_(orders.c.state == OrderState.PENDING, orders.c.expires_at > bindparam("now")),
            orders.c.settled_at >= bindparam("accepted_at"),
        ),
    )
    .order_by(orders.c.created_at.desc(), orders.c.order_id.desc())
)
"""The session's cards that are of this turn, that wait, or that were settled since this turn was accepted: before that
they may have been what an earlier call of it was answered. Newest first."""
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


async def propose_order(tx: UserTransaction, request: ProposeOrder) -> ProposedCard:
    """One card per effect, also across attempts and calls.

    A call that is repeated gets its card. One that proposes what another call of the turn did, or what waits for the
    user in this session, or did when this turn was accepted, gets the card that exists, unless that one has expired.
    The session is locked: of two calls at once the second finds the first one's.
    """
    turn, _, record = await lock_turn(tx, request.turn_id)
    must_hold_lease(record, request.lease_token)
    wanted = {
        "session_id": turn.session_id,
        "turn_id": request.turn_id,
        "accepted_at": turn.created_at,
        "now": tx.now,
    }
    rows = (await tx.connection.execute(_MAYBE_THE_SAME, wanted)).all()
    for row in rows:
        if row.turn_id == request.turn_id and row.call_id == request.call_id:
            return _proposed(open_order(tx, row))
    for card in (open_order(tx, row) for row in rows):
        if card.state is not OrderState.EXPIRED and is_same_effect(card, request.order):
            return _proposed(card, existed=True)
    return _proposed(open_order(tx, await _add(tx, request, turn)))


def is_same_effect(one: NewOrder, other: NewOrder) -> bool:
    """The same quantities of the same products at the same prices, to the same country, whatever their order. A title
    depends on the language; another price is another offer."""
    return one.destination == other.destination and _quantities(one) == _quantities(other)


def _quantities(order: NewOrder) -> Counter[tuple[str, Decimal, str]]:
    quantities: Counter[tuple[str, Decimal, str]] = Counter()
    for line in order.lines:
        quantities[line.item.item_id, line.item.price, line.item.currency] += line.quantity
    return quantities


def _proposed(card: OrderCard, *, existed: bool = False) -> ProposedCard:
    return ProposedCard(**dict(card), existed=existed)


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
