"""A connection inside its transaction: runs statements, and says in one way what went wrong."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy import Executable

from common.memory_api.base import Owner
from memory.database.statements import Statement

ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""What the driver raises."""

# Deadlock, serialisation failure, lock or statement time-out, connection trouble, shutdown: asking again may help.
_RETRYABLE_STATES = frozenset({"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "53300", "25P03"})


class DatabaseError(Exception):
    """PostgreSQL refused a statement or is gone. `retryable`: asking again may help.

    Its text names the kind of error and what was violated, never a value; the driver's own error, which may quote one,
    is only its cause.
    """

    def __init__(self, error: Exception, *, lost: bool = False) -> None:
        state = str(getattr(error, "sqlstate", None) or "")
        constraint = str(getattr(error, "constraint_name", None) or "")
        super().__init__(" ".join(filter(None, (type(error).__name__, state, constraint))))
        # The schema was migrated under a statement that the connection had prepared; it prepares it again.
        migrated = isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError)
        gone = isinstance(error, OSError | TimeoutError) or state.startswith("08")
        self.retryable = lost or gone or migrated or state in _RETRYABLE_STATES


def is_lost(driver: Any) -> bool:
    """Whether the driver's connection has ended."""
    try:
        return bool(driver.is_closed())
    except asyncpg.InterfaceError:  # the pool took it back when it ended
        return True


class Row(asyncpg.Record):  # type: ignore[misc] # asyncpg has no types
    """Columns by name, as attributes; a column called like a method of a mapping (`items`) only as `row["items"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Result:
    """The rows of one statement."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self) -> list[Row]:
        return self._rows

    def one(self) -> Row:
        (row,) = self._rows
        return row

    def one_or_none(self) -> Row | None:
        return self.one() if self._rows else None

    def scalars(self) -> list[Any]:
        """The first column of each row."""
        return [row[0] for row in self._rows]

    def scalar_one(self) -> Any:
        return self.one()[0]

    def scalar_one_or_none(self) -> Any:
        return self.scalar_one() if self._rows else None


class Connection:
    """Runs compiled statements, and other queries of SQLAlchemy Core, which it compiles at each call.

    Of its owner's columns it takes care itself. Every method raises DatabaseError.
    """

    def __init__(self, driver: Any, owner: Owner | None) -> None:
        self._driver = driver
        self._owner = {} if owner is None else {"tenant_id": owner.tenant_id, "user_id": owner.user_id}

    async def execute(self, query: Statement | Executable, values: Mapping[str, Any] | None = None) -> Result:
        statement = query if isinstance(query, Statement) else Statement(query, values or ())
        arguments = statement.arguments(values or {}, self._owner)
        try:
            return Result(await self._driver.fetch(statement.sql, *arguments))
        except ERRORS as error:
            raise DatabaseError(error, lost=is_lost(self._driver)) from error

    async def scalar(self, query: Statement | Executable, values: Mapping[str, Any] | None = None) -> Any:
        """The first column of the first row; None where there is no row."""
        rows = (await self.execute(query, values)).all()
        return rows[0][0] if rows else None

    @asynccontextmanager
    async def undone(self) -> AsyncIterator[None]:
        """What happens in the block is rolled back at its end, also where it succeeds."""
        await self._command("SAVEPOINT undone")
        try:
            yield
        finally:
            await self._command("ROLLBACK TO SAVEPOINT undone")

    async def _command(self, sql: str) -> None:
        try:
            await self._driver.execute(sql)
        except ERRORS as error:
            raise DatabaseError(error, lost=is_lost(self._driver)) from error

    async def execute_many(self, statement: Statement, rows: Sequence[Mapping[str, Any]]) -> None:
        """The same statement for each row, in one round trip."""
        arguments = [statement.arguments(row, self._owner) for row in rows]
        try:
            await self._driver.executemany(statement.sql, arguments)
        except ERRORS as error:
            raise DatabaseError(error, lost=is_lost(self._driver)) from error
