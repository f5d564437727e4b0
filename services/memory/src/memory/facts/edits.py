"""The user's own edits: put, delete one, restore. Each takes the user's next seq."""

from common.memory_api.base import Done
from common.memory_api.facts import Fact, FactEditRequest, Precondition, ProposedFact, PutFact, RestoreFact
from common.problems import ProblemCode, ProblemError
from memory.database.transactions import UserTransaction
from memory.facts.candidates import drop_candidates
from memory.facts.expiry import remove_expired
from memory.facts.gate import clean_fact_key
from memory.facts.history import find_version, versions_of
from memory.facts.rows import MemoryFactRow, delete_row, find_row, view
from memory.facts.tombstones import bury, was_deleted
from memory.facts.writing import write_for_user
from memory.users import lock_user, next_seq


async def put_fact(tx: UserTransaction, request: PutFact) -> Fact:
    await lock_user(tx)
    return await _write(tx, request.proposed, request.precondition)


async def restore_fact(tx: UserTransaction, request: RestoreFact) -> Fact:
    """Bring an overwritten value back; it passes the gate like any other write."""
    await lock_user(tx)
    version = await find_version(tx, request.version_id)
    if version is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    proposed = ProposedFact(key=version.key, value=version.value, category=version.category)
    return await _write(tx, proposed, request.precondition)


async def delete_fact(tx: UserTransaction, request: FactEditRequest) -> Done:
    """Delete the fact and its versions, and leave a tombstone that no older turn passes."""
    await lock_user(tx)
    key = clean_fact_key(request.key)
    row = await find_row(tx, key)
    if row is None:
        if await was_deleted(tx, key):  # asked again, because the first answer was lost
            return Done()
        raise ProblemError(ProblemCode.NOT_FOUND)
    if not _holds(request.precondition, row):
        raise ProblemError(ProblemCode.PRECONDITION_FAILED)
    older = (await versions_of(tx, [row]))[row.fact_id]
    values = [row.value, *(version.value for version in older)]
    await bury(tx, key, values, await next_seq(tx), "deleted")
    await delete_row(tx, row)
    await drop_candidates(tx, key, values)
    return Done()


async def _write(tx: UserTransaction, proposed: ProposedFact, precondition: Precondition) -> Fact:
    if precondition != Precondition():
        await remove_expired(tx)
        row = await find_row(tx, clean_fact_key(proposed.key))
        if not _holds(precondition, row):
            if row is not None and _says(row, proposed):
                return view(row)  # asked again, because the first answer was lost
            raise ProblemError(ProblemCode.PRECONDITION_FAILED)
    return await write_for_user(tx, proposed)


def _holds(precondition: Precondition, row: MemoryFactRow | None) -> bool:
    if precondition.must_be_new and row is not None:
        return False
    wanted = precondition.revision
    return wanted is None or (row is not None and wanted in ("*", row.order.revision))


def _says(row: MemoryFactRow, proposed: ProposedFact) -> bool:
    return row.value == proposed.value.strip() and proposed.category in (None, row.category)
