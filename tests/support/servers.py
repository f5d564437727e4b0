"""The servers of a test run: embedded ones in a directory that goes with the run, containers, or given ones.

`TEST_SERVERS=containers` chooses containers (`make test-containers`).
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

from devstack.servers.operating_user import remove_directory
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey

RUNS_DIRECTORY = Path(".local/tests").absolute()
SERVER_PASSWORD = "only-for-tests"
IN_CONTAINERS = os.environ.get("TEST_SERVERS", "embedded") == "containers"


class PostgresServer(Protocol):
    @property
    def url(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class ValkeyServer(Protocol):
    """A server that keeps its port over restarts and forgets everything else."""

    @property
    def url(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def kill(self) -> None: ...


def new_valkey(directory: Path, password: str = SERVER_PASSWORD) -> ValkeyServer:
    """One of a test's own, that it may kill. It is not started yet."""
    if IN_CONTAINERS:
        from tests.support.containers import ContainerValkey

        return ContainerValkey(password)
    return EmbeddedValkey(directory / "valkey", password, directory / "valkey.log")


@contextmanager
def run_directory() -> Iterator[Path]:
    """A directory named after this process; what killed runs left behind is removed first."""
    for left in RUNS_DIRECTORY.glob("run-*"):
        if not _is_alive(left.name.removeprefix("run-")):
            _remove_run(left)
    if IN_CONTAINERS:
        from tests.support.containers import remove_left_containers

        remove_left_containers(_is_alive)
    directory = RUNS_DIRECTORY / f"run-{os.getpid()}"
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        _remove_run(directory)


def _is_alive(process_id: str) -> bool:
    return Path(f"/proc/{process_id}").exists()


def _remove_run(directory: Path) -> None:
    remove_directory(directory / "postgres")
    shutil.rmtree(directory, ignore_errors=True)


@asynccontextmanager
async def postgres_server(directory: Path) -> AsyncIterator[str]:
    """The superuser's URL of a running server."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    server = _new_postgres(directory)
    try:
        await server.start()
        yield server.url
    finally:
        await server.stop()


def _new_postgres(directory: Path) -> PostgresServer:
    if IN_CONTAINERS:
        from tests.support.containers import ContainerPostgres

        return ContainerPostgres(SERVER_PASSWORD)
    return EmbeddedPostgres(directory / "postgres", SERVER_PASSWORD, directory / "postgres.log", durable=False)


@asynccontextmanager
async def valkey_server(directory: Path) -> AsyncIterator[str]:
    """The URL of a running server."""
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield given
        return
    server = new_valkey(directory)
    try:
        await server.start()
        yield server.url
    finally:
        await server.stop()
