"""Removing what has expired of one user: facts, candidates, sessions with their turns, and marks that nobody needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from uuid import UUID

from sqlalchemy import Table, delete, exists, func, select, update

from common.memory_api.dispatch import WorkState
from common.memory_api.user_data import BehaviourKind
from memory.database.schema import behaviour, dispatch, memory_candidates, memory_tombstones, sessions, turns, users
from memory.database.statements import among
from memory.database.transactions import UserTransaction
from memory.facts.expiry import remove_expired
from memory.facts.lifetime import A_DAY, end_of_day
from memory.orders.expiring import remove_old_orders
from memory.sessions.log import lock_session
from memory.user_data.settings import time_zone
from memory.users import lock_user, own

PAUSE = timedelta(hours=20)
"""A user whose data was looked through less than this ago is not due: days are the unit of everything here."""


@dataclass(frozen=True)
class Removed:
    """Numbers of rows."""

    candidates: int = 0
    sessions: int = 0
    tombstones: int = 0
    orders: int = 0


async def remove_what_expired(tx: UserTransaction) -> Removed | None:
    """None where another replica has been here since the user was found to be due."""
    counters = await lock_user(tx)
    if counters.retained_at is not None and counters.retained_at > tx.now - PAUSE:
        return None
    zone = await time_zone(tx)
    await remove_expired(tx)
    removed = Removed(
        candidates=await _remove_candidates(tx, zone),
        sessions=await _remove_sessions(tx, zone),
        tombstones=await _remove_tombstones(tx, counters.seq),
        orders=await remove_old_orders(tx, zone),
    )
    await tx.connection.execute(update(users).where(own(users)).values(retained_at=tx.now))
    return removed


async def _remove_candidates(tx: UserTransaction, zone: tzinfo) -> int:
    rows = await tx.connection.execute(
        select(memory_candidates.c.candidate_id, memory_candidates.c.created_at).where(own(memory_candidates))
    )
    days = tx.policy.candidate_days
    expired = [row.candidate_id for row in rows if end_of_day(row.created_at, days, zone) <= tx.now]
    return await _delete(tx, memory_candidates, "candidate_id", expired)


async def _remove_sessions(tx: UserTransaction, zone: tzinfo) -> int:
    """Sessions that nobody has used for long, with all that hangs on them. One that work is still waiting for stays."""
    days = tx.policy.session_days
    waiting = exists().where(
        own(dispatch),
        dispatch.c.session_id == sessions.c.session_id,
        dispatch.c.state.in_((WorkState.PENDING, WorkState.LEASED)),
    )
    rows = await tx.connection.execute(
        select(sessions.c.session_id, sessions.c.last_activity_at)
        .where(own(sessions), sessions.c.last_activity_at < tx.now - (days - 1) * A_DAY, ~waiting)
        .order_by(sessions.c.session_id)
    )
    expired = [row.session_id for row in rows if end_of_day(row.last_activity_at, days, zone) <= tx.now]
    for session_id in expired:
        await lock_session(tx, session_id)
    if expired:
        await _remove_searches(tx, expired)
        await tx.connection.execute(delete(dispatch).where(own(dispatch), among(dispatch.c.session_id, expired)))
    return await _delete(tx, sessions, "session_id", expired)


async def _remove_searches(tx: UserTransaction, session_ids: Sequence[UUID]) -> None:
    of_sessions = select(turns.c.turn_id).where(own(turns), among(turns.c.session_id, session_ids))
    await tx.connection.execute(
        delete(behaviour).where(
            own(behaviour), behaviour.c.kind == BehaviourKind.SEARCH, behaviour.c.turn_id.in_(of_sessions)
        )
    )


async def _remove_tombstones(tx: UserTransaction, newest_seq: int) -> int:
    """Marks that are older than every turn that is left: no write can come that they would stop."""
    oldest_turn = select(func.coalesce(func.min(turns.c.seq), newest_seq + 1)).where(own(turns)).scalar_subquery()
    removed = (
        delete(memory_tombstones)
        .where(own(memory_tombstones), memory_tombstones.c.seq < oldest_turn)
        .returning(memory_tombstones.c.seq)
    )
    return len((await tx.connection.execute(removed)).all())


async def _delete(tx: UserTransaction, table: Table, id_column: str, ids: Sequence[UUID]) -> int:
    if ids:
        await tx.connection.execute(delete(table).where(own(table), among(table.c[id_column], ids)))
    return len(ids)
