"""Clear: all memory and its copies, in one transaction (design section 7).

The generation goes up, so everything that began before (a queued event, a model call in flight, a replay) is
refused when it comes to write. What still runs ends now, with a fixed answer, and the user's sessions end with it.
"""

from datetime import timedelta
from uuid import UUID

from redis.asyncio import Redis
from sqlalchemy import Table, delete, or_, select

from common.memory_api.facts import Cleared, ClearMemory
from common.memory_api.turns import FailureCode
from common.memory_api.user_data import BehaviourKind
from common.streams.progress import PROGRESS_TTL_SECONDS, forget_progress
from memory.database.schema import (
    behaviour,
    curation_outcomes,
    memory_candidates,
    memory_facts,
    sessions,
    tool_effects,
    turns,
)
from memory.database.statements import among
from memory.database.transactions import Database, UserTransaction
from memory.facts.tombstones import forget_tombstones
from memory.orders.expiring import delete_unconfirmed
from memory.sessions.log import erase_memory_entries
from memory.sessions.sessions import forget_session_constraints, mark_ended
from memory.turns.ending import end_open_turns
from memory.turns.rows import change_turn, seal_items, seal_reply
from memory.users import lock_user, own, raise_purge_generation

_REMEMBERED_BY_REDIS = timedelta(seconds=2 * PROGRESS_TTL_SECONDS)

ERASED_REPLY = "（已随长期记忆清空 · cleared together with the memory）"


async def clear_and_forget(database: Database, redis: Redis, request: ClearMemory) -> Cleared:
    """Clear, and then delete what the turns of the last minutes have told whoever watched them."""
    async with database.of_user(request.owner) as tx:
        cleared = await clear_memory(tx, request)
        told = await turns_of_last_minutes(tx)
    await forget_progress(redis, told)
    return cleared


async def turns_of_last_minutes(tx: UserTransaction) -> list[UUID]:
    """Turns whose progress may still lie in Redis."""
    since = tx.now - _REMEMBERED_BY_REDIS
    query = select(turns.c.turn_id).where(own(turns), or_(turns.c.finished_at.is_(None), turns.c.finished_at > since))
    return (await tx.connection.execute(query)).scalars()


async def clear_memory(tx: UserTransaction, request: ClearMemory) -> Cleared:
    counters = await lock_user(tx)
    if counters.last_clear_id == request.request_id:
        return Cleared(purge_generation=counters.purge_generation, facts=0, sessions_ended=0, turns_ended=0)
    generation = await raise_purge_generation(tx, request.request_id)
    open_sessions = select(sessions.c.session_id).where(own(sessions), sessions.c.state == "open")
    session_ids = (await tx.connection.execute(open_sessions.order_by(sessions.c.session_id))).scalars()
    turns_ended = await end_open_turns(tx, FailureCode.MEMORY_CLEARED)
    await mark_ended(tx, session_ids, reason="memory-cleared")
    await forget_session_constraints(tx)
    await _erase_what_was_shown(tx)
    facts = await _delete_all(tx, memory_facts)  # versions, evidence and uses go with the facts
    for table in (memory_candidates, curation_outcomes, tool_effects):
        await _delete_all(tx, table)
    await delete_unconfirmed(tx)
    await forget_tombstones(tx)
    return Cleared(purge_generation=generation, facts=facts, sessions_ended=len(session_ids), turns_ended=turns_ended)


async def _erase_what_was_shown(tx: UserTransaction) -> None:
    """Turns that worked with memory may quote it: in their log, their answer, their cards and their searches."""
    turn_ids = await erase_memory_entries(tx)
    if not turn_ids:
        return
    for turn_id in turn_ids:
        await change_turn(tx, turn_id, reply=seal_reply(tx, turn_id, ERASED_REPLY), items=seal_items(tx, turn_id, []))
    await tx.connection.execute(
        delete(behaviour).where(
            own(behaviour), behaviour.c.kind == BehaviourKind.SEARCH, among(behaviour.c.turn_id, turn_ids)
        )
    )


async def _delete_all(tx: UserTransaction, table: Table) -> int:
    deleted = delete(table).where(own(table)).returning(table.c.tenant_id)
    return len((await tx.connection.execute(deleted)).all())
