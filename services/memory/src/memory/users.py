"""The user's row: two counters that never restart, and the lock that every change of memory goes through.

Lock order everywhere: user → session → turn → work record → facts.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.schema import Table

from memory.database.schema import users
from memory.database.statements import Statement, owner_parameter
from memory.database.transactions import UserTransaction
from memory.encryption.keys import DataKey


@dataclass(frozen=True)
class Counters:
    seq: int
    purge_generation: int
    last_clear_id: UUID | None
    last_erase_id: UUID | None
    key_id: UUID
    key_changed_at: datetime | None
    retained_at: datetime | None


def own(table: Table) -> ColumnElement[bool]:
    """The owner predicate; the transaction fills in whose. Row-level security says the same; this is the second belt
    and uses the index."""
    return and_(table.c.tenant_id == owner_parameter("tenant_id"), table.c.user_id == owner_parameter("user_id"))


_LOCK = Statement(select(users).where(own(users)).with_for_update(key_share=True))
_ADD = Statement(insert(users).on_conflict_do_nothing(), ("tenant_id", "user_id", "key_id", "created_at"))
_NAME_KEY = Statement(update(users).where(own(users)).values(key_id=bindparam("new_key_id")))
_CHANGE_KEY = Statement(
    update(users)
    .where(own(users))
    .values(key_id=bindparam("new_key_id"), key_changed_at=bindparam("new_key_changed_at"))
)
_TAKE_SEQ = Statement(update(users).where(own(users)).values(seq=users.c.seq + 1).returning(users.c.seq))
_GENERATION = Statement(select(users.c.memory_purge_gen).where(own(users)))


async def lock_user(tx: UserTransaction) -> Counters:
    """Lock the user's row for the rest of the transaction; makes it at first sight. Says which key is in force, so that
    the transaction may seal the user's words.

    Locks here are FOR NO KEY UPDATE: rows that only refer to the locked one (foreign keys) need not wait.
    """
    row = (await tx.connection.execute(_LOCK)).one_or_none()
    if row is None:
        await tx.connection.execute(_ADD, {"key_id": tx.cipher.use(None), "created_at": tx.now})
        row = (await tx.connection.execute(_LOCK)).one()
    key_id = tx.cipher.use(row.key_id)
    if row.key_id is None:  # from before keys had ids
        await tx.connection.execute(_NAME_KEY, {"new_key_id": key_id})
    return Counters(
        row.seq,
        row.memory_purge_gen,
        row.last_clear_id,
        row.last_erase_id,
        key_id,
        row.key_changed_at,
        row.retained_at,
    )


KEY_IN_FORCE = select(users.c.key_id).where(own(users)).scalar_subquery()
"""Which key is in force, as a value in the statement that locks something else of the user's."""


async def put_key_in_force(tx: UserTransaction, key: DataKey) -> None:
    """From now on the user's words are sealed with this key; the caller holds the user's lock."""
    key_id = tx.cipher.learn(key)
    await tx.connection.execute(_CHANGE_KEY, {"new_key_id": key_id, "new_key_changed_at": tx.now})


async def note_keys_settled(tx: UserTransaction) -> None:
    """Only the key in force is left; the caller holds the user's lock."""
    await tx.connection.execute(update(users).where(own(users)).values(key_changed_at=None))


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
