"""Encryption of a user's words: AES-256-GCM with a key per user.

The associated data names the owner, the table column and the row, so that a ciphertext copied to another place
does not open. Layout: 1 byte version, 12 bytes nonce, ciphertext with tag.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from common.memory_api.base import Owner
from common.text import normalise

_VERSION = b"\x01"
_NONCE_BYTES = 12


class CannotDecrypt(Exception):
    """The ciphertext does not belong to this user, column and row, or its key is gone."""


@dataclass(frozen=True)
class Place:
    """Where a ciphertext lives: `table.column` and the row's id."""

    column: str
    row: UUID | str


class UserCipher:
    def __init__(self, owner: Owner, key: bytes) -> None:
        self._owner = f"{owner.tenant_id}\x1f{owner.user_id}"
        self._aead = AESGCM(key)
        self._hash_key = hmac.digest(key, b"shoppingx fingerprint v1", hashlib.sha256)

    def encrypt(self, text: str, place: Place) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._aead.encrypt(nonce, text.encode(), self._associated(place))

    def decrypt(self, stored: bytes, place: Place) -> str:
        if stored[:1] != _VERSION:
            raise CannotDecrypt(place.column)
        nonce, sealed = stored[1 : 1 + _NONCE_BYTES], stored[1 + _NONCE_BYTES :]
        try:
            return self._aead.decrypt(nonce, sealed, self._associated(place)).decode()
        except InvalidTag:
            raise CannotDecrypt(place.column) from None

    def fingerprint(self, text: str) -> bytes:
        """A keyed hash of the text as it compares (normalised); says nothing without the user's key."""
        return hmac.digest(self._hash_key, normalise(text).encode(), hashlib.sha256)

    def exact_hash(self, *parts: str) -> bytes:
        """A keyed hash of exact texts, for telling two requests apart without keeping them."""
        return hmac.digest(self._hash_key, "\x1f".join(parts).encode(), hashlib.sha256)

    def _associated(self, place: Place) -> bytes:
        return f"{self._owner}\x1f{place.column}\x1f{place.row}".encode()
