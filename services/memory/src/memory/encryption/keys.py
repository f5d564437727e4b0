"""A user's data keys, and how they are stored: wrapped by the master key.

A user has one key in force; while a rotation goes on, the older ones are still there for reading. Which one is in force
is said by the user's row (`users.key_id`), in the database that holds what was encrypted: so the two change together.
"""

import hashlib
import hmac
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from common.memory_api.base import Owner

KEY_BYTES = 32
_NONCE_BYTES = 12


class CannotDecrypt(Exception):
    """The ciphertext does not belong to this user, column and row, or its key is gone."""


class UnknownKey(CannotDecrypt):
    """The key is none of those this process knows of; another one may have made it a moment ago."""


@dataclass(frozen=True)
class DataKey:
    """`secret` encrypts; `hash_secret` makes keyed hashes and is carried on when the key is rotated: what they were
    made from is not there any more."""

    key_id: UUID
    secret: bytes = field(repr=False)
    hash_secret: bytes = field(repr=False)

    @cached_property
    def cipher(self) -> AESGCM:
        return AESGCM(self.secret)

    @classmethod
    def new(cls, key_id: UUID, hash_secret: bytes | None = None) -> "DataKey":
        return cls(key_id, os.urandom(KEY_BYTES), hash_secret or os.urandom(KEY_BYTES))


KeyRing = tuple[DataKey, ...]
"""A user's keys, oldest first; never empty."""


class MasterKeys:
    """Wrap with the current master key; open what any of them has wrapped, so that a master key can be replaced."""

    def __init__(self, current: bytes, previous: Sequence[bytes] = ()) -> None:
        self._current = AESGCM(current)
        self._all = (self._current, *(AESGCM(key) for key in previous))

    def wrap(self, key: DataKey, owner: Owner) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._current.encrypt(nonce, key.secret + key.hash_secret, _associated(owner))

    def unwrap(self, key_id: UUID, wrapped: bytes, owner: Owner) -> DataKey:
        """Raises CannotDecrypt."""
        for master in self._all:
            try:
                opened = master.decrypt(wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], _associated(owner))
            except InvalidTag:
                continue
            secret = opened[:KEY_BYTES]
            return DataKey(key_id, secret, opened[KEY_BYTES:] or _first_hash_secret(secret))
        raise CannotDecrypt("user_keys.wrapped_key")


def _first_hash_secret(secret: bytes) -> bytes:
    """Of keys from before there were rotations, whose hashes were made with a key derived from their own."""
    return hmac.digest(secret, b"shoppingx fingerprint v1", hashlib.sha256)


def _associated(owner: Owner) -> bytes:
    return f"{owner.tenant_id}\x1f{owner.user_id}".encode()
