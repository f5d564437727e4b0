"""Removing replay jobs: those that have long ended, and those that name a user who is erased."""

from sqlalchemy import ColumnElement, and_, delete, select

from common.memory_api.base import Owner
from memory.database.schema import replay_jobs, replay_turns
from memory.database.statements import among
from memory.database.transactions import Database
from memory.facts.lifetime import A_DAY


async def remove_old_replays(database: Database) -> int:
    """Jobs that ended longer ago than they are kept, with their report of every turn. Returns how many."""
    return await _remove(database, replay_jobs.c.finished_at < database.now() - database.policy.replay_days * A_DAY)


async def forget_replays_of(database: Database, owner: Owner) -> None:
    """Jobs that were started for this user alone; a running one ends. Of other jobs only the user's turns go, with
    everything else of theirs."""
    await _remove(database, and_(replay_jobs.c.tenant_id == owner.tenant_id, replay_jobs.c.user_id == owner.user_id))


async def _remove(database: Database, which: ColumnElement[bool]) -> int:
    async with database.of_dispatch() as connection:
        # Locked first: a replica that is moving the job on ends its step before.
        locked = select(replay_jobs.c.job_id).where(which).order_by(replay_jobs.c.job_id).with_for_update()
        job_ids = (await connection.execute(locked)).scalars()
        if job_ids:
            await connection.execute(delete(replay_turns).where(among(replay_turns.c.job_id, job_ids)))
            await connection.execute(delete(replay_jobs).where(among(replay_jobs.c.job_id, job_ids)))
        return len(job_ids)
