"""Where the users' keys live. A port: production may keep them in another database with a shorter backup life
(`KEY_DATABASE_URL`), so that erasing a key reaches the backups too."""

import base64
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from common.clock import Clock
from common.ids import IdFactory
from common.memory_api.base import Owner
from memory.database.connection import Connection
from memory.database.pool import Pool
from memory.database.schema import user_keys
from memory.database.statements import Statement, owner_parameter
from memory.encryption.keys import KEY_BYTES, DataKey, KeyRing, MasterKeys

_CACHE_SECONDS = 300.0
_CACHE_ENTRIES = 10_000

_OWN = (user_keys.c.tenant_id == owner_parameter("tenant_id"), user_keys.c.user_id == owner_parameter("user_id"))
_FIND = Statement(select(user_keys).where(*_OWN))
_LOCK = Statement(select(user_keys).where(*_OWN).with_for_update())
_ADD = Statement(
    insert(user_keys).on_conflict_do_nothing(), ("tenant_id", "user_id", "key_id", "wrapped_key", "created_at")
)
_CHANGE = Statement(
    update(user_keys)
    .where(*_OWN)
    .values(
        key_id=bindparam("new_key_id"),
        wrapped_key=bindparam("new_wrapped_key"),
        older_key_ids=bindparam("new_older_key_ids"),
        older_wrapped_keys=bindparam("new_older_wrapped_keys"),
        created_at=bindparam("new_created_at"),
    )
)


class KeyStore(Protocol):
    async def ring_of(self, owner: Owner) -> KeyRing:
        """The user's keys; the first one is made at first use."""

    async def add(self, owner: Owner, *, same_hashes: bool) -> DataKey:
        """Add a key; what the older ones have sealed can still be read. `same_hashes` carries their hash secret on."""

    async def keep_only(self, owner: Owner, key_id: UUID) -> None:
        """Destroy all keys of the user but this one, for good. Nothing is done where the user does not have it."""

    def forget(self, owner: Owner) -> None:
        """Read the user's keys anew at the next use."""

    async def close(self) -> None: ...


class MasterKeyInvalid(Exception):
    """The master key file must hold 32 bytes in base64."""


def read_master_keys(current: Path, previous: Sequence[Path] = ()) -> MasterKeys:
    return MasterKeys(_read(current), [_read(path) for path in previous])


def _read(path: Path) -> bytes:
    try:
        key = base64.b64decode(path.read_text().strip(), validate=True)
    except ValueError:
        raise MasterKeyInvalid(str(path)) from None
    if len(key) != KEY_BYTES:
        raise MasterKeyInvalid(str(path))
    return key


class PostgresKeyStore:
    """Data keys in PostgreSQL, wrapped by the master key; a bounded, expiring cache in front."""

    def __init__(self, pool: Pool, masters: MasterKeys, clock: Clock, new_id: IdFactory) -> None:
        self._pool = pool
        self._masters = masters
        self._clock = clock
        self._new_id = new_id
        self._cache: OrderedDict[Owner, tuple[float, KeyRing]] = OrderedDict()

    async def ring_of(self, owner: Owner) -> KeyRing:
        cached = self._cache.get(owner)
        if cached is not None and cached[0] > self._clock.monotonic():
            return cached[1]
        async with self._pool.transaction(owner) as connection:
            ring = self._unwrapped(await self._find_or_make(connection, owner), owner)
        self._cache[owner] = (self._clock.monotonic() + _CACHE_SECONDS, ring)
        self._cache.move_to_end(owner)
        while len(self._cache) > _CACHE_ENTRIES:
            self._cache.popitem(last=False)
        return ring

    async def add(self, owner: Owner, *, same_hashes: bool) -> DataKey:
        self.forget(owner)
        async with self._pool.transaction(owner) as connection:
            await self._find_or_make(connection, owner)
            stored = (await connection.execute(_LOCK)).one()
            newest = self._unwrapped(stored, owner)[-1]
            key = DataKey.new(self._new_id(), newest.hash_secret if same_hashes else None)
            older_ids = [*stored.older_key_ids, stored.key_id]
            older = [*stored.older_wrapped_keys, stored.wrapped_key]
            await self._change(connection, key.key_id, self._masters.wrap(key, owner), older_ids, older)
        return key

    async def keep_only(self, owner: Owner, key_id: UUID) -> None:
        self.forget(owner)
        async with self._pool.transaction(owner) as connection:
            stored = (await connection.execute(_LOCK)).one_or_none()
            kept = None if stored is None else next((key for key in _wrapped(stored) if key[0] == key_id), None)
            if kept is not None:
                await self._change(connection, *kept, [], [])

    def forget(self, owner: Owner) -> None:
        self._cache.pop(owner, None)

    async def close(self) -> None:
        await self._pool.close()

    async def _find_or_make(self, connection: Connection, owner: Owner) -> Any:
        stored = (await connection.execute(_FIND)).one_or_none()
        if stored is None:
            # Two replicas may meet here: the first row wins, and both read it.
            key = DataKey.new(self._new_id())
            made = {"key_id": key.key_id, "wrapped_key": self._masters.wrap(key, owner)}
            await connection.execute(_ADD, {**made, "created_at": self._clock.now()})
            stored = (await connection.execute(_FIND)).one()
        return stored

    async def _change(
        self, connection: Connection, key_id: UUID, wrapped: bytes, older_ids: list[UUID], older: list[bytes]
    ) -> None:
        changed = {
            "new_key_id": key_id,
            "new_wrapped_key": wrapped,
            "new_older_key_ids": older_ids,
            "new_older_wrapped_keys": older,
            "new_created_at": self._clock.now(),
        }
        await connection.execute(_CHANGE, changed)

    def _unwrapped(self, stored: Any, owner: Owner) -> KeyRing:
        return tuple(self._masters.unwrap(key_id, wrapped, owner) for key_id, wrapped in _wrapped(stored))


def _wrapped(stored: Any) -> list[tuple[UUID, bytes]]:
    """Key ids and wrapped keys, oldest first."""
    older = zip(stored.older_key_ids, stored.older_wrapped_keys, strict=True)
    return [*older, (stored.key_id, stored.wrapped_key)]
