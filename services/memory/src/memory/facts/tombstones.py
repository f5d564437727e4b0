"""What the user deleted or refused. Every writer compares its seq with these marks, so nothing older brings it back.

A mark holds the key and a keyed hash of the value: the same value under another key is stopped too, and the value
itself is gone.
"""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy import and_, bindparam, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert

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
_NEWEST_MARK = Statement(
    select(func.max(memory_tombstones.c.seq)).where(
        own(memory_tombstones),
        or_(
            and_(memory_tombstones.c.fact_key == bindparam("fact_key"), memory_tombstones.c.fingerprint == WHOLE_KEY),
            memory_tombstones.c.fingerprint == bindparam("fingerprint"),
        ),
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


async def buried(tx: UserTransaction, fact_key: str, value: str, seq: int) -> bool:
    """Whether a write of this seq meets a mark that is not older."""
    wanted = {"fact_key": fact_key, "fingerprint": tx.cipher.fingerprint(value)}
    mark = await tx.connection.scalar(_NEWEST_MARK, wanted)
    return mark is not None and mark >= seq


async def was_deleted(tx: UserTransaction, fact_key: str) -> bool:
    found = select(memory_tombstones.c.seq).where(
        own(memory_tombstones), memory_tombstones.c.fact_key == fact_key, memory_tombstones.c.reason == "deleted"
    )
    return (await tx.connection.execute(found.limit(1))).one_or_none() is not None


async def forget_tombstones(tx: UserTransaction) -> None:
    """After a clear the generation keeps out everything older; keys and hashes are memory too and go."""
    await tx.connection.execute(delete(memory_tombstones).where(own(memory_tombstones)))
