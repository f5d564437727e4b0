"""All that a database says of a user, in the clear: what somebody who has the disk *and* the user's keys could read."""

import json
from collections.abc import Mapping
from typing import Any

import asyncpg

from common.memory_api.base import Owner
from memory.database.schema import metadata
from memory.database.transactions import Database
from memory.encryption.cipher import Place, UserCipher
from memory.encryption.keys import CannotDecrypt
from memory.encryption.sealed_columns import SEALED_COLUMNS, SealedColumn

_SEALED = {(each.table.name, each.column.name): each for each in SEALED_COLUMNS}
_ALL_ROWS = " UNION ALL ".join(
    f"SELECT '{table}', to_jsonb({table}) FROM {table} WHERE tenant_id = $1 AND user_id = $2"
    for table in metadata.tables
)
"""In one round trip; binary columns come as hexadecimal digits."""

UNREADABLE = "(cannot be opened)"


async def readable_rows(admin_url: str, database: Database, owner: Owner) -> Mapping[str, list[str]]:
    """Every value of every row of the user by `table.column`, read as superuser; sealed ones opened with whatever keys
    the key store still has."""
    connection = await asyncpg.connect(admin_url)
    try:
        return await read_rows(connection, database, owner)
    finally:
        await connection.close()


async def read_rows(connection: asyncpg.Connection, database: Database, owner: Owner) -> Mapping[str, list[str]]:
    """The same over a connection of a superuser."""
    cipher = UserCipher(owner, await database.keys.ring_of(owner))
    found: dict[str, list[str]] = {}
    for table, as_json in await connection.fetch(_ALL_ROWS, owner.tenant_id, owner.user_id):
        row = json.loads(as_json)
        for column, value in row.items():
            if value is not None:
                found.setdefault(f"{table}.{column}", []).append(_read(cipher, table, column, row))
    return found


def places_of(found: Mapping[str, list[str]], words: str) -> list[str]:
    """Where the words stand."""
    return sorted(place for place, values in found.items() if any(words in value for value in values))


def place_in(sealed: SealedColumn, row: Mapping[str, Any]) -> Place:
    return sealed.place(sealed.column.name if sealed.row_id is None else row[sealed.row_id.name])


def _read(cipher: UserCipher, table: str, column: str, row: Mapping[str, Any]) -> str:
    value = row[column]
    sealed = _SEALED.get((table, column))
    if sealed is None:
        return str(value)
    try:
        return cipher.decrypt(bytes.fromhex(value.removeprefix("\\x")), place_in(sealed, row))
    except CannotDecrypt:
        return UNREADABLE
