"""Bearer tokens for local use: an Ed25519 key pair under `.local/keys/`, and access tokens signed with it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from devstack.secrets import write_private

ISSUER = "shoppingx-devstack"
AUDIENCE = "shoppingx-gateway"
ALGORITHM = "EdDSA"
LIFETIME = timedelta(hours=12)


@dataclass(frozen=True)
class SigningKeys:
    """The files of a key pair. The gateway gets the public one; only we hold the private one."""

    private_file: Path
    public_file: Path

    @classmethod
    def in_directory(cls, directory: Path) -> "SigningKeys":
        """The pair in this directory; made where there is none."""
        keys = cls(directory / "jwt-private.pem", directory / "jwt-public.pem")
        if not keys.private_file.exists():
            private = Ed25519PrivateKey.generate()
            private_pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            public_pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
            write_private(keys.private_file, private_pem.decode())
            keys.public_file.write_bytes(public_pem)
        return keys

    def token(self, tenant: str, user: str, issued_at: datetime, lifetime: timedelta = LIFETIME) -> str:
        """An access token (RFC 9068) of `user` in `tenant`."""
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": user,
            "tenant": tenant,
            "iat": issued_at,
            "exp": issued_at + lifetime,
        }
        private_pem = self.private_file.read_bytes()
        return jwt.encode(claims, private_pem, algorithm=ALGORITHM, headers={"typ": "at+jwt"})
