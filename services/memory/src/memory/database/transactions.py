"""Transactions: one user's, or the dispatch role's over all work records.

No statement of the service runs outside one of the two.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from common.clock import Clock
from common.ids import IdFactory
from common.memory_api.base import Owner
from memory.database.current_user import set_user
from memory.encryption.cipher import UserCipher
from memory.encryption.key_store import KeyStore
from memory.measurements import Measurements, MemoryMetrics
from memory.policy import Policy


@dataclass(frozen=True)
class UserTransaction:
    """One user's transaction and what a use case needs inside it."""

    connection: AsyncConnection
    owner: Owner
    cipher: UserCipher
    policy: Policy
    now: datetime
    new_id: IdFactory
    measured: Measurements

    @property
    def key(self) -> dict[str, str]:
        """The owner columns, for inserts."""
        return {"tenant_id": self.owner.tenant_id, "user_id": self.owner.user_id}


class Database:
    def __init__(
        self,
        user_engine: AsyncEngine,
        dispatch_engine: AsyncEngine,
        keys: KeyStore,
        policy: Policy,
        clock: Clock,
        new_id: IdFactory,
        metrics: MemoryMetrics,
    ) -> None:
        self._user_engine = user_engine
        self._dispatch_engine = dispatch_engine
        self._keys = keys
        self._policy = policy
        self._clock = clock
        self._new_id = new_id
        self._metrics = metrics

    @asynccontextmanager
    async def of_user(self, owner: Owner) -> AsyncIterator[UserTransaction]:
        # The key is fetched first: its store may be another database.
        cipher = UserCipher(owner, await self._keys.key_of(owner))
        measured = Measurements(self._metrics)
        async with self._user_engine.begin() as connection:
            await set_user(connection, owner)
            yield UserTransaction(connection, owner, cipher, self._policy, self._clock.now(), self._new_id, measured)
        measured.committed()

    @asynccontextmanager
    async def of_dispatch(self) -> AsyncIterator[AsyncConnection]:
        async with self._dispatch_engine.begin() as connection:
            yield connection

    async def ping(self) -> None:
        for engine in (self._user_engine, self._dispatch_engine):
            async with engine.connect() as connection:
                await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        await self._user_engine.dispose()
        await self._dispatch_engine.dispose()


def make_engine(url: str, pool_size: int) -> AsyncEngine:
    """An engine for a `postgresql://` URL. Statements and lock waits are bounded: nothing waits for ever."""
    return create_async_engine(
        make_url(url).set(drivername="postgresql+asyncpg"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=5.0,
        pool_pre_ping=True,
        hide_parameters=True,  # an error must not quote what a statement was given
        connect_args={
            "timeout": 5.0,
            "server_settings": {
                "application_name": "shoppingx-memory",
                "lock_timeout": "10s",
                "statement_timeout": "20s",
                "idle_in_transaction_session_timeout": "30s",
            },
        },
    )
