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
from memory.database.statements import Statement, owner_parameter
from memory.database.transactions import UserTransaction


@dataclass(frozen=True)
class Counters:
    seq: int
    purge_generation: int
    last_clear_id: UUID | None


def own(table: Table) -> ColumnElement[bool]:
    """The owner predicate; the transaction fills in whose. Row-level security says the same; this is the second belt
    and uses the index."""
    return and_(table.c.tenant_id == owner_parameter("tenant_id"), table.c.user_id == owner_parameter("user_id"))


_LOCK = Statement(
    select(users.c.seq, users.c.memory_purge_gen, users.c.last_clear_id)
    .where(own(users))
    .with_for_update(key_share=True)
)
_ADD = Statement(insert(users).on_conflict_do_nothing(), ("tenant_id", "user_id", "created_at"))
_TAKE_SEQ = Statement(update(users).where(own(users)).values(seq=users.c.seq + 1).returning(users.c.seq))
_GENERATION = Statement(select(users.c.memory_purge_gen).where(own(users)))


async def lock_user(tx: UserTransaction) -> Counters:
    """Lock the user's row for the rest of the transaction; makes it at first sight.

    Locks here are FOR NO KEY UPDATE: rows that only refer to the locked one (foreign keys) need not wait.
    """
    row = (await tx.connection.execute(_LOCK)).one_or_none()
    if row is None:
        await tx.connection.execute(_ADD, {"created_at": tx.now})
        row = (await tx.connection.execute(_LOCK)).one()
    return Counters(row.seq, row.memory_purge_gen, row.last_clear_id)


async def next_seq(tx: UserTransaction) -> int:
    """Take the next seq; the caller holds the user's lock."""
    return int(await tx.connection.scalar(_TAKE_SEQ))


async def raise_purge_generation(tx: UserTransaction, clear_id: UUID) -> int:
    raised = (
        update(users)
        .where(own(users))
        .values(memory_purge_gen=users.c.memory_purge_gen + 1, last_clear_id=clear_id)
        .returning(users.c.memory_purge_gen)
    )
    return int((await tx.connection.execute(raised)).scalar_one())


async def purge_generation(tx: UserTransaction) -> int:
    """The generation as of now, without a lock; a write compares it again under the lock."""
    return int(await tx.connection.scalar(_GENERATION) or 0)
