"""Bringing the database to the current schema: roles, then migrations.

Safe from several replicas at once: roles are made with a retry (they belong to the whole cluster), and the
migrations run in one transaction under an advisory lock, so the second replica finds nothing left to do.
"""

import asyncio
from pathlib import Path

from alembic import command
from alembic.config import Config
from pydantic import SecretStr
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from memory.settings import MigrationSettings

APP_ROLE = "shoppingx_memory"
DISPATCH_ROLE = "shoppingx_dispatch"

_ADVISORY_LOCK = 7_146_873_226
_ROLE_ATTEMPTS = 20


class CannotMakeRole(Exception):
    """The owner's login may not make or change this role; it needs CREATEROLE."""


async def migrate(settings: MigrationSettings) -> None:
    url = make_url(settings.database_url.get_secret_value()).set(drivername="postgresql+asyncpg")
    engine = create_async_engine(url, poolclass=NullPool, hide_parameters=True)
    try:
        await _ensure_role(engine, APP_ROLE, settings.memory_app_password)
        await _ensure_role(engine, DISPATCH_ROLE, settings.memory_dispatch_password)
        async with engine.begin() as connection:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _upgrade(connection: Connection) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def _ensure_role(engine: AsyncEngine, role: str, password: SecretStr) -> None:
    """Make the role, or set its password. Another replica doing the same is why this is tried again."""
    for attempt in range(_ROLE_ATTEMPTS):
        try:
            async with engine.begin() as connection:
                exists = await connection.scalar(
                    text("SELECT true FROM pg_roles WHERE rolname = :role"), {"role": role}
                )
                verb = "ALTER" if exists else "CREATE"
                # A new role has no rights by default; naming them would take a superuser when the role is there.
                statement = await connection.scalar(
                    text(
                        "SELECT format('%s ROLE %I LOGIN PASSWORD %L', "
                        "CAST(:verb AS text), CAST(:role AS text), CAST(:password AS text))"
                    ),
                    {"verb": verb, "role": role, "password": password.get_secret_value()},
                )
                await connection.execute(text(str(statement).replace(":", r"\:")))
            return
        except DBAPIError as error:
            if attempt == _ROLE_ATTEMPTS - 1:
                # The driver's error quotes the statement, and that the password.
                raise CannotMakeRole(f"{role}: {type(error.orig).__name__}") from None
            await asyncio.sleep(0.05)
