"""Rotating a user's key: a new one comes into force at once, what the older ones have sealed is sealed anew in batches,
and when nothing of theirs is left, they are destroyed.

Every step may be repeated, by whoever comes next: the retention job goes on with what a killed command has left.
"""

from datetime import timedelta
from uuid import UUID

from sqlalchemy import LargeBinary, bindparam, func, select, update

from common.memory_api.base import Owner
from memory.database.statements import Statement
from memory.database.transactions import Database, UserTransaction
from memory.encryption.cipher import sealing_prefix
from memory.encryption.sealed_columns import SEALED_COLUMNS, SealedColumn
from memory.users import lock_user, note_keys_settled, own, put_key_in_force

BATCH = 200

_LONGEST_TRANSACTION = timedelta(minutes=5)
"""A transaction that began before the new key came into force may still seal with an older one; after this time, which
is many times what the database's time-outs leave it, it has ended."""


async def rotate_key(database: Database, owner: Owner) -> int:
    """Put a new key in force and seal anew what is there. Returns the number of values that were sealed anew.

    The older keys stay until `settle_keys` finds, some minutes later, that nothing of theirs is left.
    """
    async with database.of_user(owner) as tx:
        await lock_user(tx)
        await put_key_in_force(tx, await database.keys.add(owner, same_hashes=True))
    return await seal_anew(database, owner)


async def settle_keys(database: Database, owner: Owner) -> bool:
    """Finish what a rotation or an erasure has begun. True where the key in force is the only one left."""
    async with database.of_user(owner) as tx:
        found = await lock_user(tx)
        if found.key_changed_at is None:
            return True
        if found.key_changed_at > tx.now - _LONGEST_TRANSACTION:
            return False
    await seal_anew(database, owner)
    return await destroy_other_keys(database, owner, found.key_id)


async def destroy_other_keys(database: Database, owner: Owner, key_id: UUID) -> bool:
    """Destroy all keys but this one, which everything is sealed with. False where it is no longer the one in force:
    whoever has changed it since still needs it for reading, and sees to the rest."""
    async with database.of_user(owner) as tx:
        if (await lock_user(tx)).key_id != key_id:
            return False
        await database.keys.keep_only(owner, key_id)
        await note_keys_settled(tx)
        return True


async def seal_anew(database: Database, owner: Owner) -> int:
    """Seal with the key in force whatever another key has sealed; each batch is a transaction of its own."""
    sealed = 0
    for column in SEALED_COLUMNS:
        batch = BATCH
        while batch == BATCH:
            async with database.of_user(owner) as tx:
                batch = await _seal_batch(tx, column)
            sealed += batch
    return sealed


async def _seal_batch(tx: UserTransaction, sealed: SealedColumn) -> int:
    key_id = (await lock_user(tx)).key_id
    rows = (await tx.connection.execute(_sealed_otherwise(sealed, key_id))).all()
    for row in rows:
        place = sealed.place(row.row_id)
        value = tx.cipher.encrypt(tx.cipher.decrypt(row.stored, place), place)
        await tx.connection.execute(_replacing(sealed), {"row_id": row.row_id, "sealed": value})
    return len(rows)


def _sealed_otherwise(sealed: SealedColumn, key_id: UUID) -> Statement:
    prefix = sealing_prefix(key_id)
    begins_with = func.substr(sealed.column, 1, len(prefix), type_=LargeBinary)
    return Statement(
        select(sealed.row_id_value.label("row_id"), sealed.column.label("stored"))
        .where(own(sealed.table), sealed.column.is_not(None), begins_with != prefix)
        .limit(BATCH)
        .with_for_update(key_share=True)
    )


def _replacing(sealed: SealedColumn) -> Statement:
    return Statement(
        update(sealed.table)
        .where(own(sealed.table), sealed.row_id_value == bindparam("row_id"))
        .values({sealed.column.name: bindparam("sealed")})
    )
