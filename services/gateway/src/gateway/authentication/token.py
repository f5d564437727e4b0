"""Checking a bearer token: a JWT access token (RFC 9068) signed with Ed25519. Pure: no clock but the library's.

One algorithm is pinned, so that a token cannot choose how it is checked. Tenant and user come from nowhere else.
"""

from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import ValidationError

from common.memory_api.base import Owner

ALGORITHM = "EdDSA"
TOKEN_TYPE = "at+jwt"
TENANT_CLAIM = "tenant"
TOKEN_MAX_CHARACTERS = 4_096

_REQUIRED_CLAIMS = ["iss", "aud", "exp", "iat", "sub", TENANT_CLAIM]


class TokenRefused(Exception):
    """The token proves nothing. `reason` may be shown to the caller."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Caller:
    owner: Owner
    expires_at: float
    """Seconds since the epoch at which the token ends."""


class TokenVerifier:
    def __init__(self, public_key_pem: bytes, issuer: str, audience: str, leeway_seconds: int) -> None:
        key = load_pem_public_key(public_key_pem)
        if not isinstance(key, Ed25519PublicKey):
            raise ValueError("the token issuer's key must be an Ed25519 public key")
        self._key = key
        self._issuer = issuer
        self._audience = audience
        self._leeway = leeway_seconds

    def verify(self, token: str) -> Caller:
        """Raises TokenRefused."""
        if len(token) > TOKEN_MAX_CHARACTERS:
            raise TokenRefused("the token is too long")
        try:
            decoded = jwt.decode_complete(
                token,
                self._key,
                algorithms=[ALGORITHM],
                issuer=self._issuer,
                audience=self._audience,
                leeway=self._leeway,
                options={"require": _REQUIRED_CLAIMS},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenRefused("the token has expired") from error
        except (jwt.PyJWTError, RecursionError) as error:  # a header of a thousand brackets recurses
            raise TokenRefused("the token is not valid") from error
        if str(decoded["header"].get("typ")).casefold() != TOKEN_TYPE:
            raise TokenRefused("the token is not an access token")
        return _caller(decoded["payload"])


def _caller(claims: dict[str, object]) -> Caller:
    try:
        owner = Owner.model_validate({"tenant_id": claims[TENANT_CLAIM], "user_id": claims["sub"]})
    except ValidationError as error:
        raise TokenRefused("the token names no valid tenant and user") from error
    return Caller(owner, float(str(claims["exp"])))
