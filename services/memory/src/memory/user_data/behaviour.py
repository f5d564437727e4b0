"""Behaviour history: what the user searched for and bought. Rendered "purchases first, then searches, newest
first", so that the same data gives the same bytes."""

from collections.abc import Sequence

from sqlalchemy import insert, select

from common.memory_api.turns import Behaviour
from common.memory_api.user_data import BehaviourKind
from memory.database.schema import behaviour
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.turns.rows import TurnRow
from memory.users import own

RECENT_PER_KIND = 5
_TEXT = "behaviour.text"


async def add_behaviour(tx: UserTransaction, turn: TurnRow, entries: Sequence[Behaviour]) -> None:
    rows = []
    for position, entry in enumerate(entries):
        behaviour_id = tx.new_id()
        rows.append(
            {
                **tx.key,
                "behaviour_id": behaviour_id,
                "kind": entry.kind,
                "text": tx.cipher.encrypt(entry.text, Place(_TEXT, behaviour_id)),
                "turn_id": turn.turn_id,
                "seq": turn.seq,
                "position": position,
                "created_at": tx.now,
            }
        )
    if rows:
        await tx.connection.execute(insert(behaviour), rows)


async def recent_behaviour(tx: UserTransaction, per_kind: int = RECENT_PER_KIND) -> list[Behaviour]:
    found: list[Behaviour] = []
    for kind in (BehaviourKind.PURCHASE, BehaviourKind.SEARCH):
        query = (
            select(behaviour.c.behaviour_id, behaviour.c.text)
            .where(own(behaviour, tx), behaviour.c.kind == kind)
            .order_by(behaviour.c.seq.desc(), behaviour.c.position.desc())
            .limit(per_kind)
        )
        found += [
            Behaviour(kind=kind, text=tx.cipher.decrypt(row.text, Place(_TEXT, row.behaviour_id)))
            for row in await tx.connection.execute(query)
        ]
    return found
