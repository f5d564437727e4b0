"""The session log: append only. What was sent to a model is stored as the exact JSON text that was sent."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ARRAY, Uuid, and_, bindparam, cast, insert, select, update

from common.memory_api.sessions import EntryKind, Layer, LogEntry, NewLogEntry
from common.problems import ProblemCode, ProblemError
from memory.database.schema import session_log, sessions
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import KEY_IN_FORCE, own

_PAYLOAD = "session_log.payload"

ERASED_PAYLOAD = '{"role":"system","content":"[cleared by the user]"}'
"""What stands in place of an entry that held memory once the user has cleared it."""


_OF_SESSION = and_(own(sessions), sessions.c.session_id == bindparam("session_id"))
_ENTRIES = select(session_log).where(own(session_log), session_log.c.session_id == bindparam("session_id"))

_LOCK = Statement(
    select(sessions.c.head, KEY_IN_FORCE.label("key_id"))
    .where(_OF_SESSION)
    .with_for_update(of=sessions, key_share=True)
)
_EXISTS = Statement(select(sessions.c.session_id).where(_OF_SESSION))
_MOVE_HEAD = Statement(
    update(sessions)
    .where(_OF_SESSION)
    .values(head=bindparam("new_head"), last_activity_at=bindparam("new_last_activity_at"))
)
_ADD = Statement(
    insert(session_log),
    (
        "tenant_id",
        "user_id",
        "session_id",
        "position",
        "entry_id",
        "turn_id",
        "attempt",
        "kind",
        "layer",
        "payload",
        "bears_memory",
        "memory_fact_ids",
        "created_at",
    ),
)
_READ_ALL = Statement(_ENTRIES.order_by(session_log.c.position))
_READ_TURN = Statement(_ENTRIES.where(session_log.c.turn_id == bindparam("turn_id")).order_by(session_log.c.position))
_READ_IDS_AFTER = Statement(
    select(session_log.c.entry_id)
    .where(
        own(session_log),
        session_log.c.session_id == bindparam("session_id"),
        session_log.c.position > bindparam("after"),
    )
    .order_by(session_log.c.position)
)


async def lock_session(tx: UserTransaction, session_id: UUID) -> int:
    """Lock the session and return its head, the position of its last entry. Says which key is in force."""
    session = (await tx.connection.execute(_LOCK, {"session_id": session_id})).one_or_none()
    if session is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    tx.cipher.use(session.key_id)
    return int(session.head)


async def must_exist(tx: UserTransaction, session_id: UUID) -> None:
    if await tx.connection.scalar(_EXISTS, {"session_id": session_id}) is None:
        raise ProblemError(ProblemCode.NOT_FOUND)


async def append(
    tx: UserTransaction,
    session_id: UUID,
    turn_id: UUID,
    attempt: int,
    *,
    head: int,
    expected_head: int,
    entries: Sequence[NewLogEntry],
) -> int:
    """Append entries at `expected_head` and return the new head; the caller holds the session's lock.

    Repeating an append whose answer was lost finds its own entries and changes nothing.
    """
    if head != expected_head:
        if await _is_repeated(tx, session_id, expected_head, head, entries):
            return head
        raise ProblemError(ProblemCode.HEAD_MOVED)
    if not entries:
        return head
    await tx.connection.execute_many(
        _ADD,
        [
            {
                "session_id": session_id,
                "position": head + offset,
                "entry_id": entry.entry_id,
                "turn_id": turn_id,
                "attempt": attempt,
                "kind": entry.kind,
                "layer": entry.layer,
                "payload": tx.cipher.encrypt(entry.payload, Place(_PAYLOAD, entry.entry_id)),
                "bears_memory": entry.bears_memory or bool(entry.memory_fact_ids),
                "memory_fact_ids": entry.memory_fact_ids,
                "created_at": tx.now,
            }
            for offset, entry in enumerate(entries, start=1)
        ],
    )
    new_head = head + len(entries)
    moved = {"session_id": session_id, "new_head": new_head, "new_last_activity_at": tx.now}
    await tx.connection.execute(_MOVE_HEAD, moved)
    return new_head


async def read_log(tx: UserTransaction, session_id: UUID, turn_id: UUID | None = None) -> list[LogEntry]:
    """The session's log in order, or one turn's part of it."""
    if turn_id is None:
        rows = await tx.connection.execute(_READ_ALL, {"session_id": session_id})
    else:
        rows = await tx.connection.execute(_READ_TURN, {"session_id": session_id, "turn_id": turn_id})
    return [
        LogEntry(
            position=row.position,
            entry_id=row.entry_id,
            turn_id=row.turn_id,
            kind=EntryKind(row.kind),
            layer=Layer(row.layer),
            payload=tx.cipher.decrypt(row.payload, Place(_PAYLOAD, row.entry_id)),
            memory_fact_ids=row.memory_fact_ids,
            bears_memory=row.bears_memory,
        )
        for row in rows
    ]


async def erase_memory_entries(tx: UserTransaction) -> list[UUID]:
    """Overwrite every log payload of the user that holds memory; positions stay, so the log keeps no gap.

    Returns the turns that the entries belong to.
    """
    bearing = select(session_log.c.entry_id, session_log.c.turn_id).where(own(session_log), session_log.c.bears_memory)
    rows = (await tx.connection.execute(bearing)).all()
    if not rows:
        return []
    statement = (
        update(session_log)
        .where(own(session_log), session_log.c.entry_id == bindparam("of_entry"))
        .values(payload=bindparam("erased"), memory_fact_ids=cast([], ARRAY(Uuid)))
    )
    await tx.connection.execute_many(
        Statement(statement),
        [
            {"of_entry": entry_id, "erased": tx.cipher.encrypt(ERASED_PAYLOAD, Place(_PAYLOAD, entry_id))}
            for entry_id in (row.entry_id for row in rows)
        ],
    )
    return sorted({row.turn_id for row in rows})


async def _is_repeated(
    tx: UserTransaction, session_id: UUID, expected_head: int, head: int, entries: Sequence[NewLogEntry]
) -> bool:
    if not entries or head != expected_head + len(entries):
        return False
    stored = await tx.connection.execute(_READ_IDS_AFTER, {"session_id": session_id, "after": expected_head})
    return [row.entry_id for row in stored] == [entry.entry_id for entry in entries]
