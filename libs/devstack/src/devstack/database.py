"""Databases and the URLs under which the memory service's roles reach them."""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from devstack.commands import run_command

APP_ROLE = "shoppingx_memory"
DISPATCH_ROLE = "shoppingx_dispatch"

_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


@dataclass(frozen=True)
class RolePasswords:
    app: str
    dispatch: str


@dataclass(frozen=True)
class DatabaseUrls:
    """One database as its owner, the memory service and its dispatch role reach it."""

    admin: str
    app: str
    dispatch: str

    @classmethod
    def of(cls, admin_url: str, passwords: RolePasswords) -> "DatabaseUrls":
        return cls(
            admin=admin_url,
            app=_with_login(admin_url, APP_ROLE, passwords.app),
            dispatch=_with_login(admin_url, DISPATCH_ROLE, passwords.dispatch),
        )


def database_url(server_url: str, name: str) -> str:
    """The URL of the database `name` on the same server, with the same login."""
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def _with_login(url: str, user: str, password: str) -> str:
    parts = urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{address}"))


async def create_database(server_url: str, name: str, *, template: str | None = None) -> str:
    """Create the database unless it exists, and return its URL. `template` must have no connections."""
    connection = await asyncpg.connect(server_url)
    try:
        if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", name):
            source = f" TEMPLATE {_checked(template)}" if template else ""
            await connection.execute(f"CREATE DATABASE {_checked(name)}{source}")
    finally:
        await connection.close()
    return database_url(server_url, name)


async def drop_database(server_url: str, name: str) -> None:
    """Drop the database, also under the feet of those who still use it."""
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"DROP DATABASE IF EXISTS {_checked(name)} WITH (FORCE)")
    finally:
        await connection.close()


async def migrate(admin_url: str, passwords: RolePasswords) -> None:
    """Run `python -m memory migrate`: the roles and the newest schema."""
    await run_command(
        ["memory", "migrate"],
        {
            "DATABASE_URL": admin_url,
            "MEMORY_APP_PASSWORD": passwords.app,
            "MEMORY_DISPATCH_PASSWORD": passwords.dispatch,
        },
    )


def _checked(name: str | None) -> str:
    """Names cannot be parameters of these statements, so only harmless ones are let through."""
    if name is None or not _NAME.match(name):
        raise ValueError(f"not a database name: {name!r}")
    return name
