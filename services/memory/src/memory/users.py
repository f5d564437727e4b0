"""The user's row: two counters that never restart, and the lock that every change of memory goes through.

Lock order everywhere: user → session → turn → work record → facts.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import and_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.schema import Table

from memory.database.schema import users
from memory.database.transactions import UserTransaction


@dataclass(frozen=True)
class Counters:
    seq: int
    purge_generation: int
    last_clear_id: UUID | None


def own(table: Table, tx: UserTransaction) -> ColumnElement[bool]:
    """The owner predicate. Row-level security says the same; this is the second belt and uses the index."""
    return and_(table.c.tenant_id == tx.owner.tenant_id, table.c.user_id == tx.owner.user_id)


async def lock_user(tx: UserTransaction) -> Counters:
    """Lock the user's row for the rest of the transaction; makes it at first sight.

    Locks here are FOR NO KEY UPDATE: rows that only refer to the locked one (foreign keys) need not wait.
    """
    locked = (
        select(users.c.seq, users.c.memory_purge_gen, users.c.last_clear_id)
        .where(own(users, tx))
        .with_for_update(key_share=True)
    )
    row = (await tx.connection.execute(locked)).one_or_none()
    if row is None:
        await tx.connection.execute(insert(users).values(**tx.key, created_at=tx.now).on_conflict_do_nothing())
        row = (await tx.connection.execute(locked)).one()
    return Counters(row.seq, row.memory_purge_gen, row.last_clear_id)


async def next_seq(tx: UserTransaction) -> int:
    """Take the next seq; the caller holds the user's lock."""
    taken = update(users).where(own(users, tx)).values(seq=users.c.seq + 1).returning(users.c.seq)
    return int((await tx.connection.execute(taken)).scalar_one())


async def raise_purge_generation(tx: UserTransaction, clear_id: UUID) -> int:
    raised = (
        update(users)
        .where(own(users, tx))
        .values(memory_purge_gen=users.c.memory_purge_gen + 1, last_clear_id=clear_id)
        .returning(users.c.memory_purge_gen)
    )
    return int((await tx.connection.execute(raised)).scalar_one())


async def purge_generation(tx: UserTransaction) -> int:
    """The generation as of now, without a lock; a write compares it again under the lock."""
    read = select(users.c.memory_purge_gen).where(own(users, tx))
    return int((await tx.connection.execute(read)).scalar_one_or_none() or 0)
