"""Only a token of our issuer for us, in force, names a caller."""

import time

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.support.access_tokens import AUDIENCE, ISSUER, TokenIssuer, forged_tokens

from common.memory_api.base import Owner
from gateway.authentication.middleware import bearer_token
from gateway.authentication.token import TokenRefused, TokenVerifier

OWNER = Owner(tenant_id="shop", user_id="alice")
TRUSTED = TokenIssuer()
FORGED = forged_tokens(TRUSTED, OWNER)


@pytest.fixture(scope="module")
def verifier() -> TokenVerifier:
    return TokenVerifier(TRUSTED.public_pem, ISSUER, AUDIENCE, leeway_seconds=60)


def test_a_valid_token_names_tenant_and_user(verifier: TokenVerifier) -> None:
    caller = verifier.verify(TRUSTED.token(OWNER, exp=4_000_000_000))
    assert caller.owner == OWNER
    assert caller.expires_at == 4_000_000_000


def test_one_of_several_audiences_is_enough(verifier: TokenVerifier) -> None:
    assert verifier.verify(TRUSTED.token(OWNER, aud=["other", AUDIENCE])).owner == OWNER


def test_a_clock_may_be_a_little_off(verifier: TokenVerifier) -> None:
    now = int(time.time())
    assert verifier.verify(TRUSTED.token(OWNER, iat=now + 30, exp=now + 600)).owner == OWNER
    assert verifier.verify(TRUSTED.token(OWNER, iat=now - 600, exp=now - 30)).owner == OWNER


@pytest.mark.parametrize("token", FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_is_refused(verifier: TokenVerifier, token: str) -> None:
    with pytest.raises(TokenRefused):
        verifier.verify(token)


def test_only_an_ed25519_key_is_accepted() -> None:
    key = generate_private_key(public_exponent=65_537, key_size=2_048).public_key()
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(ValueError, match="Ed25519"):
        TokenVerifier(pem, ISSUER, AUDIENCE, leeway_seconds=60)


def test_the_scheme_is_not_case_sensitive() -> None:
    assert bearer_token([(b"authorization", b"bEaReR abc")]) == "abc"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"Basic abc")],
        [(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")],
        [(b"authorization", "Bearer é".encode())],
        [(b"cookie", b"token=abc")],
    ],
)
def test_anything_but_one_bearer_header_is_refused(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(TokenRefused):
        bearer_token(headers)
