"""The one place that writes the facts table. A write applies where its order is not lower than what stands there."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, insert, update
from sqlalchemy.dialects.postgresql import insert as upsert

from common.memory_api.facts import FactAction, FactSource, MemoryCategory
from common.text import normalise
from memory.database.schema import memory_fact_evidence, memory_fact_versions, memory_facts
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.gate import ValidFact
from memory.facts.known import Known
from memory.facts.rows import COLUMNS, VALUE_COLUMN, VERSION_COLUMN, MemoryFactRow, Order, Writer, opened
from memory.facts.wording.persons import subject_of
from memory.users import own

_WRITTEN = (
    *("value", "category", "subject", "source", "seq", "rank", "run"),
    *("session_id", "turn_id", "candidate_id", "updated_at"),
)
_KEPT = ("fact_key", "category", "subject", "source", "seq", "rank", "run", "session_id", "turn_id")

_ADD = Statement(
    insert(memory_facts).returning(*COLUMNS),
    ("tenant_id", "user_id", "fact_id", "fact_key", "created_at", *_WRITTEN),
)
_KEEP_VERSION = Statement(
    insert(memory_fact_versions),
    ("tenant_id", "user_id", "version_id", "fact_id", "value", "written_at", "replaced_at", *_KEPT),
)
_ADD_EVIDENCE = Statement(
    upsert(memory_fact_evidence).on_conflict_do_nothing(),
    ("tenant_id", "user_id", "fact_id", "turn_id", "session_id", "source", "created_at"),
)


class Evidence(NamedTuple):
    """A turn that a fact rests on."""

    fact_id: UUID
    turn_id: UUID
    session_id: UUID
    source: FactSource


async def upsert_facts(tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer) -> FactAction:
    """Write one fact that has passed the gate. The caller holds the user's lock and has asked the tombstones."""
    existing = known.of_key(fact.key)
    if existing is None:
        written = await _insert(tx, fact, writer)
        action = FactAction.ADDED
    elif writer.order < existing.order:
        return FactAction.OUTDATED
    else:
        written, action = await _write_over(tx, existing, fact, writer)
    known.note(written)
    return action


async def _write_over(
    tx: UserTransaction, existing: MemoryFactRow, fact: ValidFact, writer: Writer
) -> tuple[MemoryFactRow, FactAction]:
    """What says the same as before supports the fact and raises its order; anything else replaces it.

    A repetition that nobody asked for takes nothing away: the curator changes neither source nor category, and
    only the user themself makes less of a constraint.
    """
    same = normalise(existing.value) == normalise(fact.value)
    if same and writer.source is FactSource.CURATOR:
        if writer.seq > existing.order.seq:
            existing = await _change(tx, existing.fact_id, **_ordered(writer.order), **_said_now(tx, writer))
        return existing, FactAction.SUPPORTED
    if same and existing.category is MemoryCategory.CONSTRAINT and writer.source is not FactSource.USER:
        fact = replace(fact, category=MemoryCategory.CONSTRAINT)
    if not same or existing.category is not fact.category:
        await _keep_version(tx, existing)
    written = await _change(tx, existing.fact_id, **_written(tx, existing.fact_id, fact, writer))
    return written, FactAction.SUPPORTED if same else FactAction.UPDATED


def _said_now(tx: UserTransaction, writer: Writer) -> dict[str, Any]:
    """A user who says it again keeps it for longer; a replay, in which nobody says anything, does not."""
    return {} if writer.run else {"updated_at": tx.now}


async def add_evidence(tx: UserTransaction, evidence: Sequence[Evidence]) -> None:
    """A turn counts once for a fact, however often it is added."""
    rows = [{**each._asdict(), "created_at": tx.now} for each in evidence]
    await tx.connection.execute_many(_ADD_EVIDENCE, rows)


async def _insert(tx: UserTransaction, fact: ValidFact, writer: Writer) -> MemoryFactRow:
    fact_id = tx.new_id()
    added = {"fact_id": fact_id, "fact_key": fact.key, "created_at": tx.now, **_written(tx, fact_id, fact, writer)}
    return opened(tx, (await tx.connection.execute(_ADD, added)).one())


async def _change(tx: UserTransaction, fact_id: UUID, **values: Any) -> MemoryFactRow:
    new = {f"new_{name}": value for name, value in values.items()}
    changed = await tx.connection.execute(_changing(tuple(values)), {"fact_id": fact_id, **new})
    return opened(tx, changed.one())


@cache
def _changing(columns: tuple[str, ...]) -> Statement:
    changed = update(memory_facts).where(own(memory_facts), memory_facts.c.fact_id == bindparam("fact_id"))
    return Statement(changed.values({name: bindparam(f"new_{name}") for name in columns}).returning(*COLUMNS))


def _written(tx: UserTransaction, fact_id: UUID, fact: ValidFact, writer: Writer) -> dict[str, Any]:
    return {
        **_ordered(writer.order),
        "value": tx.cipher.encrypt(fact.value, Place(VALUE_COLUMN, fact_id)),
        "category": fact.category,
        "subject": subject_of(fact.key, fact.value),
        "source": writer.source,
        "session_id": writer.session_id,
        "turn_id": writer.turn_id,
        "candidate_id": writer.candidate_id,
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
