"""Sessions that nobody goes on with are closed: they end with the reason `idle`, and `session.closed` is published.

What is kept per session can be written then. Their log stays until retention takes it.
"""

from datetime import datetime, timedelta

from sqlalchemy import bindparam, select

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.base import Owner
from memory.database.connection import Row
from memory.database.schema import sessions, turns
from memory.database.statements import Statement
from memory.database.transactions import Database, UserTransaction
from memory.policy import Policy
from memory.sessions.closing import add_closing
from memory.sessions.log import lock_session
from memory.sessions.sessions import mark_ended
from memory.turns.rows import IS_OPEN
from memory.users import lock_user, own

_log = get_logger(__name__)

IDLE = "idle"
_BATCH = 200
_LOOK_EVERY = timedelta(minutes=1)

_SESSION = Statement(select(sessions).where(own(sessions), sessions.c.session_id == bindparam("session_id")))
_OPEN_TURN = Statement(
    select(turns.c.turn_id).where(own(turns), turns.c.session_id == bindparam("session_id"), IS_OPEN).limit(1)
)


class IdleSessions:
    def __init__(self, database: Database, policy: Policy, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._clock = clock
        self._look_at: datetime | None = None

    async def close(self) -> None:
        """Close what is idle; looks once a minute, and again at once while there is more than one batch."""
        now = self._clock.now()
        if self._look_at is not None and now < self._look_at:
            return
        found = await self._find(now)
        for row in found:
            try:
                async with self._database.of_user(Owner(tenant_id=row.tenant_id, user_id=row.user_id)) as tx:
                    await _close(tx, row)
            except Exception as error:  # noqa: BLE001 - one session that cannot be closed must not stop the others
                _log.error("session.not_closed", session_id=str(row.session_id), error=error)
        self._look_at = now if len(found) == _BATCH else now + _LOOK_EVERY

    async def _find(self, now: datetime) -> list[Row]:
        idle = (
            select(sessions.c.tenant_id, sessions.c.user_id, sessions.c.session_id)
            .where(sessions.c.state == "open", sessions.c.last_activity_at < now - self._policy.session_idle)
            .order_by(sessions.c.last_activity_at)
            .limit(_BATCH)
        )
        async with self._database.of_dispatch() as connection:
            return (await connection.execute(idle)).all()


async def _close(tx: UserTransaction, found: Row) -> None:
    """End the session unless its user has come back meanwhile; one without turns has nothing to be kept."""
    await lock_user(tx)
    await lock_session(tx, found.session_id)
    wanted = {"session_id": found.session_id}
    session = (await tx.connection.execute(_SESSION, wanted)).one()
    if session.state != "open" or session.last_activity_at >= tx.now - tx.policy.session_idle:
        return
    if (await tx.connection.execute(_OPEN_TURN, wanted)).all():
        return
    await mark_ended(tx, [found.session_id], reason=IDLE)
    await add_closing(tx, found.session_id)
