"""Fixtures every test may ask for. Nothing is started that no test asks for."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from tests.support.databases import database_from, template_database
from tests.support.processes import Processes, running_processes
from tests.support.servers import ValkeyServer, new_valkey, postgres_server, run_directory, valkey_server

from devstack.database import DatabaseUrls


@pytest.fixture(scope="session")
def run_files() -> Iterator[Path]:
    """The directory of this run's data and logs; removed at its end."""
    with run_directory() as directory:
        yield directory


@pytest.fixture(scope="session")
async def postgres(run_files: Path) -> AsyncIterator[str]:
    """The superuser's URL of a running PostgreSQL: embedded, or TEST_DATABASE_URL."""
    async with postgres_server(run_files) as url:
        yield url


@pytest.fixture(scope="session")
async def migrated_template(postgres: str) -> AsyncIterator[str]:
    """The name of a database on which `python -m memory migrate` ran once."""
    async with template_database(postgres) as name:
        yield name


@pytest.fixture
async def database(postgres: str, migrated_template: str) -> AsyncIterator[DatabaseUrls]:
    """A fresh, migrated database of the test's own."""
    async with database_from(postgres, migrated_template) as urls:
        yield urls


@pytest.fixture(scope="module")
async def module_database(postgres: str, migrated_template: str) -> AsyncIterator[DatabaseUrls]:
    """A fresh, migrated database that the tests of one file share."""
    async with database_from(postgres, migrated_template) as urls:
        yield urls


@pytest.fixture
async def empty_database(postgres: str) -> AsyncIterator[DatabaseUrls]:
    """A database without any schema; for tests of the migrations."""
    async with database_from(postgres, None) as urls:
        yield urls


@pytest.fixture(scope="session")
async def valkey(run_files: Path) -> AsyncIterator[str]:
    """The URL of a running Valkey: embedded, or TEST_REDIS_URL."""
    async with valkey_server(run_files) as url:
        yield url


@pytest.fixture
async def own_valkey(tmp_path: Path) -> AsyncIterator[ValkeyServer]:
    """One of the test's own, to kill it or to count its commands."""
    server = new_valkey(tmp_path)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def redis_url(valkey: str) -> str:
    """The URL of a Valkey that holds nothing, not even stream groups."""
    async with Redis.from_url(valkey) as client:
        await client.flushall()
    return valkey


@pytest.fixture(scope="session")
async def processes(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Processes]:
    """The whole system, running, shared by all tests: starting it takes seconds, so tests use users of their own.

    Leave it as it was: everything runs and every turn has ended. A test that needs other settings, or cannot
    promise that, uses `running_processes` itself.
    """
    directory = tmp_path_factory.mktemp("processes")
    async with (
        database_from(postgres, migrated_template) as database,
        running_processes(database, directory) as running,
    ):
        yield running
