"""Facts that have expired: told apart when facts are read, removed at the next write and by the retention job."""

from collections.abc import Collection, Sequence
from datetime import UTC, tzinfo
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, any_, bindparam, delete, select, update

from common.memory_api.facts import MemoryCategory
from memory.database.connection import Row
from memory.database.schema import memory_facts
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.facts.lifetime import Ages
from memory.user_data.settings import time_zone
from memory.users import own

_AGES = Statement(
    select(
        memory_facts.c.fact_id,
        memory_facts.c.fact_key,
        memory_facts.c.category,
        memory_facts.c.updated_at,
        memory_facts.c.last_used_at,
        memory_facts.c.expires_at,
    ).where(own(memory_facts))
)
_REMOVE = Statement(
    delete(memory_facts).where(
        own(memory_facts), memory_facts.c.fact_id == any_(bindparam("removed", type_=ARRAY(Uuid)))
    )
)
_RENEW = Statement(
    update(memory_facts)
    .where(own(memory_facts), memory_facts.c.fact_id == bindparam("fact_id"))
    .values(updated_at=bindparam("new_updated_at"))
)


def ages_of(row: Row) -> Ages:
    return Ages(MemoryCategory(row.category), row.updated_at, row.last_used_at, row.expires_at)


async def expired_among(tx: UserTransaction, rows: Sequence[Row]) -> frozenset[UUID]:
    """Ids of the facts that may no longer be read. The user's time zone is asked for only where it matters."""
    lifetime = tx.policy.lifetime
    ages = {row.fact_id: ages_of(row) for row in rows if not lifetime.is_young(row.updated_at, row.expires_at, tx.now)}
    zone: tzinfo = UTC
    if any(lifetime.depends_on_zone(each, tx.now) for each in ages.values()):
        zone = await time_zone(tx)
    return frozenset(fact_id for fact_id, each in ages.items() if lifetime.has_ended(each, tx.now, zone))


async def remove_expired(tx: UserTransaction) -> frozenset[str]:
    """Remove what has expired, with its versions and evidence; returns the keys that are left."""
    rows = (await tx.connection.execute(_AGES)).all()
    expired = await expired_among(tx, rows)
    await remove_facts(tx, expired)
    return frozenset(row.fact_key for row in rows if row.fact_id not in expired)


async def remove_facts(tx: UserTransaction, fact_ids: Collection[UUID]) -> None:
    """With their versions and evidence."""
    if fact_ids:
        await tx.connection.execute(_REMOVE, {"removed": sorted(fact_ids)})


async def renew(tx: UserTransaction, fact_id: UUID) -> None:
    """It was said again: its time is counted anew."""
    await tx.connection.execute(_RENEW, {"fact_id": fact_id, "new_updated_at": tx.now})
