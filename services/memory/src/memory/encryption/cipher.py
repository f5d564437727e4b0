"""Encryption of a user's words: AES-256-GCM with a key per user.

The associated data names the owner, the table column and the row, so that a ciphertext copied to another place
does not open. Two layouts can be read; only the second is written:

    1   version, 12 bytes nonce, ciphertext with tag                    (the user's first key)
    2   version, 16 bytes key id, 12 bytes nonce, ciphertext with tag
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag

from common.memory_api.base import Owner
from common.text import normalise
from memory.encryption.keys import CannotDecrypt, DataKey, KeyRing, UnknownKey

_WITHOUT_KEY_ID = 1
_WITH_KEY_ID = 2
_KEY_ID_BYTES = 16
_NONCE_BYTES = 12


class NoKeyInForce(Exception):
    """A bug: something is to be sealed in a transaction that has not asked, under a lock, which key is in force."""


@dataclass(frozen=True)
class Place:
    """Where a ciphertext lives: `table.column` and the row's id."""

    column: str
    row: UUID | str


class UserCipher:
    """Opens what any key of the ring has sealed. Seals and hashes once `use` has said which key is in force."""

    def __init__(self, owner: Owner, ring: KeyRing) -> None:
        self._owner = f"{owner.tenant_id}\x1f{owner.user_id}"
        self._ring = ring
        self._in_force: DataKey | None = None

    def use(self, key_id: UUID | None) -> UUID:
        """Seal with this key from now on; None (a user from before keys had ids) is the first one. Returns its id.

        Raises UnknownKey: another process has changed the user's keys.
        """
        found = self._ring[0] if key_id is None else self._key(key_id)
        if found is None:
            raise UnknownKey("users.key_id")
        self._in_force = found
        return found.key_id

    def learn(self, key: DataKey) -> UUID:
        """Seal with this new key from now on."""
        self._ring = (*self._ring, key)
        return self.use(key.key_id)

    def encrypt(self, text: str, place: Place) -> bytes:
        key = self._sealing_key()
        nonce = os.urandom(_NONCE_BYTES)
        sealed = key.cipher.encrypt(nonce, text.encode(), self._associated(place))
        return sealing_prefix(key.key_id) + nonce + sealed

    def decrypt(self, stored: bytes, place: Place) -> str:
        """Raises CannotDecrypt."""
        version, body = stored[0] if stored else 0, stored[1:]
        if version == _WITH_KEY_ID and len(body) >= _KEY_ID_BYTES:
            key = self._key(UUID(bytes=body[:_KEY_ID_BYTES]))
            if key is None:
                raise UnknownKey(place.column)
            return self._open(key, body[_KEY_ID_BYTES:], place)
        if version == _WITHOUT_KEY_ID:
            return self._open(self._ring[0], body, place)
        raise CannotDecrypt(place.column)

    def fingerprint(self, text: str) -> bytes:
        """A keyed hash of the text as it compares (normalised); says nothing without the user's key."""
        return hmac.digest(self._sealing_key().hash_secret, normalise(text).encode(), hashlib.sha256)

    def exact_hash(self, *parts: str) -> bytes:
        """A keyed hash of exact texts, for telling two requests apart without keeping them."""
        return hmac.digest(self._sealing_key().hash_secret, "\x1f".join(parts).encode(), hashlib.sha256)

    def _open(self, key: DataKey, sealed: bytes, place: Place) -> str:
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return key.cipher.decrypt(nonce, body, self._associated(place)).decode()
        except (InvalidTag, ValueError):  # a nonce that is cut off is no nonce
            raise CannotDecrypt(place.column) from None

    def _key(self, key_id: UUID) -> DataKey | None:
        return next((key for key in self._ring if key.key_id == key_id), None)

    def _sealing_key(self) -> DataKey:
        if self._in_force is None:
            raise NoKeyInForce
        return self._in_force

    def _associated(self, place: Place) -> bytes:
        return f"{self._owner}\x1f{place.column}\x1f{place.row}".encode()


def sealing_prefix(key_id: UUID) -> bytes:
    """What every ciphertext of this key begins with."""
    return bytes([_WITH_KEY_ID]) + key_id.bytes
