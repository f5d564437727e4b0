"""Removing cards: what nobody confirmed goes with the memory it may rest on, and everything goes with time."""

from datetime import tzinfo
from uuid import UUID

from sqlalchemy import delete, select

from common.memory_api.orders import OrderState
from common.memory_api.user_data import BehaviourKind
from memory.database.schema import behaviour, orders
from memory.database.statements import among
from memory.database.transactions import UserTransaction
from memory.facts.lifetime import end_of_day
from memory.users import own


async def delete_unconfirmed(tx: UserTransaction) -> None:
    """A card's destination may come from a fact. What the user has confirmed is their own word."""
    await tx.connection.execute(delete(orders).where(own(orders), orders.c.state != OrderState.CONFIRMED))


async def remove_old_orders(tx: UserTransaction, zone: tzinfo) -> int:
    """Confirmed ones are kept as long as an order is, with their purchases; others as long as a session."""
    rows = (
        await tx.connection.execute(select(orders.c.order_id, orders.c.state, orders.c.created_at).where(own(orders)))
    ).all()
    old = [row.order_id for row in rows if end_of_day(row.created_at, _days(tx, row.state), zone) <= tx.now]
    if old:
        await tx.connection.execute(delete(orders).where(own(orders), among(orders.c.order_id, old)))
    await _remove_old_purchases(tx, zone)
    return len(old)


def _days(tx: UserTransaction, state: str) -> int:
    return tx.policy.order_days if state == OrderState.CONFIRMED else tx.policy.session_days


async def _remove_old_purchases(tx: UserTransaction, zone: tzinfo) -> None:
    bought = select(behaviour.c.behaviour_id, behaviour.c.created_at).where(
        own(behaviour), behaviour.c.kind == BehaviourKind.PURCHASE
    )
    old: list[UUID] = [
        row.behaviour_id
        for row in await tx.connection.execute(bought)
        if end_of_day(row.created_at, tx.policy.order_days, zone) <= tx.now
    ]
    if old:
        await tx.connection.execute(delete(behaviour).where(own(behaviour), among(behaviour.c.behaviour_id, old)))
