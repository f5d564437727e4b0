"""Where the users' keys live. A port: production may keep them in another database with a shorter backup life,
so that erasing a key reaches the backups too."""

import base64
import os
from collections import OrderedDict
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from common.clock import Clock
from common.ids import IdFactory
from common.memory_api.base import Owner
from memory.database.pool import Pool
from memory.database.schema import user_keys
from memory.database.statements import Statement, owner_parameter
from memory.encryption.cipher import CannotDecrypt

_KEY_BYTES = 32
_NONCE_BYTES = 12
_CACHE_SECONDS = 300.0
_CACHE_ENTRIES = 10_000


_FIND = Statement(
    select(user_keys.c.wrapped_key).where(
        user_keys.c.tenant_id == owner_parameter("tenant_id"), user_keys.c.user_id == owner_parameter("user_id")
    )
)
_ADD = Statement(
    insert(user_keys).on_conflict_do_nothing(), ("tenant_id", "user_id", "key_id", "wrapped_key", "created_at")
)


class KeyStore(Protocol):
    async def key_of(self, owner: Owner) -> bytes:
        """The user's 32-byte data key; made at first use."""


class MasterKeyInvalid(Exception):
    """The master key file must hold 32 bytes in base64."""


def read_master_key(path: Path) -> bytes:
    try:
        key = base64.b64decode(path.read_text().strip(), validate=True)
    except ValueError:
        raise MasterKeyInvalid(str(path)) from None
    if len(key) != _KEY_BYTES:
        raise MasterKeyInvalid(str(path))
    return key


class PostgresKeyStore:
    """Data keys in PostgreSQL, wrapped by the master key; a bounded, expiring cache in front."""

    def __init__(self, pool: Pool, master_key: bytes, clock: Clock, new_id: IdFactory) -> None:
        self._pool = pool
        self._master = AESGCM(master_key)
        self._clock = clock
        self._new_id = new_id
        self._cache: OrderedDict[Owner, tuple[float, bytes]] = OrderedDict()

    async def key_of(self, owner: Owner) -> bytes:
        cached = self._cache.get(owner)
        if cached is not None and cached[0] > self._clock.monotonic():
            return cached[1]
        key = await self._read_or_make(owner)
        self._cache[owner] = (self._clock.monotonic() + _CACHE_SECONDS, key)
        self._cache.move_to_end(owner)
        while len(self._cache) > _CACHE_ENTRIES:
            self._cache.popitem(last=False)
        return key

    async def _read_or_make(self, owner: Owner) -> bytes:
        async with self._pool.transaction(owner) as connection:
            wrapped = (await connection.execute(_FIND)).scalar_one_or_none()
            if wrapped is None:
                # Two replicas may meet here: the first row wins, and both read it.
                made = {
                    "key_id": self._new_id(),
                    "wrapped_key": self._wrap(AESGCM.generate_key(_KEY_BYTES * 8), owner),
                    "created_at": self._clock.now(),
                }
                await connection.execute(_ADD, made)
                wrapped = (await connection.execute(_FIND)).scalar_one()
        return self._unwrap(wrapped, owner)

    def _wrap(self, key: bytes, owner: Owner) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._master.encrypt(nonce, key, _associated(owner))

    def _unwrap(self, wrapped: bytes, owner: Owner) -> bytes:
        try:
            return self._master.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _associated(owner))
        except InvalidTag:
            raise CannotDecrypt("user_keys.wrapped_key") from None


def _associated(owner: Owner) -> bytes:
    return f"{owner.tenant_id}\x1f{owner.user_id}".encode()
