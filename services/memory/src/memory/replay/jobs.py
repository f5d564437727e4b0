"""Replay jobs as an operator sees them: start, show, list, cancel.

A job is a list of turns, made once when it starts; `Replayer` walks it. Everything here is ids and counts, and is done
by the dispatch role, which sees no words.
"""

from uuid import UUID

from sqlalchemy import Select, and_, func, insert, literal, select, true, update
from sqlalchemy.dialects.postgresql import insert as insert_once
from sqlalchemy.sql.elements import ColumnElement

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.replay import (
    CancelReplay,
    ListReplays,
    ReplayCounts,
    ReplayedTurn,
    ReplayJob,
    ReplayReport,
    Replays,
    ReplaySelection,
    ReplayState,
    ReplayTurnState,
    ShowReplay,
    StartReplay,
)
from common.problems import ProblemCode, ProblemError
from memory.database.connection import Connection, Row
from memory.database.schema import dispatch, replay_jobs, replay_turns
from memory.database.transactions import Database

COUNTS = tuple(ReplayCounts.model_fields)
_JOB_FIELDS = ("tenant_id", "user_id", "session_id", "since", "until", "failed_only", "dry_run", "turns_per_second")


async def start_replay(database: Database, request: StartReplay) -> ReplayJob:
    """Choose the turns and write them down; the same job id asked for again is the same job."""
    if not database.policy.memory_enabled:
        raise ProblemError(ProblemCode.INVALID_REQUEST, "long-term memory is switched off")
    now = database.now()
    job = insert_once(replay_jobs).values(
        job_id=request.job_id,
        **request.selection.model_dump(),
        dry_run=request.dry_run,
        turns_per_second=request.turns_per_second or database.policy.replay_turns_per_second,
        next_start_at=now,
        created_at=now,
    )
    turns = insert(replay_turns).from_select(
        ["tenant_id", "user_id", "job_id", "turn_id", "session_id", "seq"],
        _chosen(request.job_id, request.selection),
    )
    async with database.of_dispatch() as connection:
        made = await connection.scalar(job.on_conflict_do_nothing().returning(replay_jobs.c.job_id))
        if made is not None:
            await connection.execute(turns)
        return await _read(connection, request.job_id)


async def show_replay(database: Database, request: ShowReplay) -> ReplayReport:
    query = (
        select(replay_turns)
        .where(replay_turns.c.job_id == request.job_id)
        .order_by(replay_turns.c.tenant_id, replay_turns.c.user_id, replay_turns.c.seq)
        .limit(request.turns)
    )
    async with database.of_dispatch() as connection:
        job = await _read(connection, request.job_id)
        rows = await connection.execute(query) if request.turns else ()
        return ReplayReport(job=job, turns=[_turn_view(row) for row in rows])


async def list_replays(database: Database, request: ListReplays) -> Replays:
    """The newest first."""
    query = select(replay_jobs.c.job_id).order_by(replay_jobs.c.created_at.desc(), replay_jobs.c.job_id)
    async with database.of_dispatch() as connection:
        job_ids = (await connection.execute(query.limit(request.limit))).scalars()
        return Replays(jobs=[await _read(connection, job_id) for job_id in job_ids])


async def cancel_replay(database: Database, request: CancelReplay) -> ReplayJob:
    """No further turn begins. What is being curated is discarded by the next beat of `Replayer`."""
    cancelled = (
        update(replay_jobs)
        .where(replay_jobs.c.job_id == request.job_id, replay_jobs.c.state == ReplayState.RUNNING)
        .values(state=ReplayState.CANCELLED, finished_at=database.now())
    )
    async with database.of_dispatch() as connection:
        await connection.execute(cancelled)
        return await _read(connection, request.job_id)


def _chosen(job_id: UUID, selection: ReplaySelection) -> Select[tuple[object, ...]]:
    """Turns whose curation has ended, by the newest run that was meant."""
    newest = dispatch.alias("newest")
    state = (
        select(newest.c.state)
        .where(
            newest.c.tenant_id == dispatch.c.tenant_id,
            newest.c.user_id == dispatch.c.user_id,
            newest.c.kind == dispatch.c.kind,
            newest.c.subject_id == dispatch.c.subject_id,
            ~newest.c.dry_run,
        )
        .order_by(newest.c.run.desc())
        .limit(1)
        .scalar_subquery()
    )
    wanted = [WorkState.DEAD] if selection.failed_only else [WorkState.DEAD, WorkState.DONE]
    return select(
        dispatch.c.tenant_id,
        dispatch.c.user_id,
        literal(job_id, replay_turns.c.job_id.type),
        dispatch.c.subject_id,
        dispatch.c.session_id,
        dispatch.c.seq,
    ).where(dispatch.c.kind == WorkKind.CURATE_TURN, dispatch.c.run == 0, _selected(selection), state.in_(wanted))


def _selected(selection: ReplaySelection) -> ColumnElement[bool]:
    """The first record of a turn's curation is made when the turn ends: its time is the turn's."""
    equal = {"tenant_id": selection.tenant_id, "user_id": selection.user_id, "session_id": selection.session_id}
    conditions = [dispatch.c[name] == value for name, value in equal.items() if value is not None]
    if selection.since is not None:
        conditions.append(dispatch.c.created_at >= selection.since)
    if selection.until is not None:
        conditions.append(dispatch.c.created_at < selection.until)
    return and_(true(), *conditions)


async def _read(connection: Connection, job_id: UUID) -> ReplayJob:
    job = await _find(connection, job_id)
    if job is None:
        raise ProblemError(ProblemCode.NOT_FOUND)
    sums = [func.coalesce(func.sum(replay_turns.c[name]), 0).label(name) for name in COUNTS]
    query = (
        select(replay_turns.c.state, func.count().label("turns"), *sums)
        .where(replay_turns.c.job_id == job_id)
        .group_by(replay_turns.c.state)
    )
    rows = (await connection.execute(query)).all()
    numbers = {row.state: row.turns for row in rows}
    return ReplayJob(
        job_id=job.job_id,
        **{name: job[name] for name in _JOB_FIELDS},
        state=ReplayState(job.state),
        created_at=job.created_at,
        finished_at=job.finished_at,
        turns={state: numbers.get(state.value, 0) for state in ReplayTurnState},
        counts=ReplayCounts(**{name: sum(row[name] for row in rows) for name in COUNTS}),
    )


async def _find(connection: Connection, job_id: UUID) -> Row | None:
    found = await connection.execute(select(replay_jobs).where(replay_jobs.c.job_id == job_id))
    return found.one_or_none()


def _turn_view(row: Row) -> ReplayedTurn:
    return ReplayedTurn(
        **{name: row[name] for name in ReplayedTurn.model_fields if name != "counts"},
        counts=ReplayCounts(**{name: row[name] for name in COUNTS}),
    )
