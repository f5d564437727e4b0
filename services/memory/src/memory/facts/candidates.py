"""Candidates: values that the user's words did not carry. They wait for the user, who accepts or refuses them."""

from collections.abc import Collection

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.base import Done, OwnedRequest
from common.memory_api.facts import (
    Candidate,
    CandidateRequest,
    Candidates,
    Fact,
    FactAction,
    FactOutcome,
    MemoryCategory,
    ProposedFact,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import memory_candidates
from memory.database.statements import among
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.gate import ValidFact
from memory.facts.rows import Writer, find_row
from memory.facts.tombstones import buried, bury
from memory.facts.writing import outcome, write_for_user
from memory.users import lock_user, next_seq, own

_VALUE = "memory_candidates.value"


async def take_candidate(tx: UserTransaction, fact: ValidFact, writer: Writer) -> FactOutcome:
    """Keep a value for the user's approval, unless they have spoken against it since."""
    if await buried(tx, fact.key, fact.value, writer.seq):
        return outcome(fact, FactAction.DELETED_BY_USER)
    candidate_id = tx.new_id()
    await tx.connection.execute(
        insert(memory_candidates)
        .values(
            **tx.key,
            candidate_id=candidate_id,
            fact_key=fact.key,
            value=tx.cipher.encrypt(fact.value, Place(_VALUE, candidate_id)),
            category=fact.category,
            seq=writer.seq,
            run=writer.run,
            session_id=writer.session_id,
            turn_id=writer.turn_id,
            created_at=tx.now,
        )
        .on_conflict_do_nothing()
    )
    return outcome(fact, FactAction.CANDIDATE)


async def list_candidates(tx: UserTransaction, _: OwnedRequest) -> Candidates:
    query = (
        select(memory_candidates)
        .where(own(memory_candidates))
        .order_by(memory_candidates.c.seq.desc(), memory_candidates.c.fact_key)
    )
    return Candidates(
        candidates=[
            Candidate(
                candidate_id=row.candidate_id,
                key=row.fact_key,
                value=_value(tx, row),
                category=MemoryCategory(row.category),
                turn_id=row.turn_id,
                created_at=row.created_at,
            )
            for row in await tx.connection.execute(query)
        ]
    )


async def accept_candidate(tx: UserTransaction, request: CandidateRequest) -> Fact:
    """The user's yes makes it a fact of the user's own word."""
    await lock_user(tx)
    row = await _take(tx, request)
    return await write_for_user(tx, ProposedFact(key=row.fact_key, value=_value(tx, row), category=row.category))


async def refuse_candidate(tx: UserTransaction, request: CandidateRequest) -> Done:
    """The user's no leaves a tombstone: nothing that was said before brings it back.

    Where a fact of that key stands, the no is to the value alone.
    """
    await lock_user(tx)
    row = await _take(tx, request)
    value = _value(tx, row)
    whole_key = await find_row(tx, row.fact_key) is None
    await bury(tx, row.fact_key, [value], await next_seq(tx), "refused", whole_key=whole_key)
    await drop_candidates(tx, row.fact_key if whole_key else None, [value])
    return Done()


async def drop_candidates(tx: UserTransaction, fact_key: str | None, values: Collection[str]) -> None:
    """Drop what waits under the key, or says one of the values under any key."""
    said = {tx.cipher.fingerprint(value) for value in values}
    waiting = (await tx.connection.execute(select(memory_candidates).where(own(memory_candidates)))).all()
    dropped = [
        row.candidate_id
        for row in waiting
        if row.fact_key == fact_key or tx.cipher.fingerprint(_value(tx, row)) in said
    ]
    if dropped:
        await tx.connection.execute(
            delete(memory_candidates).where(own(memory_candidates), among(memory_candidates.c.candidate_id, dropped))
        )


async def _take(tx: UserTransaction, request: CandidateRequest) -> Row:
    taken = (
        delete(memory_candidates)
        .where(own(memory_candidates), memory_candidates.c.candidate_id == request.candidate_id)
        .returning(memory_candidates)
    )
    row: Row | None = (await tx.connection.execute(taken)).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return row


def _value(tx: UserTransaction, row: Row) -> str:
    return tx.cipher.decrypt(row.value, Place(_VALUE, row.candidate_id))
