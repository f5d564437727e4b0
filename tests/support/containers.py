"""PostgreSQL and Valkey in containers: the same servers to a test as the embedded ones, from other builds."""

import asyncio
import os
from collections.abc import Callable

import docker
from redis.asyncio import Redis
from redis.exceptions import RedisError
from testcontainers.community.postgres import PostgresContainer
from testcontainers.core.container import DockerContainer
from tests.support.waiting import wait_for

from devstack.ports import LOOPBACK, free_port

POSTGRES_IMAGE = "pgvector/pgvector:pg18"
VALKEY_IMAGE = "valkey/valkey:9"

_RUN_LABEL = "shoppingx.test-run"
_START_SECONDS = 60.0


class ContainerPostgres:
    """Fast rather than durable, as the embedded one is in tests."""

    def __init__(self, password: str) -> None:
        container = PostgresContainer(POSTGRES_IMAGE, username="postgres", password=password, dbname="postgres")
        container.with_command(["postgres", "-c", "fsync=off", "-c", "max_connections=200"])
        self._container, self._port = _on_loopback(container, 5432)
        self.url = f"postgresql://postgres:{password}@{LOOPBACK}:{self._port}/postgres"

    async def start(self) -> None:
        await asyncio.to_thread(self._container.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self._container.stop)


class ContainerValkey:
    """Keeps its port over restarts and forgets everything else."""

    def __init__(self, password: str) -> None:
        self._started = False
        container = DockerContainer(VALKEY_IMAGE).with_command(
            ["valkey-server", "--requirepass", password, "--bind", "0.0.0.0", "--save", "", "--appendonly", "no",
             "--maxmemory-policy", "noeviction"]
        )  # fmt: skip
        self._container, port = _on_loopback(container, 6379)
        self.url = f"redis://:{password}@{LOOPBACK}:{port}/0"

    async def start(self) -> None:
        self._started = True
        await asyncio.to_thread(self._container.start)
        await wait_for(self._answers, "Valkey answers", timeout=_START_SECONDS)

    async def stop(self) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL, and the container is gone; a following `start` is a server that lost everything."""
        if self._started:
            self._started = False
            self._container.stop(force=True)

    async def _answers(self) -> bool:
        async with Redis.from_url(self.url, socket_timeout=2, socket_connect_timeout=2) as client:
            try:
                return bool(await client.ping())
            except (RedisError, OSError):
                return False


def remove_left_containers(is_alive: Callable[[str], bool]) -> None:
    """Remove the containers of runs that were killed; `is_alive` knows processes by their id."""
    client = docker.from_env()
    try:
        for container in client.containers.list(all=True, filters={"label": _RUN_LABEL}):
            if not is_alive(container.labels[_RUN_LABEL]):
                container.remove(force=True, v=True)
    finally:
        client.close()


def _on_loopback(container: DockerContainer, port: int) -> tuple[DockerContainer, int]:
    """A container that publishes `port` on a free port of 127.0.0.1, marked as ours."""
    published = free_port()
    container.ports[f"{port}/tcp"] = (LOOPBACK, published)  # type: ignore[assignment] # what docker-py takes
    container.ports.pop(str(port), None)
    return container.with_kwargs(labels={_RUN_LABEL: str(os.getpid())}), published
