"""Candidates: what the user's words only show, or do not carry at all. They wait for the user's yes or no.

One that the words of its turn show becomes a fact when the words of a second turn show it too.
"""

from collections.abc import Collection
from enum import StrEnum
from uuid import UUID

from sqlalchemy import delete, func, select
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
from memory.database.statements import Statement, among
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.gate import ValidFact
from memory.facts.known import Known
from memory.facts.rows import Writer, find_row, read_rows, view
from memory.facts.similarity import same_fact
from memory.facts.tombstones import bury
from memory.facts.writing import outcome, write_for_user
from memory.users import lock_user, next_seq, own

CANDIDATES_FULL = "candidates-full"

_VALUE = "memory_candidates.value"
_WAITING = Statement(select(memory_candidates).where(own(memory_candidates)))


class Basis(StrEnum):
    """What a candidate rests on."""

    INFERRED = "inferred"
    """The words of its turn."""
    UNSUPPORTED = "unsupported"
    """Nothing the user said; no number of repetitions makes it a fact."""


async def take_candidate(
    tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer, basis: Basis
) -> FactOutcome:
    """Keep a value for the user's approval, once, unless they have spoken against it since."""
    if known.tombstones.stop(fact.key, fact.value, writer.seq):
        return outcome(fact, FactAction.DELETED_BY_USER)
    waiting = await _waiting(tx, fact)
    if any(basis is Basis.UNSUPPORTED or row.basis == basis for row in waiting):
        return outcome(fact, FactAction.CANDIDATE)
    in_all = await tx.connection.scalar(select(func.count()).where(own(memory_candidates)))
    if in_all >= tx.policy.max_candidates:
        return FactOutcome(key=fact.key, action=FactAction.REFUSED, rule=CANDIDATES_FULL)
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
            basis=basis,
        )
        .on_conflict_do_nothing()
    )
    await _delete(tx, [row.candidate_id for row in waiting])
    return outcome(fact, FactAction.CANDIDATE)


async def inferred_before(tx: UserTransaction, fact: ValidFact, writer: Writer) -> Row | None:
    """A candidate of another turn whose words showed the same."""
    return next(
        (row for row in await _waiting(tx, fact) if row.basis == Basis.INFERRED and row.turn_id != writer.turn_id),
        None,
    )


async def _waiting(tx: UserTransaction, fact: ValidFact) -> list[Row]:
    """What waits and says the same, under whatever key."""
    rows = await tx.connection.execute(_WAITING)
    return [row for row in rows if same_fact(_value(tx, row), fact.value)]


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
                session_id=row.session_id,
            )
            for row in await tx.connection.execute(query)
        ]
    )


async def accept_candidate(tx: UserTransaction, request: CandidateRequest) -> Fact:
    """The user's yes makes it a fact of the user's own word. Asked again, it is answered with the fact that it made."""
    await lock_user(tx)
    made = next((row for row in await read_rows(tx) if row.row.candidate_id == request.candidate_id), None)
    if made is not None:
        return view(made)
    row = await _take(tx, request)
    proposed = ProposedFact(key=row.fact_key, value=_value(tx, row), category=row.category)
    return await write_for_user(tx, proposed, row.candidate_id)


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
    waiting = await tx.connection.execute(_WAITING)
    dropped = [
        row.candidate_id
        for row in waiting
        if row.fact_key == fact_key or tx.cipher.fingerprint(_value(tx, row)) in said
    ]
    await _delete(tx, dropped)


async def _delete(tx: UserTransaction, candidate_ids: Collection[UUID]) -> None:
    if candidate_ids:
        await tx.connection.execute(
            delete(memory_candidates).where(
                own(memory_candidates), among(memory_candidates.c.candidate_id, candidate_ids)
            )
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
