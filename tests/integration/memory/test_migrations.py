"""Migrations: safe from several replicas at once, and equal to what the queries believe."""

import asyncio
import traceback
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from pydantic import SecretStr
from sqlalchemy import Connection, MetaData
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from tests.support.databases import PASSWORDS

from devstack.commands import run_command
from devstack.database import DatabaseUrls
from memory.database.migrate import CannotMakeRole, _ensure_role, migrate
from memory.database.schema import LEFT_BEHIND, metadata, operating
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
        declared = MetaData()
        for table in (*metadata.sorted_tables, *operating.sorted_tables):
            table.to_metadata(declared)
        return list(compare_metadata(MigrationContext.configure(connection), declared))

    try:
        async with engine.connect() as connection:
            found = await connection.run_sync(differences)
    finally:
        await engine.dispose()
    left = {(each[2], each[3].name) for each in found if each[0] == "remove_column"}  # type: ignore[index]
    assert left == LEFT_BEHIND
    assert len(found) == len(LEFT_BEHIND), found


async def test_an_owner_that_is_no_superuser_makes_and_changes_roles(empty_database: DatabaseUrls) -> None:
    """A managed PostgreSQL; and an error about a role that is not the owner's does not quote the password."""
    connection = await asyncpg.connect(empty_database.admin)
    await connection.execute(
        "CREATE ROLE test_manager LOGIN CREATEROLE PASSWORD 'pw'; CREATE ROLE test_foreign SUPERUSER"
    )
    parts = urlsplit(empty_database.admin)
    as_manager = parts._replace(
        scheme="postgresql+asyncpg", netloc=f"test_manager:pw@{parts.netloc.rpartition('@')[2]}"
    )
    engine = create_async_engine(make_url(urlunsplit(as_manager)))
    password = "-".join(("top", "secret"))  # so that the traceback of this test does not quote it either
    try:
        for _ in range(2):
            await _ensure_role(engine, "test_made_role", SecretStr(password))
        with pytest.raises(CannotMakeRole) as caught:
            await _ensure_role(engine, "test_foreign", SecretStr(password))
        assert password not in "".join(traceback.format_exception(caught.value))
    finally:
        await engine.dispose()
        await connection.execute("DROP ROLE test_made_role, test_foreign, test_manager")
        await connection.close()
