"""The facts table: reading, and the one place that writes it.

Facts are ordered by (seq, rank, run) of their last writer. A write applies where its order is not lower than what
stands there; the clock has no say.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from common.memory_api.facts import Fact, FactAction, FactSource, MemoryCategory
from common.text import normalise
from memory.database.connection import Row
from memory.database.schema import memory_fact_evidence, memory_fact_versions, memory_facts
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.expiry import expired_among
from memory.facts.gate import ValidFact
from memory.facts.scores import confidence, importance
from memory.facts.wording.persons import subject_of
from memory.users import own

_VALUE = "memory_facts.value"
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
    row: Row


_COLUMNS = tuple(column for column in memory_facts.columns)
_EVIDENCE = (
    select(func.count())
    .where(own(memory_fact_evidence), memory_fact_evidence.c.fact_id == memory_facts.c.fact_id)
    .scalar_subquery()
    .label("evidence")
)
_NEWEST_FIRST = (memory_facts.c.seq.desc(), memory_facts.c.fact_key)
_OF_KEY = and_(own(memory_facts), memory_facts.c.fact_key == bindparam("fact_key"))
_OF_ID = and_(own(memory_facts), memory_facts.c.fact_id == bindparam("fact_id"))
_WRITTEN = ("value", "category", "subject", "source", "seq", "rank", "run", "session_id", "turn_id", "updated_at")
_KEPT = ("fact_key", "category", "subject", "source", "seq", "rank", "run", "session_id", "turn_id")

_READ = Statement(select(*_COLUMNS, _EVIDENCE).where(own(memory_facts)).order_by(*_NEWEST_FIRST))
_LOCK_KEY = Statement(select(*_COLUMNS, _EVIDENCE).where(_OF_KEY).with_for_update(of=memory_facts, key_share=True))
_ADD = Statement(insert(memory_facts), ("tenant_id", "user_id", "fact_id", "fact_key", "created_at", *_WRITTEN))
_KEEP_VERSION = Statement(
    insert(memory_fact_versions),
    ("tenant_id", "user_id", "version_id", "fact_id", "value", "written_at", "replaced_at", *_KEPT),
)
_ADD_EVIDENCE = Statement(
    upsert(memory_fact_evidence).on_conflict_do_nothing(),
    ("tenant_id", "user_id", "fact_id", "turn_id", "session_id", "source", "created_at"),
)


async def read_rows(tx: UserTransaction) -> list[MemoryFactRow]:
    """The user's facts that have not expired, newest first, ties by key."""
    rows = (await tx.connection.execute(_READ)).all()
    expired = await expired_among(tx, rows)
    return [_opened(tx, row) for row in rows if row.fact_id not in expired]


async def find_row(tx: UserTransaction, fact_key: str) -> MemoryFactRow | None:
    """The fact of this key, also an expired one, locked."""
    row = (await tx.connection.execute(_LOCK_KEY, {"fact_key": fact_key})).one_or_none()
    return None if row is None else _opened(tx, row)


async def read_facts(tx: UserTransaction, category: MemoryCategory | None = None) -> list[Fact]:
    rows = await read_rows(tx)
    return [view(row) for row in rows if category is None or row.category is category]


async def read_fact(tx: UserTransaction, fact_key: str) -> Fact | None:
    """The fact of this key unless it has expired."""
    row = await find_row(tx, fact_key)
    return None if row is None or await expired_among(tx, [row.row]) else view(row)


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
        if writer.seq > existing.order.seq:
            await _change(tx, existing.fact_id, **_ordered(writer.order), **_said_now(tx, writer))
        return FactAction.SUPPORTED
    if same and existing.category is MemoryCategory.CONSTRAINT and writer.source is not FactSource.USER:
        fact = replace(fact, category=MemoryCategory.CONSTRAINT)
    if not same or existing.category is not fact.category:
        await _keep_version(tx, existing)
    await _change(tx, existing.fact_id, **_written(tx, existing.fact_id, fact, writer))
    return FactAction.SUPPORTED if same else FactAction.UPDATED


def _said_now(tx: UserTransaction, writer: Writer) -> dict[str, Any]:
    """A user who says it again keeps it for longer; a replay, in which nobody says anything, does not."""
    return {} if writer.run else {"updated_at": tx.now}


async def add_evidence(tx: UserTransaction, fact_id: UUID, turn_id: UUID, session_id: UUID, source: FactSource) -> None:
    """A turn supports a fact once, however often it is curated."""
    added = {"fact_id": fact_id, "turn_id": turn_id, "session_id": session_id, "source": source, "created_at": tx.now}
    await tx.connection.execute(_ADD_EVIDENCE, added)


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


def _opened(tx: UserTransaction, row: Row) -> MemoryFactRow:
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
    added = {"fact_id": fact_id, "fact_key": fact.key, "created_at": tx.now, **_written(tx, fact_id, fact, writer)}
    await tx.connection.execute(_ADD, added)
    return fact_id


async def _change(tx: UserTransaction, fact_id: UUID, **values: Any) -> None:
    new = {f"new_{name}": value for name, value in values.items()}
    await tx.connection.execute(_changing(tuple(values)), {"fact_id": fact_id, **new})


@cache
def _changing(columns: tuple[str, ...]) -> Statement:
    return Statement(update(memory_facts).where(_OF_ID).values({name: bindparam(f"new_{name}") for name in columns}))


def _written(tx: UserTransaction, fact_id: UUID, fact: ValidFact, writer: Writer) -> dict[str, Any]:
    return {
        **_ordered(writer.order),
        "value": tx.cipher.encrypt(fact.value, Place(_VALUE, fact_id)),
        "category": fact.category,
        "subject": subject_of(fact.key, fact.value),
        "source": writer.source,
        "session_id": writer.session_id,
        "turn_id": writer.turn_id,
        "updated_at": tx.now,
    }


async def _keep_version(tx: UserTransaction, existing: MemoryFactRow) -> None:
    version_id = tx.new_id()
    added = {
        **{name: existing.row[name] for name in _KEPT},
        "version_id": version_id,
        "fact_id": existing.fact_id,
        "value": tx.cipher.encrypt(existing.value, Place(VERSION_COLUMN, version_id)),
        "written_at": existing.row.updated_at,
        "replaced_at": tx.now,
    }
    await tx.connection.execute(_KEEP_VERSION, added)


def _ordered(order: Order) -> dict[str, int]:
    return {"seq": order.seq, "rank": order.rank, "run": order.run}
