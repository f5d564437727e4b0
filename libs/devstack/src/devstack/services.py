"""The processes of ShoppingX: what each is told through its environment, and how they are started and ended."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2

from devstack.children import Child, Program
from devstack.database import DatabaseUrls
from devstack.errors import StackError
from devstack.model_endpoint import ModelEndpoint
from devstack.ports import LOOPBACK, free_port
from devstack.secrets import Secrets
from devstack.tokens import AUDIENCE, ISSUER

OFFLINE_MODEL = "offline_model"
SERVICES = ("memory", "gateway", "agent", "curator")

_READY_SECONDS = 60.0


@dataclass(frozen=True)
class Connections:
    """Where the services find everything outside of them. Without `qdrant_url` the agent reads `catalogue`; without
    `turns_per_minute` the gateway has its own limit."""

    database: DatabaseUrls
    redis_url: str
    model: ModelEndpoint
    catalogue: Path
    jwt_public_key: Path
    memory_master_key: Path
    qdrant_url: str | None = None
    turns_per_minute: int | None = None


def catalogue_environment(connections: Connections) -> dict[str, str]:
    """For the agent, and for `agent build-catalogue`."""
    environment = {**connections.model.embedding_environment, "CATALOGUE_DIR": str(connections.catalogue)}
    if connections.qdrant_url:
        environment["QDRANT_URL"] = connections.qdrant_url
    return environment


def service_environments(connections: Connections, secrets: Secrets, memory_url: str) -> dict[str, dict[str, str]]:
    """The environment of every service, by its name."""
    redis = {"REDIS_URL": connections.redis_url}
    memory = {
        "MEMORY_DATABASE_URL": connections.database.app,
        "MEMORY_DISPATCH_DATABASE_URL": connections.database.dispatch,
        "MEMORY_MASTER_KEY_FILE": str(connections.memory_master_key),
        "SERVICE_TOKEN_GATEWAY": secrets.gateway_token,
        "SERVICE_TOKEN_AGENT": secrets.agent_token,
        "SERVICE_TOKEN_CURATOR": secrets.curator_token,
        "SERVICE_TOKEN_OPERATOR": secrets.operator_token,
    }
    gateway = {
        "MEMORY_URL": memory_url,
        "SERVICE_TOKEN": secrets.gateway_token,
        "JWT_PUBLIC_KEY_FILE": str(connections.jwt_public_key),
        "JWT_ISSUER": ISSUER,
        "JWT_AUDIENCE": AUDIENCE,
    }
    if connections.turns_per_minute is not None:
        gateway["TURNS_PER_MINUTE"] = str(connections.turns_per_minute)
    agent = {
        "MEMORY_URL": memory_url,
        "SERVICE_TOKEN": secrets.agent_token,
        **connections.model.chat_environment,
        **catalogue_environment(connections),
    }
    curator = {
        "MEMORY_URL": memory_url,
        "SERVICE_TOKEN": secrets.curator_token,
        **connections.model.chat_environment,
    }
    by_name = {"memory": memory, "gateway": gateway, "agent": agent, "curator": curator}
    return {OFFLINE_MODEL: {}, **{name: {**redis, **environment} for name, environment in by_name.items()}}


class ServiceProcesses:
    """Service processes by name. `agent-2` is a second replica of `agent`; a name keeps its port over restarts."""

    def __init__(self, log_directory: Path, ports: Mapping[str, int] | None = None) -> None:
        self._log_directory = log_directory
        self._ports = dict(ports or {})
        self._children: dict[str, Child] = {}

    def url(self, name: str) -> str:
        """Where `name` listens, or will listen once it is started."""
        return f"http://{LOOPBACK}:{self._port(name)}"

    def log_file(self, name: str) -> Path:
        return self._log_directory / f"{name}.log"

    def child(self, name: str) -> Child:
        if name not in self._children:
            raise StackError(f"{name} was never started")
        return self._children[name]

    def ended(self) -> list[str]:
        """The names of those that were started and have ended."""
        return [name for name, child in self._children.items() if child.exit_code is not None]

    async def start(self, name: str, environment: Mapping[str, str], *, wait: bool = True) -> None:
        """Start it and wait until it is ready. Starting what runs is a mistake."""
        running = self._children.get(name)
        if running is not None and running.exit_code is None:
            raise StackError(f"{name} is already running")
        module = name.partition("-")[0]
        self._children[name] = Child(
            Program(
                name=name,
                command=[sys.executable, "-m", module, "serve"],
                log_file=self.log_file(name),
                environment={**environment, "HOST": LOOPBACK, "PORT": str(self._port(name))},
            )
        )
        if wait:
            await self.wait_ready(name)

    async def wait_ready(self, name: str, timeout: float = _READY_SECONDS) -> None:
        """Wait until `GET /readyz` answers 200. Raises StartFailed when it ends first, or after `timeout` s."""

        async def ready() -> bool:
            with suppress(httpx2.HTTPError):
                return (await http.get(f"{self.url(name)}/readyz")).status_code == 200
            return False

        async with httpx2.AsyncClient(trust_env=False, timeout=3.0) as http:
            await self.child(name).wait_until(ready, timeout)

    def kill(self, name: str) -> None:
        """SIGKILL, and wait until it is gone."""
        self.child(name).kill()

    async def stop(self, name: str) -> None:
        """SIGTERM, and wait until it is gone."""
        await self.child(name).stop()

    def kill_all(self) -> None:
        for child in self._children.values():
            child.kill()

    async def stop_all(self) -> None:
        await asyncio.gather(*(child.stop() for child in self._children.values()))

    def _port(self, name: str) -> int:
        if name not in self._ports:
            self._ports[name] = free_port()
        return self._ports[name]
