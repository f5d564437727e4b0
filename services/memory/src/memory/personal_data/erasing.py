"""Erase: everything of the user, and the key it was sealed with.

What stays is the user's row: its counters never restart, so that nothing from before can come back, and it names the
key for what they say from now on. Whoever still works for the user finds nothing to write to.
"""

from collections.abc import Mapping
from uuid import UUID

from redis.asyncio import Redis
from sqlalchemy import Table, delete, func, select, update

from common.memory_api.personal_data import Erased, EraseUser
from common.streams.progress import forget_progress
from memory.database.schema import metadata, sessions, user_keys, users
from memory.database.transactions import Database, UserTransaction
from memory.encryption.rotation import destroy_other_keys
from memory.facts.clearing import turns_of_last_minutes
from memory.replay.forgetting import forget_replays_of
from memory.users import lock_user, own, put_key_in_force, raise_purge_generation

# Sessions first: whoever works on a turn holds its session, and what they have written by then goes with it.
_TABLES = (sessions, *(table for table in metadata.sorted_tables if table not in (sessions, users, user_keys)))


async def erase_user(database: Database, redis: Redis, request: EraseUser) -> Erased:
    """Every step may be repeated; what a crash leaves undone, the next try or the retention job does."""
    told: list[UUID] = []
    async with database.of_user(request.owner) as tx:
        counters = await lock_user(tx)
        key_id = counters.key_id
        receipt = Erased(purge_generation=counters.purge_generation, rows={})
        if counters.last_erase_id != request.request_id:
            told = await turns_of_last_minutes(tx)
            rows = await _delete_all_rows(tx)
            # With it goes the secret of the hashes: what was deleted and refused cannot be told any more either.
            key = await database.keys.add(request.owner, same_hashes=False)
            await put_key_in_force(tx, key)
            key_id = key.key_id
            generation = await raise_purge_generation(tx, request.request_id)
            await tx.connection.execute(update(users).where(own(users)).values(last_erase_id=request.request_id))
            receipt = Erased(purge_generation=generation, rows=rows)
    await destroy_other_keys(database, request.owner, key_id)
    await forget_replays_of(database, request.owner)
    await forget_progress(redis, told)
    return receipt


async def _delete_all_rows(tx: UserTransaction) -> Mapping[str, int]:
    """Delete the user's rows of every table; returns how many there were."""
    counted = {table.name: await _count(tx, table) for table in _TABLES}
    for table in _TABLES:
        await tx.connection.execute(delete(table).where(own(table)))
    return {name: rows for name, rows in counted.items() if rows}


async def _count(tx: UserTransaction, table: Table) -> int:
    return int(await tx.connection.scalar(select(func.count()).select_from(table).where(own(table))))
