"""Behaviour history: what the user searched for and bought. Rendered "purchases first, then searches, newest
first", so that the same data gives the same bytes."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import BigInteger, Subquery, bindparam, insert, select, union_all

from common.memory_api.turns import Behaviour
from common.memory_api.user_data import BehaviourKind
from memory.database.schema import behaviour
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import own

RECENT_PER_KIND = 5
_TEXT = "behaviour.text"


_ADD = Statement(
    insert(behaviour),
    ("tenant_id", "user_id", "behaviour_id", "kind", "text", "turn_id", "seq", "position", "created_at"),
)


def _newest(kind: BehaviourKind) -> Subquery:
    return (
        select(behaviour.c.behaviour_id, behaviour.c.kind, behaviour.c.text, behaviour.c.seq, behaviour.c.position)
        .where(own(behaviour), behaviour.c.kind == kind)
        .order_by(behaviour.c.seq.desc(), behaviour.c.position.desc())
        .limit(bindparam("per_kind", type_=BigInteger))
        .subquery(kind)
    )


_both = union_all(*(select(_newest(kind)) for kind in (BehaviourKind.PURCHASE, BehaviourKind.SEARCH))).subquery("both")
_RECENT = Statement(
    select(_both).order_by(_both.c.kind != BehaviourKind.PURCHASE, _both.c.seq.desc(), _both.c.position.desc())
)


async def add_behaviour(tx: UserTransaction, entries: Sequence[Behaviour], *, turn_id: UUID, seq: int) -> None:
    """`seq` is that of the turn or of the user's own edit that did it; within it entries stand in their order."""
    rows = []
    for position, entry in enumerate(entries):
        behaviour_id = tx.new_id()
        rows.append(
            {
                "behaviour_id": behaviour_id,
                "kind": entry.kind,
                "text": tx.cipher.encrypt(entry.text, Place(_TEXT, behaviour_id)),
                "turn_id": turn_id,
                "seq": seq,
                "position": position,
                "created_at": tx.now,
            }
        )
    if rows:
        await tx.connection.execute_many(_ADD, rows)


async def recent_behaviour(tx: UserTransaction, per_kind: int = RECENT_PER_KIND) -> list[Behaviour]:
    rows = await tx.connection.execute(_RECENT, {"per_kind": per_kind})
    return [
        Behaviour(kind=BehaviourKind(row.kind), text=tx.cipher.decrypt(row.text, Place(_TEXT, row.behaviour_id)))
        for row in rows
    ]
