"""What `save_memory` could not store because memory did not answer. It holds for its session, as its user was told.

The agent finds it in the session's log; here it passes what a write would have passed: the gate, the user's words of
its turn, the tombstones, the generation, and whatever was said of the same key since.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import select

from common.memory_api.facts import Fact, FactOutcome, SessionFact, UnsavedFact
from memory.database.schema import turns
from memory.database.statements import among
from memory.database.transactions import UserTransaction
from memory.facts.evidence.judgement import Support, judge
from memory.facts.evidence.user_words import UserWords
from memory.facts.proposals import through_door
from memory.facts.tombstones import Tombstones, read_tombstones
from memory.turns.rows import TurnRow, user_text
from memory.users import lock_user, own


async def facts_of_session(
    tx: UserTransaction, unsaved: Sequence[UnsavedFact], stored: Sequence[Fact]
) -> list[SessionFact]:
    """What is still in force, in the order in which it was said; of a key the last word."""
    if not unsaved:
        return []
    generation = (await lock_user(tx)).purge_generation
    turn_of = await _turns(tx, {each.turn_id for each in unsaved})
    newest_seq = {fact.key: fact.seq for fact in stored}
    tombstones = await read_tombstones(tx)
    held: dict[str, SessionFact] = {}
    for each in unsaved:
        turn = turn_of.get(each.turn_id)
        if turn is None or turn.purge_generation != generation:
            continue
        fact = _checked(tx, each, turn, tombstones)
        if fact is not None and newest_seq.get(fact.key, 0) < turn.seq:
            held.pop(fact.key, None)
            held[fact.key] = fact
    return list(held.values())


def _checked(tx: UserTransaction, unsaved: UnsavedFact, turn: TurnRow, tombstones: Tombstones) -> SessionFact | None:
    fact = through_door(tx, unsaved.proposed)
    if isinstance(fact, FactOutcome):
        return None
    if judge(fact.key, fact.value, UserWords(user_text(tx, turn))).support is not Support.EXPLICIT:
        return None
    if tombstones.stop(fact.key, fact.value, turn.seq):
        return None
    return SessionFact(turn_id=turn.turn_id, key=fact.key, value=fact.value, category=fact.category)


async def _turns(tx: UserTransaction, turn_ids: set[UUID]) -> Mapping[UUID, TurnRow]:
    query = select(turns).where(own(turns), among(turns.c.turn_id, turn_ids))
    return {turn.turn_id: turn for turn in await tx.connection.execute(query)}
