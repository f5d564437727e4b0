"""Turn rows: reading, locking and the encrypted columns."""

import json
from functools import cache
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from sqlalchemy import bindparam, or_, select, update

from common.memory_api.turns import ItemCard, TurnReference, TurnStatus
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Row
from memory.database.schema import turns
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import own

TurnRow = Row

IS_OPEN = or_(turns.c.status == TurnStatus.ACCEPTED, turns.c.status == TurnStatus.RUNNING)
"""The condition that `TurnStatus.open` is in Python."""

_ITEMS = TypeAdapter(list[ItemCard])


_FIND = Statement(select(turns).where(own(turns), turns.c.turn_id == bindparam("turn_id")))
_LOCK = Statement(
    select(turns).where(own(turns), turns.c.turn_id == bindparam("turn_id")).with_for_update(key_share=True)
)


async def find_turn(tx: UserTransaction, turn_id: UUID, *, lock: bool = False) -> TurnRow:
    row: TurnRow | None = (await tx.connection.execute(_LOCK if lock else _FIND, {"turn_id": turn_id})).one_or_none()
    if row is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return row


async def change_turn(tx: UserTransaction, turn_id: UUID, **values: Any) -> None:
    given = {f"new_{name}": value for name, value in values.items()}
    await tx.connection.execute(_changing(tuple(values)), {"turn_id": turn_id, **given})


@cache
def _changing(columns: tuple[str, ...]) -> Statement:
    changed = update(turns).where(own(turns), turns.c.turn_id == bindparam("turn_id"))
    return Statement(changed.values({name: bindparam(f"new_{name}") for name in columns}))


def reference(row: TurnRow) -> TurnReference:
    return TurnReference(
        turn_id=row.turn_id,
        session_id=row.session_id,
        seq=row.seq,
        purge_generation=row.purge_generation,
        status=TurnStatus(row.status),
    )


def seal_user_text(tx: UserTransaction, turn_id: UUID, text: str) -> bytes:
    return tx.cipher.encrypt(text, Place("turns.user_text", turn_id))


def user_text(tx: UserTransaction, row: TurnRow) -> str:
    return tx.cipher.decrypt(row.user_text, Place("turns.user_text", row.turn_id))


def seal_reply(tx: UserTransaction, turn_id: UUID, text: str) -> bytes:
    return tx.cipher.encrypt(text, Place("turns.reply", turn_id))


def reply(tx: UserTransaction, row: TurnRow) -> str | None:
    return None if row.reply is None else tx.cipher.decrypt(row.reply, Place("turns.reply", row.turn_id))


def seal_items(tx: UserTransaction, turn_id: UUID, items: list[ItemCard]) -> bytes:
    return tx.cipher.encrypt(_ITEMS.dump_json(items).decode(), Place("turns.items", turn_id))


def items(tx: UserTransaction, row: TurnRow) -> list[ItemCard]:
    if row["items"] is None:
        return []
    return _ITEMS.validate_json(tx.cipher.decrypt(row["items"], Place("turns.items", row.turn_id)))


def seal_json(tx: UserTransaction, value: object, place: Place) -> bytes:
    return tx.cipher.encrypt(json.dumps(value, ensure_ascii=False), place)
