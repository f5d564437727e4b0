"""The facts table as it is read. Facts are ordered by (seq, rank, run) of their last writer; the clock has no say."""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, delete, func, select

from common.memory_api.facts import Fact, FactSource, MemoryCategory
from memory.database.connection import Row
from memory.database.schema import memory_fact_evidence, memory_facts
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.expiry import expired_among, remove_facts
from memory.facts.relations import KnownFact
from memory.facts.scores import confidence, importance
from memory.users import own

VALUE_COLUMN = "memory_facts.value"
VERSION_COLUMN = "memory_fact_versions.value"

RANKS = {
    FactSource.CURATOR: 0,
    FactSource.SAVE_MEMORY: 1,
    FactSource.IMPORT: 2,
    FactSource.USER: 2,
}


class Order(NamedTuple):
    """Who wrote last: the turn's or edit's seq, then curator < save_memory < user, then the run."""

    seq: int
    rank: int
    run: int = 0

    @property
    def revision(self) -> str:
        return f"{self.seq}.{self.rank}.{self.run}"


@dataclass(frozen=True)
class Writer:
    """On whose behalf a fact is written, and where it comes from."""

    source: FactSource
    seq: int
    run: int = 0
    session_id: UUID | None = None
    turn_id: UUID | None = None
    candidate_id: UUID | None = None

    @property
    def order(self) -> Order:
        return Order(self.seq, RANKS[self.source], self.run)


@dataclass(frozen=True)
class MemoryFactRow(KnownFact):
    """A stored fact with its value in the clear, inside one transaction."""

    fact_id: UUID
    category: MemoryCategory
    order: Order
    row: Row


COLUMNS = tuple(column for column in memory_facts.columns)
_EVIDENCE = (
    select(func.count())
    .where(own(memory_fact_evidence), memory_fact_evidence.c.fact_id == memory_facts.c.fact_id)
    .scalar_subquery()
    .label("evidence")
)
_NEWEST_FIRST = (memory_facts.c.seq.desc(), memory_facts.c.fact_key)
_OF_USER = select(*COLUMNS).where(own(memory_facts))

_READ = Statement(_OF_USER.add_columns(_EVIDENCE).order_by(*_NEWEST_FIRST))
_LOCK_KEY = Statement(
    _OF_USER.add_columns(_EVIDENCE)
    .where(memory_facts.c.fact_key == bindparam("fact_key"))
    .with_for_update(of=memory_facts, key_share=True)
)
_READ_FOR_WRITING = Statement(_OF_USER)


async def read_rows(tx: UserTransaction) -> list[MemoryFactRow]:
    """The user's facts that have not expired, newest first, ties by key."""
    rows = (await tx.connection.execute(_READ)).all()
    expired = await expired_among(tx, rows)
    return [opened(tx, row) for row in rows if row.fact_id not in expired]


async def read_rows_for_writing(tx: UserTransaction) -> list[MemoryFactRow]:
    """The same in no order and without the count of evidence; what has expired is removed. The caller holds the
    user's lock, under which alone facts change."""
    rows = (await tx.connection.execute(_READ_FOR_WRITING)).all()
    expired = await expired_among(tx, rows)
    await remove_facts(tx, expired)
    return [opened(tx, row) for row in rows if row.fact_id not in expired]


async def find_row(tx: UserTransaction, fact_key: str) -> MemoryFactRow | None:
    """The fact of this key, also an expired one, locked."""
    row = (await tx.connection.execute(_LOCK_KEY, {"fact_key": fact_key})).one_or_none()
    return None if row is None else opened(tx, row)


async def read_facts(tx: UserTransaction, category: MemoryCategory | None = None) -> list[Fact]:
    rows = await read_rows(tx)
    return [view(row) for row in rows if category is None or row.category is category]


async def read_fact(tx: UserTransaction, fact_key: str) -> Fact | None:
    """The fact of this key unless it has expired."""
    row = await find_row(tx, fact_key)
    return None if row is None or await expired_among(tx, [row.row]) else view(row)


async def delete_row(tx: UserTransaction, row: MemoryFactRow) -> None:
    """Delete the fact; its versions, evidence and uses go with it."""
    await tx.connection.execute(delete(memory_facts).where(own(memory_facts), memory_facts.c.fact_id == row.fact_id))


def view(row: MemoryFactRow) -> Fact:
    stored = row.row
    return Fact(
        fact_id=row.fact_id,
        key=row.fact_key,
        value=row.value,
        category=row.category,
        subject=stored.subject,
        source=FactSource(stored.source),
        seq=stored.seq,
        session_id=stored.session_id,
        turn_id=stored.turn_id,
        evidence=stored.evidence,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        revision=row.order.revision,
        confidence=confidence(FactSource(stored.source), stored.evidence),
        importance=importance(row.category),
        last_used_at=stored.last_used_at,
    )


def opened(tx: UserTransaction, row: Row) -> MemoryFactRow:
    return MemoryFactRow(
        fact_id=row.fact_id,
        fact_key=row.fact_key,
        value=tx.cipher.decrypt(row.value, Place(VALUE_COLUMN, row.fact_id)),
        category=MemoryCategory(row.category),
        order=Order(row.seq, row.rank, row.run),
        row=row,
    )
