"""What the user deleted or refused. Every writer compares its seq with these marks, so nothing older brings it back.

A mark holds the key and a keyed hash of the value: the same value under another key is stopped too, and the value
itself is gone.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from memory.database.connection import Row
from memory.database.schema import memory_tombstones
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.users import own

WHOLE_KEY = b""
"""In place of a value's fingerprint: the mark is about the key, whatever the value."""

_marking = insert(memory_tombstones)
_MARK = Statement(
    _marking.on_conflict_do_update(
        constraint="memory_tombstones_pkey",
        set_={"seq": _marking.excluded.seq, "reason": _marking.excluded.reason},
    ),
    ("tenant_id", "user_id", "fact_key", "fingerprint", "seq", "reason", "created_at"),
)
_READ = Statement(
    select(memory_tombstones.c.fact_key, memory_tombstones.c.fingerprint, memory_tombstones.c.seq).where(
        own(memory_tombstones)
    )
)


async def bury(
    tx: UserTransaction,
    fact_key: str,
    values: Iterable[str],
    seq: int,
    reason: Literal["deleted", "refused"],
    *,
    whole_key: bool = True,
) -> None:
    """Mark the values, and the key as a whole, with the seq of the user's word; the caller holds the user's lock."""
    rows = [
        {
            "fact_key": fact_key,
            "fingerprint": fingerprint,
            "seq": seq,
            "reason": reason,
            "created_at": tx.now,
        }
        for fingerprint in sorted(
            {tx.cipher.fingerprint(value) for value in values} | ({WHOLE_KEY} if whole_key else set())
        )
    ]
    await tx.connection.execute_many(_MARK, rows)


class Tombstones:
    """All marks of a user, as they were read. Few are left at any time: retention removes what stops nothing more."""

    def __init__(self, marks: Iterable[Row], fingerprint: Callable[[str], bytes]) -> None:
        self._fingerprint = fingerprint
        self._of_key: dict[str, int] = {}
        self._of_value: dict[bytes, int] = {}
        for mark in marks:
            if mark.fingerprint == WHOLE_KEY:
                self._of_key[mark.fact_key] = mark.seq
            else:
                self._of_value[mark.fingerprint] = max(mark.seq, self._of_value.get(mark.fingerprint, 0))

    def stop(self, fact_key: str, value: str, seq: int) -> bool:
        """Whether a write of this seq meets a mark that is not older."""
        newest = self._of_key.get(fact_key, -1)
        if self._of_value:
            newest = max(newest, self._of_value.get(self._fingerprint(value), -1))
        return newest >= seq


async def read_tombstones(tx: UserTransaction) -> Tombstones:
    """The caller holds the user's lock."""
    return Tombstones(await tx.connection.execute(_READ), tx.cipher.fingerprint)


async def was_deleted(tx: UserTransaction, fact_key: str) -> bool:
    found = select(memory_tombstones.c.seq).where(
        own(memory_tombstones), memory_tombstones.c.fact_key == fact_key, memory_tombstones.c.reason == "deleted"
    )
    return (await tx.connection.execute(found.limit(1))).one_or_none() is not None


async def forget_tombstones(tx: UserTransaction) -> None:
    """After a clear the generation keeps out everything older; keys and hashes are memory too and go."""
    await tx.connection.execute(delete(memory_tombstones).where(own(memory_tombstones)))
