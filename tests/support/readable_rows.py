"""All that a database says of a user, in the clear: what somebody who has the disk *and* the user's keys could read."""

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
UNREADABLE = "(cannot be opened)"


async def readable_rows(admin_url: str, database: Database, owner: Owner) -> Mapping[str, list[str]]:
    """Every value of every row of the user by `table.column`, read as superuser; sealed ones opened with whatever keys
    the key store still has."""
    cipher = UserCipher(owner, await database.keys.ring_of(owner))
    connection = await asyncpg.connect(admin_url)
    try:
        found: dict[str, list[str]] = {}
        for table in metadata.tables:
            rows = await connection.fetch(
                f"SELECT * FROM {table} WHERE tenant_id = $1 AND user_id = $2", owner.tenant_id, owner.user_id
            )
            for row in rows:
                for column, value in row.items():
                    if value is not None:
                        found.setdefault(f"{table}.{column}", []).append(_read(cipher, table, column, row))
        return found
    finally:
        await connection.close()


def places_of(found: Mapping[str, list[str]], words: str) -> list[str]:
    """Where the words stand."""
    return sorted(place for place, values in found.items() if any(words in value for value in values))


def place_in(sealed: SealedColumn, row: asyncpg.Record) -> Place:
    return sealed.place(sealed.column.name if sealed.row_id is None else row[sealed.row_id.name])


def _read(cipher: UserCipher, table: str, column: str, row: asyncpg.Record) -> str:
    value: Any = row[column]
    sealed = _SEALED.get((table, column))
    if sealed is None:
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    try:
        return cipher.decrypt(value, place_in(sealed, row))
    except CannotDecrypt:
        return UNREADABLE
