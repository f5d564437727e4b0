"""Candidates: values that the user's words did not carry. They wait for the user, who accepts or refuses them."""

from typing import Any

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.base import Done, OwnedRequest
from common.memory_api.facts import (
    Candidate,
    CandidateRequest,
    Candidates,
    Fact,
    MemoryCategory,
    ProposedFact,
)
from common.problems import ProblemCode, ProblemError
from memory.database.schema import memory_candidates
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.gate import ValidFact
from memory.facts.rows import Writer
from memory.facts.tombstones import bury
from memory.facts.writing import write_for_user
from memory.users import lock_user, next_seq, own

_VALUE = "memory_candidates.value"


async def keep_candidate(tx: UserTransaction, fact: ValidFact, writer: Writer) -> None:
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


async def list_candidates(tx: UserTransaction, _: OwnedRequest) -> Candidates:
    query = (
        select(memory_candidates)
        .where(own(memory_candidates, tx))
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
    """The user's no leaves a tombstone: nothing that was said before brings it back."""
    await lock_user(tx)
    row = await _take(tx, request)
    await bury(tx, row.fact_key, [_value(tx, row)], await next_seq(tx), "refused")
    await drop_candidates_of_key(tx, row.fact_key)
    return Done()


async def drop_candidates_of_key(tx: UserTransaction, fact_key: str) -> None:
    await tx.connection.execute(
        delete(memory_candidates).where(own(memory_candidates, tx), memory_candidates.c.fact_key == fact_key)
    )


async def _take(tx: UserTransaction, request: CandidateRequest) -> Row[Any]:
    taken = (
        delete(memory_candidates)
        .where(own(memory_candidates, tx), memory_candidates.c.candidate_id == request.candidate_id)
        .returning(memory_candidates)
    )
    row = (await tx.connection.execute(taken)).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return row


def _value(tx: UserTransaction, row: Row[Any]) -> str:
    return tx.cipher.decrypt(row.value, Place(_VALUE, row.candidate_id))
