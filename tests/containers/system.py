"""The containers of a test run: a Compose project of its own, with ports and data of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from devstack.compose.project import run
from devstack.compose.system import ComposeSystem
from devstack.local_files import LocalFiles
from devstack.ports import free_port
from devstack.settings import DevstackSettings
from devstack.waiting import eventually

PROJECT = "shoppingx-test"
DIRECTORY = Path(".local/tests/containers").absolute()

_STOP_SECONDS = 25
"""As `stop_grace_period` in docker-compose.yml."""
_HEALTHY_SECONDS = 90.0


class SystemInContainers:
    def __init__(self, compose: ComposeSystem) -> None:
        self.compose = compose

    def client(self, user: str = "u1", tenant: str = "t1") -> httpx2.AsyncClient:
        """A client behind the load balancer with a valid token; the caller closes it."""
        return httpx2.AsyncClient(
            base_url=self.compose.gateway_url,
            headers={"Authorization": f"Bearer {self.compose.token(tenant, user)}"},
            timeout=30.0,
            trust_env=False,
        )

    async def check_invariants(self, *, settled: bool = True) -> None:
        """Fails, with the violations, when the database breaks an invariant."""
        await self.compose.memory_command("check-invariants", *(["--settled"] if settled else []))

    async def replicas(self, service: str) -> list[str]:
        return await self.compose.project.containers(service)

    async def stop(self, container: str) -> int:
        """SIGTERM, and SIGKILL after the grace period; returns the exit code (137 where it had to be killed)."""
        await run("docker", "stop", f"--time={_STOP_SECONDS}", container)
        return int(await inspect(container, "{{.State.ExitCode}}"))

    async def kill(self, container: str) -> None:
        await run("docker", "kill", container)

    async def start(self, container: str) -> None:
        """Start it again and wait until its health check passes."""
        await run("docker", "start", container)
        await self.healthy(container)

    async def healthy(self, container: str) -> None:
        async def passes() -> bool:
            return await inspect(container, "{{.State.Health.Status}}") == "healthy"

        assert await eventually(passes, _HEALTHY_SECONDS), f"{container} is not healthy"


async def inspect(container: str, template: str) -> str:
    return (await run("docker", "inspect", f"--format={template}", container)).strip()


@asynccontextmanager
async def running_containers() -> AsyncIterator[SystemInContainers]:
    """Everything up; afterwards all of it is gone, except the log of the containers under `.local/tests`."""
    compose = ComposeSystem.prepared(
        DevstackSettings(gateway_port=free_port()), LocalFiles.under(DIRECTORY), name=PROJECT
    )
    await compose.project.down(volumes=True)  # what a killed run left behind
    try:
        await compose.project.build()
        await compose.project.up()
        await compose.wait_ready()
        yield SystemInContainers(compose)
    finally:
        (DIRECTORY / "containers.log").write_text(await compose.project.logs())
        await compose.project.down(volumes=True)
