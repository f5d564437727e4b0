"""What memory has stored of a session, in the clear: its log and P_t. Read as memory itself reads it, beside it."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from tests.support.memory_database import memory_database
from tests.support.processes import Processes

from common.memory_api.base import Owner
from common.memory_api.sessions import LogEntry
from memory.database.schema import sessions
from memory.database.statements import Statement
from memory.database.transactions import Database, UserTransaction
from memory.encryption.cipher import Place
from memory.sessions.log import read_log
from memory.users import own

_CONSTRAINTS = Statement(select(sessions.c.session_id, sessions.c.session_constraints).where(own(sessions)))


@dataclass(frozen=True)
class StoredSession:
    log: Sequence[LogEntry]
    constraints: Mapping[str, Any]
    """P_t; empty where there is none."""


class StoredSessions:
    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def read(self, user: str, session_id: UUID) -> StoredSession:
        async with self._database.of_user(Owner(tenant_id=self._tenant, user_id=user)) as tx:
            return StoredSession(await read_log(tx, session_id), await _constraints(tx, session_id))


async def _constraints(tx: UserTransaction, session_id: UUID) -> dict[str, Any]:
    rows = (await tx.connection.execute(_CONSTRAINTS)).all()
    [sealed] = [row.session_constraints for row in rows if row.session_id == session_id]
    if sealed is None:
        return {}
    return dict(json.loads(tx.cipher.decrypt(sealed, Place("sessions.session_constraints", session_id))))


@asynccontextmanager
async def stored_sessions(processes: Processes, tenant: str = "t1") -> AsyncIterator[StoredSessions]:
    database = memory_database(processes)
    try:
        yield StoredSessions(database, tenant)
    finally:
        await database.close()
