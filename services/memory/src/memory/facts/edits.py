"""The user's own edits: put, delete one, history, restore. Each takes the user's next seq."""

from sqlalchemy import select

from common.memory_api.base import Done
from common.memory_api.facts import (
    Fact,
    FactKeyRequest,
    FactSource,
    FactVersion,
    History,
    MemoryCategory,
    ProposedFact,
    PutFact,
    RestoreFact,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import memory_fact_versions
from memory.database.transactions import UserTransaction
from memory.facts.candidates import drop_candidates
from memory.facts.gate import clean_fact_key
from memory.facts.rows import delete_row, find_row, version_value, versions_of
from memory.facts.tombstones import bury, was_deleted
from memory.facts.writing import write_for_user
from memory.users import lock_user, next_seq, own


async def put_fact(tx: UserTransaction, request: PutFact) -> Fact:
    await lock_user(tx)
    return await write_for_user(tx, request.proposed)


async def delete_fact(tx: UserTransaction, request: FactKeyRequest) -> Done:
    """Delete the fact and its versions, and leave a tombstone that no older turn passes."""
    await lock_user(tx)
    key = clean_fact_key(request.key)
    row = await find_row(tx, key)
    if row is None:
        if await was_deleted(tx, key):  # asked again, because the first answer was lost
            return Done()
        raise ProblemError(ProblemCode.NOT_FOUND)
    older = [version_value(tx, version) for version in await tx.connection.execute(versions_of(tx, key))]
    values = [row.value, *older]
    await bury(tx, key, values, await next_seq(tx), "deleted")
    await delete_row(tx, row)
    await drop_candidates(tx, key, values)
    return Done()


async def fact_history(tx: UserTransaction, request: FactKeyRequest) -> History:
    rows = await tx.connection.execute(versions_of(tx, clean_fact_key(request.key)))
    return History(
        versions=[
            FactVersion(
                version_id=row.version_id,
                key=row.fact_key,
                value=version_value(tx, row),
                category=MemoryCategory(row.category),
                source=FactSource(row.source),
                seq=row.seq,
                replaced_at=row.replaced_at,
            )
            for row in rows
        ]
    )


async def restore_fact(tx: UserTransaction, request: RestoreFact) -> Fact:
    """Bring an overwritten value back; it passes the gate like any other write."""
    await lock_user(tx)
    version = await _find_version(tx, request)
    proposed = ProposedFact(key=version.fact_key, value=version_value(tx, version), category=version.category)
    return await write_for_user(tx, proposed)


async def _find_version(tx: UserTransaction, request: RestoreFact) -> Row:
    query = select(memory_fact_versions).where(
        own(memory_fact_versions), memory_fact_versions.c.version_id == request.version_id
    )
    version: Row | None = (await tx.connection.execute(query)).one_or_none()
    if version is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return version
