"""Walks the replay jobs: each user's turns in order, one at a time, not faster than the job says.

Everything it knows is in PostgreSQL, and every step is one transaction, so it goes on where it was killed; a job's row
is locked while it is moved on, so that of several replicas one does it.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import and_, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import distinct_on

from common.clock import Clock
from common.crash_points import CrashPoint, CrashPoints
from common.events import Cause
from common.logs import get_logger
from common.memory_api.base import Owner
from common.memory_api.dispatch import WorkId, WorkKind, WorkState
from common.memory_api.replay import ReplayState, ReplayTurnState
from common.problems import ProblemError
from common.telemetry.metrics import Metrics
from common.telemetry.table import REPLAY_TURNS
from memory.database.connection import Connection, DatabaseError, Row
from memory.database.schema import dispatch, replay_jobs, replay_turns
from memory.database.statements import Statement
from memory.database.transactions import Database
from memory.dispatch.operating import discard_work
from memory.dispatch.publisher import EventPublisher
from memory.replay.turns import begin_turn

_log = get_logger(__name__)

_OPEN = (ReplayTurnState.WAITING, ReplayTurnState.RUNNING)
_RUNNING = replay_turns.c.state == ReplayTurnState.RUNNING
_RECORD = and_(
    dispatch.c.tenant_id == replay_turns.c.tenant_id,
    dispatch.c.user_id == replay_turns.c.user_id,
    dispatch.c.kind == WorkKind.CURATE_TURN,
    dispatch.c.subject_id == replay_turns.c.turn_id,
    dispatch.c.run == replay_turns.c.run,
)

# Running jobs, oldest first, and cancelled ones that still have turns under way; asked for at every beat.
_AT_WORK = Statement(
    select(replay_jobs.c.job_id)
    .where(
        or_(
            replay_jobs.c.state == ReplayState.RUNNING,
            exists().where(replay_turns.c.job_id == replay_jobs.c.job_id, _RUNNING),
        )
    )
    .order_by(replay_jobs.c.created_at, replay_jobs.c.job_id)
)
_OPEN_TURNS = Statement(
    select(replay_turns.c.state, func.count().label("turns"))
    .join(replay_jobs, replay_jobs.c.job_id == replay_turns.c.job_id)
    .where(replay_jobs.c.state == ReplayState.RUNNING, replay_turns.c.state.in_(_OPEN))
    .group_by(replay_turns.c.state)
)


class Replayer:
    def __init__(
        self,
        database: Database,
        publisher: EventPublisher,
        clock: Clock,
        interval_seconds: float,
        metrics: Metrics,
        crash_points: CrashPoints,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._clock = clock
        self._interval = timedelta(seconds=interval_seconds)
        self._turns = metrics.gauge(REPLAY_TURNS)
        self._crash_points = crash_points

    async def run(self) -> None:
        """Move the jobs on for ever, until cancelled."""
        while True:
            await self.advance()
            await asyncio.sleep(self._interval.total_seconds())

    async def advance(self) -> None:
        """Move every job on by one beat."""
        try:
            for job_id in await self._jobs_at_work():
                # Two transactions: what has ended must be seen by those that begin the users' next turns.
                for step in (self._settle, self._go_on):
                    async with self._database.of_dispatch() as connection:
                        job = await _lock(connection, job_id)
                        if job is not None:  # else another replica is at it
                            await step(connection, job)
        except Exception as error:  # noqa: BLE001 - the edge: a failed beat is tried again at the next one
            _log.error("replay.failed", error=error)

    async def _jobs_at_work(self) -> Sequence[UUID]:
        async with self._database.of_dispatch() as connection:
            job_ids = (await connection.execute(_AT_WORK)).scalars()
            await self._tell(connection)
            return job_ids

    async def _settle(self, connection: Connection, job: Row) -> None:
        if job.state == ReplayState.CANCELLED:
            await self._discard(connection, job)
        await _mark_ended(connection, job, self._clock.now())

    async def _go_on(self, connection: Connection, job: Row) -> None:
        if job.state == ReplayState.RUNNING:
            await self._begin_turns(connection, job)
            await _finish_if_done(connection, job, self._clock.now())

    async def _begin_turns(self, connection: Connection, job: Row) -> None:
        now = self._clock.now()
        pause = timedelta(seconds=1 / job.turns_per_second)
        # What was not used is not saved up, but for the time since the last beat.
        start_at = max(job.next_start_at, now - max(self._interval, pause))
        allowed = int((now - start_at) / pause)
        if not allowed:
            return
        begun = 0
        for waiting in await _next_turns(connection, job, allowed):
            begun += await self._begin(connection, job, waiting)
        await connection.execute(
            update(replay_jobs).where(replay_jobs.c.job_id == job.job_id).values(next_start_at=start_at + begun * pause)
        )

    async def _begin(self, connection: Connection, job: Row, waiting: Row) -> bool:
        """Make the work record and publish its event; a lost event is published again by the sweeper."""
        try:
            async with self._database.of_user(Owner(tenant_id=waiting.tenant_id, user_id=waiting.user_id)) as tx:
                record = await begin_turn(tx, job, waiting.turn_id)
        except DatabaseError:
            raise
        except Exception as error:  # noqa: BLE001 - one unreadable turn must not stop the others
            _log.error("replay.turn_not_begun", turn_id=str(waiting.turn_id), error=error)
            await _mark(connection, waiting, ReplayTurnState.FAILED, self._clock.now())
            return False
        if record is None:
            return False
        self._crash_points.reach(CrashPoint.MEMORY_REPLAY_BEGUN)
        await self._publisher.publish(record, Cause.REPLAY, self._clock.now())
        return True

    async def _discard(self, connection: Connection, job: Row) -> None:
        under_way = select(replay_turns).where(replay_turns.c.job_id == job.job_id, _RUNNING)
        for row in await connection.execute(under_way):
            try:
                await discard_work(
                    self._database, WorkId(kind=WorkKind.CURATE_TURN, subject_id=row.turn_id, run=row.run)
                )
            except ProblemError:
                continue  # done in the meantime, or gone with its turn

    async def _tell(self, connection: Connection) -> None:
        numbers = {row.state: row.turns for row in await connection.execute(_OPEN_TURNS)}
        for state in _OPEN:
            self._turns.labels(state.value).set(numbers.get(state.value, 0))


async def _lock(connection: Connection, job_id: UUID) -> Row | None:
    locked = select(replay_jobs).where(replay_jobs.c.job_id == job_id).with_for_update(skip_locked=True)
    return (await connection.execute(locked)).one_or_none()


async def _mark_ended(connection: Connection, job: Row, now: datetime) -> None:
    """See what became of the turns under way."""
    ended = (dispatch.c.state == state for state in (WorkState.DONE, WorkState.DEAD, WorkState.DISCARDED))
    rows = await connection.execute(
        select(replay_turns, dispatch.c.state.label("work_state"), dispatch.c.error_code)
        .join(dispatch, _RECORD, isouter=True)
        .where(replay_turns.c.job_id == job.job_id, _RUNNING, or_(dispatch.c.state.is_(None), *ended))
    )
    for row in rows:
        await _mark(connection, row, _state_of(row), now)


def _state_of(row: Row) -> ReplayTurnState:
    if row.work_state is None:
        return ReplayTurnState.GONE  # its turn was driven again or erased, and the record went with that
    if row.work_state != WorkState.DONE:
        return ReplayTurnState.FAILED
    return ReplayTurnState.DONE if row.error_code is None else ReplayTurnState.GONE  # memory was cleared meanwhile


async def _next_turns(connection: Connection, job: Row, at_most: int) -> Sequence[Row]:
    """Of each user the first turn that waits, where no turn of theirs is under way in any job."""
    under_way = replay_turns.alias("under_way")
    busy = exists().where(
        under_way.c.tenant_id == replay_turns.c.tenant_id,
        under_way.c.user_id == replay_turns.c.user_id,
        under_way.c.state == ReplayTurnState.RUNNING,
    )
    return (
        await connection.execute(
            select(replay_turns)
            .ext(distinct_on(replay_turns.c.tenant_id, replay_turns.c.user_id))
            .where(replay_turns.c.job_id == job.job_id, replay_turns.c.state == ReplayTurnState.WAITING, ~busy)
            .order_by(replay_turns.c.tenant_id, replay_turns.c.user_id, replay_turns.c.seq)
            .limit(at_most)
        )
    ).all()


async def _finish_if_done(connection: Connection, job: Row, now: datetime) -> None:
    open_turns = exists().where(replay_turns.c.job_id == job.job_id, replay_turns.c.state.in_(_OPEN))
    await connection.execute(
        update(replay_jobs)
        .where(replay_jobs.c.job_id == job.job_id, ~open_turns)
        .values(state=ReplayState.FINISHED, finished_at=now)
    )


async def _mark(connection: Connection, row: Row, state: ReplayTurnState, now: datetime) -> None:
    await connection.execute(
        update(replay_turns)
        .where(
            replay_turns.c.tenant_id == row.tenant_id,
            replay_turns.c.user_id == row.user_id,
            replay_turns.c.job_id == row.job_id,
            replay_turns.c.turn_id == row.turn_id,
        )
        .values(state=state, finished_at=now)
    )
