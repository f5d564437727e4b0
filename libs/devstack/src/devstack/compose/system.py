"""The whole system in containers, as `make up` and the container tests start it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import httpx2

from devstack.compose.environment import compose_environment, key_files, write_environment
from devstack.compose.project import ComposeProject
from devstack.errors import StackError
from devstack.local_files import LocalFiles
from devstack.ports import LOOPBACK
from devstack.secrets import Secrets
from devstack.settings import DevstackSettings
from devstack.tokens import SigningKeys
from devstack.waiting import eventually

PROJECT = "shoppingx"
REPLICATED = ("gateway", "agent", "curator", "memory")
ROOT = Path(__file__).parents[5]
"""The repository: Compose files and images are in it, and this package is only installed from there."""

_DEFAULT_PORT = 8080
_READY_SECONDS = 120.0


@dataclass(frozen=True)
class ComposeSystem:
    project: ComposeProject
    secrets: Secrets
    keys: SigningKeys
    gateway_port: int

    @classmethod
    def prepared(cls, settings: DevstackSettings, files: LocalFiles, name: str = PROJECT) -> "ComposeSystem":
        """Write the environment file, with secrets that are made where there are none. Starts nothing."""
        directory = files.directory / "compose"
        keys = key_files(files, directory)
        port = settings.gateway_port or _DEFAULT_PORT
        environment_file = directory / "environment"
        secrets = files.secrets()
        write_environment(environment_file, compose_environment(settings, secrets, keys, port))
        return cls(ComposeProject(name, ROOT, environment_file), secrets, files.signing_keys(), port)

    @property
    def gateway_url(self) -> str:
        return f"http://{LOOPBACK}:{self.gateway_port}"

    def token(self, tenant: str, user: str) -> str:
        return self.keys.token(tenant, user, datetime.now(UTC))

    async def redis_url(self) -> str:
        """Valkey's published port; it changes when the container is started anew."""
        address = await self.project.address("valkey", 6379)
        return f"redis://:{quote(self.secrets.valkey_password, safe='')}@{address}/0"

    async def memory_command(self, *arguments: str) -> str:
        """Run `python -m memory ...` in a replica and return what it printed."""
        return await self.project.run_in("memory", "python", "-m", "memory", *arguments)

    async def wait_ready(self, timeout: float = _READY_SECONDS) -> None:
        """Wait until every container is healthy and the load balancer answers."""

        async def complete() -> bool:
            return not await self.project.not_ready() and await self.ready()

        if not await eventually(complete, timeout):
            late = ", ".join(await self.project.not_ready()) or self.gateway_url
            raise StackError(f"not ready after {timeout:g} s: {late}")

    async def ready(self) -> bool:
        """Whether the load balancer reaches a gateway that can serve."""
        async with httpx2.AsyncClient(trust_env=False, timeout=3.0) as http:
            try:
                return (await http.get(f"{self.gateway_url}/readyz")).status_code == 200
            except httpx2.HTTPError:
                return False
