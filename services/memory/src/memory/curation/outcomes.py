"""What became of each proposed fact. Values are read from the facts, so a deleted one is gone here too."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import bindparam, insert, select

from common.memory_api.facts import FactAction, FactOutcome, MemoryCategory
from memory.database.schema import curation_outcomes
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.facts.rows import read_rows
from memory.users import own

_ADD = Statement(
    insert(curation_outcomes),
    ("tenant_id", "user_id", "turn_id", "run", "position", "fact_key", "action", "category", "rule"),
)
_READ = Statement(
    select(curation_outcomes)
    .where(
        own(curation_outcomes),
        curation_outcomes.c.turn_id == bindparam("turn_id"),
        curation_outcomes.c.run == bindparam("run"),
    )
    .order_by(curation_outcomes.c.position)
)


async def store_outcomes(tx: UserTransaction, turn_id: UUID, run: int, outcomes: Sequence[FactOutcome]) -> None:
    rows = [
        {
            "turn_id": turn_id,
            "run": run,
            "position": position,
            "fact_key": outcome.key,
            "action": outcome.action,
            "category": outcome.category,
            "rule": outcome.rule,
        }
        for position, outcome in enumerate(outcomes)
    ]
    if rows:
        await tx.connection.execute_many(_ADD, rows)


async def read_outcomes(tx: UserTransaction, turn_id: UUID, run: int = 0) -> list[FactOutcome]:
    rows = (await tx.connection.execute(_READ, {"turn_id": turn_id, "run": run})).all()
    if not rows:
        return []
    values = {fact.fact_key: fact.value for fact in await read_rows(tx) if fact.row.turn_id == turn_id}
    return [
        FactOutcome(
            key=row.fact_key,
            action=FactAction(row.action),
            category=None if row.category is None else MemoryCategory(row.category),
            value=values.get(row.fact_key) if FactAction(row.action).remembered else None,
            rule=row.rule,
        )
        for row in rows
    ]
