"""Migrations upwards, step by step, over rows of every table.

The rows are made from what the database itself says about its tables, so a new migration and a new table are covered
without new code. A type that no row can be made for yet is an error that says so.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import ARRAY, Boolean, Column, Connection, DateTime, LargeBinary, MetaData, Numeric, Table, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import IntegrityError
from sqlalchemy.types import Float, Integer, String

USERS_PER_ROUND = 6
"""Enough that every value of every closed list stands in some row."""

_VERSION_TABLE = "alembic_version"
_LISTED = re.compile(r"^\(*\(?(\w+)\)?(?:::text)? = ANY \(.*?ARRAY\[(.*?)\]")
_AT = datetime(2026, 11, 30, tzinfo=UTC)

Row = Mapping[str, Any]
Rows = dict[str, dict[tuple[Any, ...], Row]]
"""Rows by table and primary key."""


@dataclass(frozen=True)
class Schema:
    """What the database says about its tables, and the values that its closed lists allow."""

    tables: Sequence[Table]
    listed: Mapping[tuple[str, str], Sequence[str]]


def revisions(config: Config) -> list[str]:
    """All revisions, oldest first."""
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


def upgrade(connection: Connection, config: Config, revision: str) -> None:
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def read_schema(connection: Connection) -> Schema:
    metadata = MetaData()
    metadata.reflect(connection)
    inspector = sa.inspect(connection)
    listed: dict[tuple[str, str], Sequence[str]] = {}
    tables = [table for table in metadata.sorted_tables if table.name != _VERSION_TABLE]
    for table in tables:
        for check in inspector.get_check_constraints(table.name):
            if found := _LISTED.match(check["sqltext"]):
                listed[table.name, found[1]] = re.findall(r"'([^']*)'", found[2])
    return Schema(tables, listed)


def fill(connection: Connection, schema: Schema, round_number: int) -> int:
    """Write rows into every table as a release with this schema would: full ones, and ones with every gap allowed.

    Each row number is a user of its own. Returns the number of rows.
    """
    written = 0
    for table in schema.tables:
        first = round_number * 2 * USERS_PER_ROUND
        for number in range(first, first + 2 * USERS_PER_ROUND):
            gaps = number >= first + USERS_PER_ROUND
            written += _insert(connection, schema, table, number, gaps=gaps)
    return written


def read_rows(connection: Connection, schema: Schema) -> Rows:
    return {
        table.name: {
            tuple(row[column.name] for column in table.primary_key): dict(row)
            for row in connection.execute(table.select()).mappings()
        }
        for table in schema.tables
    }


def lost(before: Rows, after: Rows) -> list[str]:
    """What of `before` is gone or changed; new tables, columns and rows do not matter."""
    missing: list[str] = []
    for table, rows in before.items():
        for key, row in rows.items():
            now = after.get(table, {}).get(key)
            if now is None:
                missing.append(f"{table} {key}")
            else:
                missing += [f"{table}.{name} {key}" for name in row if name not in now or now[name] != row[name]]
    return missing


def user_of(number: int) -> tuple[str, str]:
    return f"tenant_id-{number}", f"user_id-{number}"


def _insert(connection: Connection, schema: Schema, table: Table, number: int, *, gaps: bool) -> int:
    row = {
        column.name: _value(schema, table, column, number)
        for column in table.columns
        if not (column.computed or column.identity or (gaps and column.nullable))
    }
    try:
        with connection.begin_nested():
            connection.execute(table.insert().values(row))
    except IntegrityError:
        if not gaps:
            raise
        return 0  # a check wants some of the optional columns filled; the full rows have them
    return 1


def _value(schema: Schema, table: Table, column: Column[Any], number: int) -> Any:
    """A value that depends on the column's name and the row's number only, so that references meet their rows."""
    if (table.name, column.name) in schema.listed:
        allowed = schema.listed[table.name, column.name]
        return allowed[number % len(allowed)]
    name = next(iter(column.foreign_keys)).column.name if column.foreign_keys else column.name
    return _of_type(column, column.type, name, number)


def _of_type(column: Column[Any], kind: Any, name: str, number: int) -> Any:
    match kind:
        case ARRAY():
            return [_of_type(column, kind.item_type, name, number)]
        case Uuid():
            return _uuid(name, number)
        case Boolean():
            return number % 2 == 0
        case Integer():
            return number + 1
        case Float() | Numeric():
            return 0.5
        case DateTime():
            return _AT + timedelta(seconds=number)
        case LargeBinary():
            return f"{name}-{number}".encode()
        case JSONB():
            return {name: number}
        case String():
            return f"{name}-{number}"
        case _:
            raise AssertionError(f"{column}: tests/support/migration_steps.py cannot make a value of type {kind!r} yet")


def _uuid(name: str, number: int) -> UUID:
    return uuid5(NAMESPACE_OID, f"{name}-{number}")
