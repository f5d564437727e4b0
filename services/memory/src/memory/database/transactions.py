"""Transactions: one user's, or the dispatch role's over all work records.

No statement of the service runs outside one of the two.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from common.clock import Clock
from common.ids import IdFactory
from common.memory_api.base import Owner
from memory.database.connection import Connection
from memory.database.pool import Pool
from memory.dispatch.outcomes import Circuits
from memory.encryption.cipher import UserCipher
from memory.encryption.key_store import KeyStore
from memory.encryption.keys import UnknownKey
from memory.measurements import Measurements, MemoryMetrics
from memory.policy import Policy


@dataclass(frozen=True)
class UserTransaction:
    """One user's transaction and what a use case needs inside it."""

    connection: Connection
    owner: Owner
    cipher: UserCipher
    policy: Policy
    now: datetime
    new_id: IdFactory
    measured: Measurements
    circuits: Circuits

    @property
    def key(self) -> dict[str, str]:
        """The owner columns, for inserts."""
        return {"tenant_id": self.owner.tenant_id, "user_id": self.owner.user_id}


class Database:
    def __init__(
        self,
        users: Pool,
        dispatch: Pool,
        keys: KeyStore,
        policy: Policy,
        clock: Clock,
        new_id: IdFactory,
        metrics: MemoryMetrics,
    ) -> None:
        self._users = users
        self._dispatch = dispatch
        self.keys = keys
        self._policy = policy
        self._clock = clock
        self._new_id = new_id
        self._metrics = metrics
        self.circuits = Circuits(policy.circuit)

    @property
    def policy(self) -> Policy:
        return self._policy

    def now(self) -> datetime:
        return self._clock.now()

    @asynccontextmanager
    async def of_user(self, owner: Owner) -> AsyncIterator[UserTransaction]:
        """Raises DatabaseError; UnknownKey where the user's keys have changed a moment ago: asking again helps."""
        # The keys are fetched first: their store may be another database.
        cipher = UserCipher(owner, await self.keys.ring_of(owner))
        measured = Measurements(self._metrics)
        try:
            async with self._users.transaction(owner) as connection:
                yield UserTransaction(
                    connection,
                    owner,
                    cipher,
                    self._policy,
                    self._clock.now(),
                    self._new_id,
                    measured,
                    self.circuits,
                )
        except UnknownKey:
            self.keys.forget(owner)
            raise
        measured.committed()

    @asynccontextmanager
    async def of_dispatch(self) -> AsyncIterator[Connection]:
        async with self._dispatch.transaction() as connection:
            yield connection

    async def ping(self) -> None:
        """Raises DatabaseError."""
        await self._users.ping()
        await self._dispatch.ping()

    async def close(self) -> None:
        await self._users.close()
        await self._dispatch.close()
        await self.keys.close()
