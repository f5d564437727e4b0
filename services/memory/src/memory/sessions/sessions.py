"""Sessions: made, listed, shown and ended by their user."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Select, Uuid, and_, any_, bindparam, func, insert, select, update

from common.memory_api.sessions import CreateSession, ListSessions, Session, SessionRequest, Sessions
from common.memory_api.turns import FailureCode
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import sessions, turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.sessions.closing import add_closing
from memory.turns.ending import end_open_turns
from memory.turns.rows import IS_OPEN
from memory.users import lock_user, own


async def create_session(tx: UserTransaction, _: CreateSession) -> Session:
    await lock_user(tx)
    session_id = tx.new_id()
    added = {"session_id": session_id, "created_at": tx.now, "last_activity_at": tx.now}
    await tx.connection.execute(_ADD, added)
    return await _session(tx, session_id)


async def get_session(tx: UserTransaction, request: SessionRequest) -> Session:
    return await _session(tx, request.session_id)


async def list_sessions(tx: UserTransaction, request: ListSessions) -> Sessions:
    query = _query().order_by(sessions.c.last_activity_at.desc(), sessions.c.session_id).limit(request.limit)
    return Sessions(sessions=[_view(row) for row in await tx.connection.execute(query)])


async def sessions_after(tx: UserTransaction, session_id: UUID, limit: int) -> list[Session]:
    """In the order of their ids, which is about that in which they were made."""
    query = _query().where(sessions.c.session_id > session_id).order_by(sessions.c.session_id).limit(limit)
    return [_view(row) for row in await tx.connection.execute(query)]


async def end_session(tx: UserTransaction, request: SessionRequest) -> Session:
    """End a session; a turn it is still working on is cancelled."""
    await lock_user(tx)
    session = await _session(tx, request.session_id)
    await end_open_turns(tx, FailureCode.CANCELLED_BY_USER, session_id=request.session_id)
    if session.state == "open":
        await mark_ended(tx, [request.session_id], reason="user")
        await add_closing(tx, request.session_id)
    return await _session(tx, request.session_id)


async def mark_ended(tx: UserTransaction, session_ids: Sequence[UUID], reason: str) -> None:
    ended = {"ended": list(session_ids), "new_ended_at": tx.now, "new_end_reason": reason}
    await tx.connection.execute(_MARK_ENDED, ended)


async def forget_session_constraints(tx: UserTransaction) -> None:
    """P_t of all the user's sessions, also of those that have ended."""
    await tx.connection.execute(_FORGET_CONSTRAINTS)


def _query() -> Select[Any]:
    of_session = and_(
        turns.c.tenant_id == sessions.c.tenant_id,
        turns.c.user_id == sessions.c.user_id,
        turns.c.session_id == sessions.c.session_id,
    )
    return select(
        sessions,
        select(func.count()).where(of_session).correlate(sessions).scalar_subquery().label("turns"),
        select(turns.c.turn_id).where(of_session, IS_OPEN).correlate(sessions).scalar_subquery().label("open_turn_id"),
    ).where(own(sessions))


_ADD = Statement(insert(sessions), ("tenant_id", "user_id", "session_id", "created_at", "last_activity_at"))
_MARK_ENDED = Statement(
    update(sessions)
    .where(
        own(sessions), sessions.c.session_id == any_(bindparam("ended", type_=ARRAY(Uuid))), sessions.c.state == "open"
    )
    .values(state="ended", ended_at=bindparam("new_ended_at"), end_reason=bindparam("new_end_reason"))
)
_FORGET_CONSTRAINTS = Statement(update(sessions).where(own(sessions)).values(session_constraints=None))
_FIND = Statement(_query().where(sessions.c.session_id == bindparam("session_id")))


async def _session(tx: UserTransaction, session_id: UUID) -> Session:
    row = (await tx.connection.execute(_FIND, {"session_id": session_id})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return _view(row)


def _view(row: Row) -> Session:
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
