"""The secrets of one local installation: made once, kept under `.local/`, readable by their owner only."""

import base64
import json
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from devstack.database import RolePasswords


@dataclass(frozen=True)
class Secrets:
    postgres_password: str
    memory_app_password: str
    memory_dispatch_password: str
    valkey_password: str
    gateway_token: str
    agent_token: str
    curator_token: str
    operator_token: str

    @property
    def role_passwords(self) -> RolePasswords:
        return RolePasswords(app=self.memory_app_password, dispatch=self.memory_dispatch_password)


def new_secrets() -> Secrets:
    return Secrets(**{field.name: secrets.token_urlsafe(24) for field in fields(Secrets)})


def load_secrets(file: Path) -> Secrets:
    """Read them, or make and store them where there are none."""
    if not file.exists():
        write_private(file, json.dumps(asdict(new_secrets()), indent=2))
    return Secrets(**json.loads(file.read_text()))


def master_key_file(file: Path) -> Path:
    """The file with the memory service's master key (32 bytes, base64); made where there is none."""
    if not file.exists():
        write_private(file, base64.b64encode(secrets.token_bytes(32)).decode())
    return file


def write_private(file: Path, text: str) -> None:
    """Write a file that nobody else may read, at no moment."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(text)
