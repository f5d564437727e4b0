"""Connections of one role, and transactions on them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from common.memory_api.base import Owner
from memory.database.connection import ERRORS, Connection, DatabaseError, Row, is_lost

_CONNECT_SECONDS = 5.0
_ACQUIRE_SECONDS = 5.0
_CLOSE_SECONDS = 3.0
_COMMAND_SECONDS = 30.0
"""Longer than the server's own limits: it counts where the server itself has fallen silent."""

_SERVER_SETTINGS = {
    "application_name": "shoppingx-memory",
    "lock_timeout": "10s",
    "statement_timeout": "20s",
    "idle_in_transaction_session_timeout": "30s",
}
"""Statements and lock waits are bounded: nothing waits for ever."""

_PREPARED_STATEMENTS = 500
"""Of each connection; more than the service has."""


class Pool:
    """Connections for a `postgresql://` URL. Nothing connects before the first transaction.

    A connection that was lost while it lay idle is replaced. One that breaks in use is an error that may be asked
    again; there is no ping before each transaction.
    """

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self._size = size
        self._pool: Any = None
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def transaction(self, owner: Owner | None = None) -> AsyncIterator[Connection]:
        """Committed at the end of the block, rolled back where it raises. With an owner, row-level security shows and
        takes that user's rows only; a role under it sees none without. Raises DatabaseError."""
        async with self._borrowed() as driver:
            try:
                await _run(driver, _begin(owner))
                yield Connection(driver, owner)
                await _commit(driver)
            except BaseException:  # also when cancelled in the middle of a statement: the driver ends that first
                await _roll_back(driver)
                raise

    async def ping(self) -> None:
        async with self._borrowed() as driver:
            await _run(driver, "SELECT 1")

    async def close(self) -> None:
        """Wait a little for what is in use, then end it."""
        if self._pool is not None:
            with suppress(TimeoutError):  # the pool ends its connections when closing it is cancelled
                await asyncio.wait_for(self._pool.close(), _CLOSE_SECONDS)

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Any]:
        try:
            pool = self._pool or await self._make()
            driver = await pool.acquire(timeout=_ACQUIRE_SECONDS)
        except ERRORS as error:
            raise DatabaseError(error, lost=isinstance(error, asyncpg.InterfaceError)) from error
        try:
            yield driver
        finally:
            await pool.release(driver)

    async def _make(self) -> Any:
        async with self._making:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,  # so that making it needs no server yet
                    max_size=self._size,
                    timeout=_CONNECT_SECONDS,
                    command_timeout=_COMMAND_SECONDS,
                    statement_cache_size=_PREPARED_STATEMENTS,
                    record_class=Row,
                    init=_set_up,
                    reset=_leave,
                    server_settings=_SERVER_SETTINGS,
                )
        return self._pool


def _begin(owner: Owner | None) -> str:
    """One message begins the transaction and says whose it is. The setting is local to it (`is_local => true`), so it
    never leaks to the next borrower of the connection; where it is missing the policies show no row at all."""
    if owner is None:
        return "BEGIN"
    tenant, user = _literal(owner.tenant_id), _literal(owner.user_id)
    return f"BEGIN; SELECT set_config('app.tenant_id', {tenant}, true), set_config('app.user_id', {user}, true)"


def _literal(text: str) -> str:
    """The text as an SQL literal. Ids hold nothing that would need it (`common.ids`); this does not rely on it."""
    if "\x00" in text or "\\" in text:
        raise ValueError("not an id")
    return "'" + text.replace("'", "''") + "'"


async def _run(driver: Any, command: str) -> str:
    """Run a command and return its tag."""
    try:
        return str(await driver.execute(command))
    except ERRORS as error:
        raise DatabaseError(error, lost=is_lost(driver)) from error


class NotCommitted(Exception):
    """A use case went on after a statement of its had failed: told to commit, PostgreSQL rolled it all back."""


async def _commit(driver: Any) -> None:
    if await _run(driver, "COMMIT") != "COMMIT":
        raise NotCommitted


async def _roll_back(driver: Any) -> None:
    try:
        await driver.execute("ROLLBACK")
    except ERRORS:
        _end(driver)  # the server rolls back what its client left
    except BaseException:
        _end(driver)
        raise


def _end(driver: Any) -> None:
    with suppress(asyncpg.InterfaceError):  # it had ended before
        driver.terminate()


async def _set_up(driver: Any) -> None:
    await driver.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)


async def _leave(_: Any) -> None:
    """Nothing to reset: a connection comes back without a transaction, and nothing else was set on it."""
