"""Fresh databases: copies of one that was migrated once."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from devstack.database import (
    DatabaseUrls,
    RolePasswords,
    create_database,
    database_url,
    drop_database,
    migrate,
)

# Roles belong to the whole server, and several runs may share a given one: so their passwords are fixed.
PASSWORDS = RolePasswords(app="memory-only-for-tests", dispatch="dispatch-only-for-tests")

_number = count(1)


@asynccontextmanager
async def template_database(server_url: str) -> AsyncIterator[str]:
    """The name of a migrated database nobody may connect to while it is copied."""
    name = f"template_{os.getpid()}"
    await create_database(server_url, name)
    try:
        await migrate(database_url(server_url, name), PASSWORDS)
        yield name
    finally:
        await drop_database(server_url, name)


@asynccontextmanager
async def database_from(server_url: str, template: str | None) -> AsyncIterator[DatabaseUrls]:
    """A copy of `template`; empty and not migrated without one. (Grants on the database are not copied.)"""
    name = f"test_{os.getpid()}_{next(_number)}"
    admin_url = await create_database(server_url, name, template=template)
    try:
        yield DatabaseUrls.of(admin_url, PASSWORDS)
    finally:
        await drop_database(server_url, name)
