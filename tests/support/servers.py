"""The servers of a test run: embedded ones in a directory that goes with the run, or given ones."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from devstack.servers.operating_user import remove_directory
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey

RUNS_DIRECTORY = Path(".local/tests").absolute()
SERVER_PASSWORD = "only-for-tests"


@contextmanager
def run_directory() -> Iterator[Path]:
    """A directory named after this process; what killed runs left behind is removed first."""
    for left in RUNS_DIRECTORY.glob("run-*"):
        if not Path(f"/proc/{left.name.removeprefix('run-')}").exists():
            _remove_run(left)
    directory = RUNS_DIRECTORY / f"run-{os.getpid()}"
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        _remove_run(directory)


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
    server = EmbeddedPostgres(directory / "postgres", SERVER_PASSWORD, directory / "postgres.log", durable=False)
    try:
        await server.start()
        yield server.url
    finally:
        await server.stop()


@asynccontextmanager
async def valkey_server(directory: Path) -> AsyncIterator[str]:
    """The URL of a running server."""
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        yield given
        return
    server = EmbeddedValkey(directory / "valkey", SERVER_PASSWORD, directory / "valkey.log")
    try:
        await server.start()
        yield server.url
    finally:
        await server.stop()
