"""Sessions: made, listed, shown and ended by their user."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select, and_, func, insert, select, update

from common.memory_api.sessions import CreateSession, ListSessions, Session, SessionRequest, Sessions
from common.memory_api.turns import FailureCode
from common.problems import ProblemCode, ProblemError
from memory.database.schema import sessions, turns
from memory.database.transactions import UserTransaction
from memory.turns.ending import end_open_turns
from memory.turns.rows import IS_OPEN
from memory.users import lock_user, own


async def create_session(tx: UserTransaction, _: CreateSession) -> Session:
    await lock_user(tx)
    session_id = tx.new_id()
    await tx.connection.execute(
        insert(sessions).values(**tx.key, session_id=session_id, created_at=tx.now, last_activity_at=tx.now)
    )
    return await _session(tx, session_id)


async def get_session(tx: UserTransaction, request: SessionRequest) -> Session:
    return await _session(tx, request.session_id)


async def list_sessions(tx: UserTransaction, request: ListSessions) -> Sessions:
    query = _query(tx).order_by(sessions.c.last_activity_at.desc(), sessions.c.session_id).limit(request.limit)
    return Sessions(sessions=[_view(row) for row in await tx.connection.execute(query)])


async def end_session(tx: UserTransaction, request: SessionRequest) -> Session:
    """End a session; a turn it is still working on is cancelled."""
    await lock_user(tx)
    await _session(tx, request.session_id)
    await end_open_turns(tx, FailureCode.CANCELLED_BY_USER, session_id=request.session_id)
    await mark_ended(tx, [request.session_id], reason="user")
    return await _session(tx, request.session_id)


async def mark_ended(tx: UserTransaction, session_ids: Sequence[UUID], reason: str) -> None:
    await tx.connection.execute(
        update(sessions)
        .where(own(sessions, tx), sessions.c.session_id.in_(session_ids), sessions.c.state == "open")
        .values(state="ended", ended_at=tx.now, end_reason=reason)
    )


def _query(tx: UserTransaction) -> Select[Any]:
    of_session = and_(
        turns.c.tenant_id == sessions.c.tenant_id,
        turns.c.user_id == sessions.c.user_id,
        turns.c.session_id == sessions.c.session_id,
    )
    return select(
        sessions,
        select(func.count()).where(of_session).correlate(sessions).scalar_subquery().label("turns"),
        select(turns.c.turn_id).where(of_session, IS_OPEN).correlate(sessions).scalar_subquery().label("open_turn_id"),
    ).where(own(sessions, tx))


async def _session(tx: UserTransaction, session_id: UUID) -> Session:
    row = (await tx.connection.execute(_query(tx).where(sessions.c.session_id == session_id))).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return _view(row)


def _view(row: Row[Any]) -> Session:
    return Session(
        session_id=row.session_id,
        state=row.state,
        created_at=row.created_at,
        last_activity_at=row.last_activity_at,
        ended_at=row.ended_at,
        end_reason=row.end_reason,
        turns=row.turns,
        open_turn_id=row.open_turn_id,
    )
