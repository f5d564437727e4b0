"""Migrations: safe from several replicas at once, and equal to what the queries believe."""

import asyncio

import asyncpg
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from tests.support.databases import PASSWORDS

from devstack.commands import run_command
from devstack.database import DatabaseUrls
from memory.database.migrate import migrate
from memory.database.schema import metadata
from memory.settings import MigrationSettings


async def test_several_replicas_migrate_at_once(empty_database: DatabaseUrls) -> None:
    told = {
        "DATABASE_URL": empty_database.admin,
        "MEMORY_APP_PASSWORD": PASSWORDS.app,
        "MEMORY_DISPATCH_PASSWORD": PASSWORDS.dispatch,
    }
    printed = await asyncio.gather(*(run_command(["memory", "migrate"], told) for _ in range(3)))
    assert len(printed) == 3
    connection = await asyncpg.connect(empty_database.admin)
    try:
        assert await connection.fetchval("SELECT count(*) FROM alembic_version") == 1
    finally:
        await connection.close()
    await (await asyncpg.connect(empty_database.app)).close()


async def test_migrating_again_changes_nothing(database: DatabaseUrls) -> None:
    await migrate(
        MigrationSettings(
            database_url=SecretStr(database.admin),
            memory_app_password=SecretStr(PASSWORDS.app),
            memory_dispatch_password=SecretStr(PASSWORDS.dispatch),
        )
    )


async def test_the_tables_are_what_the_queries_believe(database: DatabaseUrls) -> None:
    engine = create_async_engine(make_url(database.admin).set(drivername="postgresql+asyncpg"))

    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    try:
        async with engine.connect() as connection:
            assert await connection.run_sync(differences) == []
    finally:
        await engine.dispose()
