"""The whole system as real processes, for tests that send requests to it and kill parts of it."""

import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from tests.support.servers import new_valkey

from common.crash_points import CrashPoint
from devstack.commands import run_command
from devstack.database import DatabaseUrls
from devstack.model_endpoint import offline_endpoint
from devstack.secrets import master_key_file, new_secrets
from devstack.services import (
    OFFLINE_MODEL,
    SERVICES,
    Connections,
    ServiceProcesses,
    catalogue_environment,
    service_environments,
)
from devstack.stream_groups import create_stream_groups
from devstack.tokens import SigningKeys

# What takes half a minute in production is to take a second here.
SHORT_TIMES = {
    "memory": {
        "LEASE_SECONDS": "1.5",
        "SWEEP_INTERVAL_SECONDS": "0.2",
        "REPUBLISH_SECONDS": "1",
        "PUBLISH_GRACE_SECONDS": "0.5",
        "BACKOFF_SECONDS": "0.2",
        "TURN_DEADLINE_SECONDS": "30",
    },
}

# Vectors take a while to build and are the same for every run, so they stay; `make run` uses the same ones.
CATALOGUE_DIRECTORY = Path(".local/catalogue").absolute()


class Processes:
    """Memory, gateway, agent, curator and the offline model, with a Valkey of their own that may be killed too.

    Names are those of the services; `agent-2` is a second agent. `environment` adds to or replaces what a
    service is told: `{"memory": {"MAX_ATTEMPTS": "2"}}`.
    """

    def __init__(
        self,
        database: DatabaseUrls,
        directory: Path,
        environment: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.directory = directory
        self.secrets = new_secrets()
        self.keys = SigningKeys.in_directory(directory / "keys")
        self.valkey = new_valkey(directory, self.secrets.valkey_password)
        self._services = ServiceProcesses(directory / "logs")
        self.connections = Connections(
            database=database,
            redis_url=self.valkey.url,
            model=offline_endpoint(self.url(OFFLINE_MODEL)),
            catalogue=CATALOGUE_DIRECTORY,
            jwt_public_key=self.keys.public_file,
            memory_master_key=master_key_file(directory / "keys" / "memory-master.key"),
        )
        told = service_environments(self.connections, self.secrets, self.url("memory"))
        extra = environment or {}
        self._environments = {name: {**told[name], **SHORT_TIMES.get(name, {}), **extra.get(name, {})} for name in told}

    @property
    def redis_url(self) -> str:
        return self.valkey.url

    @property
    def gateway_url(self) -> str:
        return self.url("gateway")

    def url(self, name: str) -> str:
        return self._services.url(name)

    def token(self, user: str = "u1", tenant: str = "t1") -> str:
        return self.keys.token(tenant, user, datetime.now(UTC))

    def client(self, user: str = "u1", tenant: str = "t1") -> httpx2.AsyncClient:
        """A client of the gateway with a valid token; the caller closes it."""
        return httpx2.AsyncClient(
            base_url=self.gateway_url,
            headers={"Authorization": f"Bearer {self.token(user, tenant)}"},
            timeout=30.0,
            trust_env=False,
        )

    def tell(self, name: str, environment: Mapping[str, str]) -> None:
        """Add to what a service is told when it is started next, or replace it."""
        self._environments[name] |= environment

    async def start_all(self) -> None:
        await self.valkey.start()
        await create_stream_groups(self.redis_url)
        await self.start(OFFLINE_MODEL)
        await run_command(["agent", "build-catalogue"], catalogue_environment(self.connections))
        for name in SERVICES:
            await self.start(name, wait=False)
        for name in SERVICES:
            await self.wait_ready(name)

    async def start(self, name: str, environment: Mapping[str, str] | None = None, *, wait: bool = True) -> None:
        """Start a service that does not run, told `environment` on top of the usual."""
        usual = self._environments[name.partition("-")[0]]
        await self._services.start(name, {**usual, **(environment or {})}, wait=wait)

    async def start_armed(self, name: str, point: CrashPoint, *, wait: bool = True) -> Path:
        """Start a service that dies by SIGKILL when it first reaches `point`.

        Returns the fuse: a file that is gone once the process has died there.
        """
        fuse = self.directory / f"fuse-{name}-{point}"
        fuse.touch()
        await self.start(name, {"CRASH_POINT": point, "CRASH_FUSE": str(fuse)}, wait=wait)
        return fuse

    async def wait_ready(self, name: str, timeout: float = 60.0) -> None:
        await self._services.wait_ready(name, timeout)

    async def wait_ended(self, name: str, timeout: float = 30.0) -> int:
        """Wait until it has ended by itself, and return its exit code (-9 after SIGKILL)."""
        return await self._services.child(name).wait(timeout)

    def process_id(self, name: str) -> int:
        return self._services.child(name).pid

    def has_ended(self, name: str) -> bool:
        return self._services.child(name).exit_code is not None

    def was_killed(self, name: str) -> bool:
        """Whether it has ended by SIGKILL."""
        return self._services.child(name).exit_code == -signal.SIGKILL

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self._services.kill(name)

    async def stop(self, name: str) -> None:
        """SIGTERM, and wait for its end."""
        await self._services.stop(name)

    async def terminate(self, name: str) -> int:
        """SIGTERM, and the exit code it ends with by itself."""
        child = self._services.child(name)
        os.kill(child.pid, signal.SIGTERM)
        return await child.wait(30.0)

    async def restart(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        """SIGKILL and start again on the same port."""
        self.kill(name)
        await self.start(name, environment)

    async def restart_valkey_empty(self) -> None:
        """Kill Valkey and start it again: it has forgotten everything, also the stream groups."""
        self.valkey.kill()
        await self.valkey.start()

    def logs(self, name: str) -> list[dict[str, object]]:
        """The service's log events so far."""
        return [json.loads(line) for line in self.log_text(name).splitlines() if line.startswith("{")]

    def log_text(self, name: str) -> str:
        """All that the service has written so far, also what is no log event."""
        return self._services.log_file(name).read_text()

    async def check_invariants(self, *, settled: bool = True) -> None:
        """Fails, with the violations, when the database breaks an invariant."""
        await self.memory_command("check-invariants", *(["--settled"] if settled else []))

    async def memory_command(self, *arguments: str) -> str:
        """Run `python -m memory ...` as an operator would, and return what it printed."""
        return await run_command(["memory", *arguments], self._environments["memory"])

    def kill_all(self) -> None:
        """Nothing of it is needed any more, so nobody waits for an orderly end; `stop` is there to test that."""
        self._services.kill_all()
        self.valkey.kill()


@asynccontextmanager
async def running_processes(
    database: DatabaseUrls, directory: Path, environment: Mapping[str, Mapping[str, str]] | None = None
) -> AsyncIterator[Processes]:
    """Everything started, and ended afterwards whatever happens."""
    processes = Processes(database, directory, environment)
    try:
        await processes.start_all()
        yield processes
    finally:
        processes.kill_all()
