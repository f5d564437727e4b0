"""What a fact said before, and where it comes from."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import select

from common.memory_api.facts import (
    FactDetail,
    FactEvidence,
    FactKeyRequest,
    FactSource,
    FactVersion,
    History,
    MemoryCategory,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import memory_fact_evidence, memory_fact_versions
from memory.database.statements import among
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.facts.expiry import ages_of
from memory.facts.gate import clean_fact_key
from memory.facts.rows import VERSION_COLUMN, MemoryFactRow, read_rows, view
from memory.user_data.settings import time_zone
from memory.users import own


async def fact_history(tx: UserTransaction, request: FactKeyRequest) -> History:
    rows = await _of_key(tx, request)
    versions = await versions_of(tx, rows)
    return History(versions=[version for row in rows for version in versions[row.fact_id]])


async def get_fact(tx: UserTransaction, request: FactKeyRequest) -> FactDetail:
    details = await fact_details(tx, await _of_key(tx, request))
    if not details:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return details[0]


async def fact_details(tx: UserTransaction, rows: Sequence[MemoryFactRow]) -> list[FactDetail]:
    versions = await versions_of(tx, rows)
    evidence = await _evidence_of(tx, rows)
    zone = await time_zone(tx)
    return [
        FactDetail(
            fact=view(row),
            versions=versions[row.fact_id],
            evidence=evidence[row.fact_id],
            expires_at=tx.policy.lifetime.end(ages_of(row.row), zone),
        )
        for row in rows
    ]


async def versions_of(tx: UserTransaction, rows: Sequence[MemoryFactRow]) -> Mapping[UUID, list[FactVersion]]:
    """What each fact said before, newest first."""
    versions: dict[UUID, list[FactVersion]] = {row.fact_id: [] for row in rows}
    query = (
        select(memory_fact_versions)
        .where(own(memory_fact_versions), among(memory_fact_versions.c.fact_id, list(versions)))
        .order_by(memory_fact_versions.c.replaced_at.desc(), memory_fact_versions.c.version_id.desc())
    )
    for stored in await tx.connection.execute(query):
        versions[stored.fact_id].append(_version(tx, stored))
    return versions


async def find_version(tx: UserTransaction, version_id: UUID) -> FactVersion | None:
    query = select(memory_fact_versions).where(
        own(memory_fact_versions), memory_fact_versions.c.version_id == version_id
    )
    stored = (await tx.connection.execute(query)).one_or_none()
    return None if stored is None else _version(tx, stored)


async def _of_key(tx: UserTransaction, request: FactKeyRequest) -> list[MemoryFactRow]:
    key = clean_fact_key(request.key)
    return [row for row in await read_rows(tx) if row.fact_key == key]


async def _evidence_of(tx: UserTransaction, rows: Sequence[MemoryFactRow]) -> Mapping[UUID, list[FactEvidence]]:
    evidence: dict[UUID, list[FactEvidence]] = {row.fact_id: [] for row in rows}
    query = (
        select(memory_fact_evidence)
        .where(own(memory_fact_evidence), among(memory_fact_evidence.c.fact_id, list(evidence)))
        .order_by(memory_fact_evidence.c.created_at.desc(), memory_fact_evidence.c.turn_id)
    )
    for stored in await tx.connection.execute(query):
        evidence[stored.fact_id].append(
            FactEvidence(
                turn_id=stored.turn_id,
                session_id=stored.session_id,
                source=FactSource(stored.source),
                created_at=stored.created_at,
            )
        )
    return evidence


def _version(tx: UserTransaction, stored: Row) -> FactVersion:
    return FactVersion(
        version_id=stored.version_id,
        key=stored.fact_key,
        value=tx.cipher.decrypt(stored.value, Place(VERSION_COLUMN, stored.version_id)),
        category=MemoryCategory(stored.category),
        source=FactSource(stored.source),
        seq=stored.seq,
        replaced_at=stored.replaced_at,
        subject=stored.subject,
        session_id=stored.session_id,
        turn_id=stored.turn_id,
        written_at=stored.written_at,
    )
