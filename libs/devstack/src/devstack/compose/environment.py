"""What docker-compose.yml is told: development secrets, made once, and where the keys lie."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devstack.local_files import LocalFiles
from devstack.model_endpoint import chosen_endpoint
from devstack.secrets import Secrets, write_private
from devstack.settings import DevstackSettings
from devstack.tokens import AUDIENCE, ISSUER

OFFLINE_MODEL_URL = "http://offline-model:8080"

_NAMES = {
    "POSTGRES_PASSWORD": "postgres_password",
    "MEMORY_APP_PASSWORD": "memory_app_password",
    "MEMORY_DISPATCH_PASSWORD": "memory_dispatch_password",
    "VALKEY_PASSWORD": "valkey_password",
    "SERVICE_TOKEN_GATEWAY": "gateway_token",
    "SERVICE_TOKEN_AGENT": "agent_token",
    "SERVICE_TOKEN_CURATOR": "curator_token",
    "SERVICE_TOKEN_OPERATOR": "operator_token",
}


@dataclass(frozen=True)
class KeyFiles:
    """Files that containers read."""

    jwt_public_key: Path
    memory_master_key: Path


def compose_environment(
    settings: DevstackSettings, secrets: Secrets, keys: KeyFiles, gateway_port: int
) -> dict[str, str]:
    """The variables of docker-compose.yml."""
    model = chosen_endpoint(settings, OFFLINE_MODEL_URL)
    return {
        **{name: str(getattr(secrets, field)) for name, field in _NAMES.items()},
        **model.chat_environment,
        **model.embedding_environment,
        "JWT_ISSUER": ISSUER,
        "JWT_AUDIENCE": AUDIENCE,
        "JWT_PUBLIC_KEY_FILE": str(keys.jwt_public_key),
        "MEMORY_MASTER_KEY_FILE": str(keys.memory_master_key),
        "GATEWAY_PORT": str(gateway_port),
    }


def write_environment(file: Path, environment: Mapping[str, str]) -> None:
    """Write an env file that nobody else may read."""
    file.unlink(missing_ok=True)
    write_private(file, "".join(f"{name}={value}\n" for name, value in environment.items()))


def key_files(files: LocalFiles, directory: Path) -> KeyFiles:
    """Copies of the keys for containers, whose user is another one: the files may be read, their directory is ours."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    return KeyFiles(
        jwt_public_key=_readable_copy(files.signing_keys().public_file, directory),
        memory_master_key=_readable_copy(files.memory_master_key(), directory),
    )


def _readable_copy(source: Path, directory: Path) -> Path:
    """Written in place where it exists: a running container holds this very file."""
    copy = directory / source.name
    copy.write_bytes(source.read_bytes())
    copy.chmod(0o444)
    return copy
