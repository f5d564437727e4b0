"""The facts table: reading, and the one place that writes it.

Facts are ordered by (seq, rank, run) of their last writer. A write applies where its order is not lower than what
stands there; the clock has no say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Row, Select, delete, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from common.memory_api.facts import Fact, FactAction, FactSource, MemoryCategory
from common.text import normalise
from memory.database.schema import memory_fact_evidence, memory_fact_versions, memory_facts
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.gate import ValidFact
from memory.users import own

_VALUE = "memory_facts.value"
_VERSION = "memory_fact_versions.value"

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


@dataclass(frozen=True)
class Writer:
    """On whose behalf a fact is written, and where it comes from."""

    source: FactSource
    seq: int
    run: int = 0
    session_id: UUID | None = None
    turn_id: UUID | None = None

    @property
    def order(self) -> Order:
        return Order(self.seq, RANKS[self.source], self.run)


@dataclass(frozen=True)
class MemoryFactRow:
    """A stored fact with its value in the clear, inside one transaction."""

    fact_id: UUID
    fact_key: str
    value: str
    category: MemoryCategory
    order: Order
    row: Row[Any]


async def read_rows(tx: UserTransaction) -> list[MemoryFactRow]:
    """The user's facts that have not expired, newest first, ties by key."""
    query = (
        select(memory_facts)
        .where(own(memory_facts, tx), or_(memory_facts.c.expires_at.is_(None), memory_facts.c.expires_at > tx.now))
        .order_by(memory_facts.c.seq.desc(), memory_facts.c.updated_at.desc(), memory_facts.c.fact_key)
    )
    rows = await tx.connection.execute(query)
    return [_opened(tx, row) for row in rows]


async def find_row(tx: UserTransaction, fact_key: str) -> MemoryFactRow | None:
    """The fact of this key, also an expired one, locked."""
    query = select(memory_facts).where(own(memory_facts, tx), memory_facts.c.fact_key == fact_key)
    row = (await tx.connection.execute(query.with_for_update(key_share=True))).one_or_none()
    return None if row is None else _opened(tx, row)


async def read_facts(tx: UserTransaction, category: MemoryCategory | None = None) -> list[Fact]:
    rows = [row for row in await read_rows(tx) if category is None or row.category is category]
    counts = await _evidence_counts(tx)
    return [view(row, counts.get(row.fact_id, 0)) for row in rows]


async def read_fact(tx: UserTransaction, fact_key: str) -> Fact | None:
    row = await find_row(tx, fact_key)
    return None if row is None else view(row, (await _evidence_counts(tx)).get(row.fact_id, 0))


async def upsert_facts(tx: UserTransaction, fact: ValidFact, writer: Writer) -> FactAction:
    """Write one fact that has passed the gate. The caller holds the user's lock and has asked the tombstones."""
    existing = await find_row(tx, fact.key)
    if existing is None:
        fact_id = await _insert(tx, fact, writer)
        action = FactAction.ADDED
    elif writer.order < existing.order:
        return FactAction.OUTDATED
    else:
        fact_id = existing.fact_id
        action = await _write_over(tx, existing, fact, writer)
    if writer.turn_id is not None and writer.session_id is not None:
        await add_evidence(tx, fact_id, writer.turn_id, writer.session_id, writer.source)
    return action


async def _write_over(tx: UserTransaction, existing: MemoryFactRow, fact: ValidFact, writer: Writer) -> FactAction:
    """What says the same as before supports the fact and raises its order; anything else replaces it.

    A repetition that nobody asked for takes nothing away: the curator changes neither source nor category, and
    only the user themself makes less of a constraint.
    """
    same = normalise(existing.value) == normalise(fact.value)
    if same and writer.source is FactSource.CURATOR:
        await _change(tx, existing.fact_id, **_ordered(writer.order))
        return FactAction.SUPPORTED
    if same and existing.category is MemoryCategory.CONSTRAINT and writer.source is not FactSource.USER:
        fact = replace(fact, category=MemoryCategory.CONSTRAINT)
    if not same or existing.category is not fact.category:
        await _keep_version(tx, existing)
    await _change(tx, existing.fact_id, **_written(tx, existing.fact_id, fact, writer))
    return FactAction.SUPPORTED if same else FactAction.UPDATED


async def add_evidence(tx: UserTransaction, fact_id: UUID, turn_id: UUID, session_id: UUID, source: FactSource) -> None:
    """A turn supports a fact once, however often it is curated."""
    await tx.connection.execute(
        upsert(memory_fact_evidence)
        .values(**tx.key, fact_id=fact_id, turn_id=turn_id, session_id=session_id, source=source, created_at=tx.now)
        .on_conflict_do_nothing()
    )


async def delete_row(tx: UserTransaction, row: MemoryFactRow) -> None:
    """Delete the fact; its versions, evidence and uses go with it."""
    await tx.connection.execute(
        delete(memory_facts).where(own(memory_facts, tx), memory_facts.c.fact_id == row.fact_id)
    )


def versions_of(tx: UserTransaction, fact_key: str) -> Select[Any]:
    return (
        select(memory_fact_versions)
        .where(own(memory_fact_versions, tx), memory_fact_versions.c.fact_key == fact_key)
        .order_by(memory_fact_versions.c.replaced_at.desc(), memory_fact_versions.c.version_id.desc())
    )


def version_value(tx: UserTransaction, row: Row[Any]) -> str:
    return tx.cipher.decrypt(row.value, Place(_VERSION, row.version_id))


def view(row: MemoryFactRow, evidence: int) -> Fact:
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
        evidence=evidence,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
    )


def _opened(tx: UserTransaction, row: Row[Any]) -> MemoryFactRow:
    return MemoryFactRow(
        fact_id=row.fact_id,
        fact_key=row.fact_key,
        value=tx.cipher.decrypt(row.value, Place(_VALUE, row.fact_id)),
        category=MemoryCategory(row.category),
        order=Order(row.seq, row.rank, row.run),
        row=row,
    )


async def _insert(tx: UserTransaction, fact: ValidFact, writer: Writer) -> UUID:
    fact_id = tx.new_id()
    await tx.connection.execute(
        insert(memory_facts).values(
            **tx.key,
            fact_id=fact_id,
            fact_key=fact.key,
            created_at=tx.now,
            **_written(tx, fact_id, fact, writer),
        )
    )
    return fact_id


async def _change(tx: UserTransaction, fact_id: UUID, **values: Any) -> None:
    await tx.connection.execute(
        update(memory_facts).where(own(memory_facts, tx), memory_facts.c.fact_id == fact_id).values(**values)
    )


def _written(tx: UserTransaction, fact_id: UUID, fact: ValidFact, writer: Writer) -> dict[str, Any]:
    return {
        **_ordered(writer.order),
        "value": tx.cipher.encrypt(fact.value, Place(_VALUE, fact_id)),
        "category": fact.category,
        "source": writer.source,
        "session_id": writer.session_id,
        "turn_id": writer.turn_id,
        "updated_at": tx.now,
    }


def _ordered(order: Order) -> dict[str, int]:
    return {"seq": order.seq, "rank": order.rank, "run": order.run}


async def _keep_version(tx: UserTransaction, existing: MemoryFactRow) -> None:
    version_id = tx.new_id()
    kept = ("fact_key", "category", "subject", "source", "seq", "rank", "run", "session_id", "turn_id")
    await tx.connection.execute(
        insert(memory_fact_versions).values(
            **tx.key,
            **{name: getattr(existing.row, name) for name in kept},
            version_id=version_id,
            fact_id=existing.fact_id,
            value=tx.cipher.encrypt(existing.value, Place(_VERSION, version_id)),
            written_at=existing.row.updated_at,
            replaced_at=tx.now,
        )
    )


async def _evidence_counts(tx: UserTransaction) -> dict[UUID, int]:
    query = (
        select(memory_fact_evidence.c.fact_id, func.count().label("evidence"))
        .where(own(memory_fact_evidence, tx))
        .group_by(memory_fact_evidence.c.fact_id)
    )
    return {row.fact_id: row.evidence for row in await tx.connection.execute(query)}


def match_facts(facts: Sequence[Fact], topic: str, limit: int) -> list[Fact]:
    """Facts whose key or value contains the topic: substrings, since Chinese is not split at spaces."""
    wanted = normalise(topic)
    return [
        fact for fact in facts if wanted in normalise(fact.value) or wanted in normalise(fact.key.replace("_", " "))
    ][:limit]
