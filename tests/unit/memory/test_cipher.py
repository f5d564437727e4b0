"""Ciphertexts: what opens, what does not, and what was written before keys had ids."""

import hashlib
import hmac
import os
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from common.memory_api.base import Owner
from memory.encryption.cipher import NoKeyInForce, Place, UserCipher
from memory.encryption.keys import CannotDecrypt, DataKey, MasterKeys, UnknownKey

OWNER = Owner(tenant_id="t", user_id="u")
PLACE = Place("memory_facts.value", uuid4())
FIRST, SECOND = DataKey.new(uuid4()), DataKey.new(uuid4())


def cipher(*ring: DataKey, use: DataKey | None = None, owner: Owner = OWNER) -> UserCipher:
    made = UserCipher(owner, ring or (FIRST,))
    made.use(None if use is None else use.key_id)
    return made


def sealed_before_keys_had_ids(text: str) -> bytes:
    """Layout 1, as the first release wrote it."""
    nonce = os.urandom(12)
    associated = f"t\x1fu\x1f{PLACE.column}\x1f{PLACE.row}".encode()
    return b"\x01" + nonce + AESGCM(FIRST.secret).encrypt(nonce, text.encode(), associated)


def test_an_old_ciphertext_opens_also_after_a_rotation() -> None:
    old = sealed_before_keys_had_ids("对坚果过敏")
    assert cipher().decrypt(old, PLACE) == "对坚果过敏"
    assert cipher(FIRST, SECOND, use=SECOND).decrypt(old, PLACE) == "对坚果过敏"


def test_what_is_sealed_names_the_key_in_force() -> None:
    rotating = cipher(FIRST, SECOND, use=SECOND)
    sealed = rotating.encrypt("x", PLACE)
    assert cipher(SECOND).decrypt(sealed, PLACE) == "x"
    with pytest.raises(UnknownKey):
        cipher(FIRST).decrypt(sealed, PLACE)


def test_nothing_is_sealed_before_it_is_known_with_which_key() -> None:
    unsure = UserCipher(OWNER, (FIRST,))
    with pytest.raises(NoKeyInForce):
        unsure.encrypt("x", PLACE)
    with pytest.raises(NoKeyInForce):
        unsure.fingerprint("x")
    with pytest.raises(NoKeyInForce):
        unsure.exact_hash("x")
    with pytest.raises(UnknownKey):
        unsure.use(SECOND.key_id)


def test_a_ciphertext_belongs_to_its_user_column_and_row() -> None:
    sealed = cipher().encrypt("x", PLACE)
    other = Owner(tenant_id="t", user_id="v")
    for opener, place in (
        (cipher(owner=other), PLACE),
        (cipher(), Place(PLACE.column, uuid4())),
        (cipher(), Place("turns.reply", PLACE.row)),
    ):
        with pytest.raises(CannotDecrypt):
            opener.decrypt(sealed, place)


@given(st.binary(max_size=80), st.sampled_from([b"", b"\x01", b"\x02", b"\x02" + FIRST.key_id.bytes]))
def test_whatever_else_lies_there_does_not_open(junk: bytes, prefix: bytes) -> None:
    with pytest.raises(CannotDecrypt):
        cipher().decrypt(prefix + junk, PLACE)


def test_hashes_outlive_a_rotation_and_not_an_erasure() -> None:
    rotated = DataKey.new(uuid4(), FIRST.hash_secret)
    fingerprint = cipher().fingerprint("对坚果过敏")
    assert cipher(FIRST, rotated, use=rotated).fingerprint("对坚果过敏") == fingerprint
    assert cipher(SECOND).fingerprint("对坚果过敏") != fingerprint


def test_a_replaced_master_key_still_opens_what_it_wrapped() -> None:
    old, new = os.urandom(32), os.urandom(32)
    wrapped = MasterKeys(old).wrap(FIRST, OWNER)
    assert MasterKeys(new, [old]).unwrap(FIRST.key_id, wrapped, OWNER) == FIRST
    for masters, owner in ((MasterKeys(new), OWNER), (MasterKeys(old), Owner(tenant_id="t", user_id="v"))):
        with pytest.raises(CannotDecrypt):
            masters.unwrap(FIRST.key_id, wrapped, owner)


def test_a_key_wrapped_before_rotations_keeps_its_hashes() -> None:
    """32 bytes alone: the hash secret was derived from them."""
    master, nonce = os.urandom(32), os.urandom(12)
    wrapped = nonce + AESGCM(master).encrypt(nonce, FIRST.secret, b"t\x1fu")
    key = MasterKeys(master).unwrap(FIRST.key_id, wrapped, OWNER)
    derived = hmac.digest(FIRST.secret, b"shoppingx fingerprint v1", hashlib.sha256)
    assert (key.secret, key.hash_secret) == (FIRST.secret, derived)


def test_a_key_does_not_show_itself() -> None:
    assert FIRST.secret.hex() not in repr(FIRST)
    assert repr(FIRST.secret) not in repr(FIRST)
