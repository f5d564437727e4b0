"""Access tokens as an identity provider issues them, and as a forger would."""

import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from common.memory_api.base import Owner

ISSUER = "https://issuer.test"
AUDIENCE = "shoppingx-gateway"
LEFT_OUT: Any = object()
"""The value of a claim that the token is to lack."""


class TokenIssuer:
    def __init__(self) -> None:
        self.private_key = Ed25519PrivateKey.generate()

    @property
    def public_pem(self) -> bytes:
        return self.private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def write_public_key(self, file: Path) -> Path:
        file.write_bytes(self.public_pem)
        return file

    def token(self, owner: Owner, *, typ: str = "at+jwt", **changes: Any) -> str:
        """A valid token of `owner`, with claims changed or LEFT_OUT."""
        return jwt.encode(claims_of(owner, **changes), self.private_key, "EdDSA", headers={"typ": typ})


def claims_of(owner: Owner, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "iat": now,
        "exp": now + 600,
        "sub": owner.user_id,
        "tenant": owner.tenant_id,
        **changes,
    }
    return {name: value for name, value in claims.items() if value is not LEFT_OUT}


def forged_tokens(issuer: TokenIssuer, owner: Owner) -> dict[str, str]:
    """Everything that must not be let in, by the name of what is wrong with it."""
    now = int(time.time())
    at_jwt = {"typ": "at+jwt"}
    valid = issuer.token(owner)
    header, payload, signature = valid.split(".")
    return {
        "a dot": ".",
        "not a token": "abc.def.ghi",
        "two parts": f"{header}.{payload}",
        "no signature": f"{header}.{payload}.",
        "cut signature": f"{header}.{payload}.{signature[:-4]}",
        "other payload": f"{header}.{issuer.token(owner, sub='somebody-else').split('.')[1]}.{signature}",
        "expired": issuer.token(owner, iat=now - 7_200, exp=now - 3_600),
        "not yet valid": issuer.token(owner, nbf=now + 3_600),
        "issued in the future": issuer.token(owner, iat=now + 3_600),
        "other audience": issuer.token(owner, aud="shoppingx-memory"),
        "other issuer": issuer.token(owner, iss="https://evil.test"),
        "other key": TokenIssuer().token(owner),
        "unsigned": jwt.encode(claims_of(owner), "", "none", headers=at_jwt),
        "HS256 with the public key": _hs256(claims_of(owner), issuer.public_pem, at_jwt),
        "not an access token": issuer.token(owner, typ="JWT"),
        "no type": jwt.encode(claims_of(owner), issuer.private_key, "EdDSA", headers={"typ": None}),
        **{
            f"no {claim}": issuer.token(owner, **{claim: LEFT_OUT})
            for claim in ("iss", "aud", "exp", "iat", "sub", "tenant")
        },
        "tenant with a slash": issuer.token(owner, tenant="../other"),
        "empty tenant": issuer.token(owner, tenant=""),
        "tenant is a list": issuer.token(owner, tenant=["shop"]),
        "user with a space": issuer.token(owner, sub="some body"),
        "far too long": issuer.token(owner, padding="x" * 5_000),
        "brackets": jwt.utils.base64url_encode(b"[" * 3_000).decode() + f".{payload}.{signature}",
    }


def _hs256(claims: dict[str, Any], secret: bytes, headers: dict[str, str]) -> str:
    """Signed with the public key's bytes as a shared secret; by hand, because PyJWT refuses a PEM as one."""
    encode = jwt.utils.base64url_encode
    header = encode(json.dumps({"alg": "HS256", **headers}).encode())
    signed = header + b"." + encode(json.dumps(claims).encode())
    return (signed + b"." + encode(hmac.new(secret, signed, hashlib.sha256).digest())).decode()
