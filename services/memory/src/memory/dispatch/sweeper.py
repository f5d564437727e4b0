"""The sweeper: what has not moved is woken again, what lost its worker is released, what keeps failing is ended.

Several replicas may sweep at once: rows are taken with SKIP LOCKED and marked before anything is published.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import DateTime, Interval, and_, case, func, literal, or_, select, true, update

from common.clock import Clock
from common.crash_points import CrashPoint, CrashPoints
from common.events import Cause
from common.logs import get_logger
from common.memory_api.base import Owner
from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.turns import FailureCode, TurnStatus
from common.telemetry.metrics import Metrics
from common.telemetry.table import CIRCUIT_OPEN, LAST_SWEEP, LEASES_EXPIRED, SWEEPS
from memory.database.connection import Row
from memory.database.schema import circuits, dispatch
from memory.database.transactions import Database, UserTransaction
from memory.dispatch.publisher import GROUP_OF_KIND, EventPublisher
from memory.dispatch.records import lock_work, revoke
from memory.policy import Policy
from memory.sessions.idle import IdleSessions
from memory.sessions.log import lock_session
from memory.turns.ending import give_up
from memory.turns.rows import find_turn

_log = get_logger(__name__)

_BATCH = 200
_PROBES = 1
"""Records that are woken at a time to see whether their kind's workers are well again."""
_LONG_WAIT = 5
"""Times the pause between two publishes after which a record is woken although its group lags."""
_TIME = DateTime(timezone=True)


class Sweeper:
    def __init__(
        self,
        database: Database,
        publisher: EventPublisher,
        policy: Policy,
        clock: Clock,
        crash_points: CrashPoints,
        interval: timedelta,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._policy = policy
        self._clock = clock
        self._crash_points = crash_points
        self._interval = interval.total_seconds()
        self._idle_sessions = IdleSessions(database, policy, clock)
        self._stopping = asyncio.Event()
        self._sweeps = metrics.counter(SWEEPS)
        self._last_sweep = metrics.gauge(LAST_SWEEP)
        self._leases_expired = metrics.counter(LEASES_EXPIRED)
        self._circuit_open = metrics.gauge(CIRCUIT_OPEN)
        self._half_open: frozenset[WorkKind] = frozenset()

    def stop(self) -> None:
        """Let `run` return after the round it is in."""
        self._stopping.set()

    async def run(self) -> None:
        while not self._stopping.is_set():
            await self.sweep()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._stopping.wait()

    async def sweep(self) -> None:
        """One round: end what is past help, release expired leases, close idle sessions, wake what is due.

        These do not depend on each other: trouble with one must not stop the others.
        """
        outcome = "done"
        for phase in (
            self._read_circuits,
            self._end_hopeless,
            self._release_expired,
            self._idle_sessions.close,
            self._wake_all,
        ):
            try:
                await phase()
            except Exception as error:  # noqa: BLE001 - the edge: a failed phase is tried again at the next beat
                outcome = "failed"
                _log.error("sweep.failed", phase=phase.__name__.strip("_"), error=error)
        self._sweeps.labels(outcome).inc()
        self._last_sweep.set_to_current_time()

    async def _read_circuits(self) -> None:
        """Learn which circuits other replicas have opened or closed."""
        now = self._clock.now()
        async with self._database.of_dispatch() as connection:
            rows = (await connection.execute(select(circuits))).all()
        self._database.circuits.agree([WorkKind(row.kind) for row in rows])
        self._half_open = frozenset(WorkKind(row.kind) for row in rows if row.open_until <= now)
        for kind in WorkKind:
            closed = self._database.circuits.is_closed(kind)
            self._circuit_open.labels(kind.value).set(0 if closed else 0.5 if kind in self._half_open else 1)

    async def _wake_all(self) -> None:
        for kind in GROUP_OF_KIND:
            closed = self._database.circuits.is_closed(kind)
            if closed or kind in self._half_open:  # while it is open nobody could claim them
                await self._wake(
                    kind, lagging=await self._publisher.is_lagging(kind), at_most=_BATCH if closed else _PROBES
                )

    async def _wake(self, kind: WorkKind, *, lagging: bool, at_most: int) -> None:
        now = self._clock.now()
        records = await self._mark_due(kind, now, lagging=lagging, at_most=at_most)
        if records:
            self._crash_points.reach(CrashPoint.MEMORY_SWEEP_MARKED)
        # Each begins a trace of its own: the one of the request that the record comes from has ended long ago.
        waiting = sorted(records, key=lambda each: (each.tenant_id, each.user_id, each.seq))
        while waiting and await self._publisher.publish(waiting[0], _cause_of(waiting[0]), now):
            waiting.pop(0)
        if waiting:
            await self._unmark(waiting, now)

    async def _mark_due(self, kind: WorkKind, now: datetime, *, lagging: bool, at_most: int) -> Sequence[Row]:
        """Due records, marked so that no replica publishes them again for a while.

        While the group still has events to read, a record's own may be among them; so only those are woken that
        were released since they were last published, and those that have waited for long.
        """
        never_published = dispatch.c.publish_after <= dispatch.c.next_attempt_at
        long_due = dispatch.c.next_attempt_at <= now - _LONG_WAIT * self._policy.republish
        due = (
            select(dispatch.c.tenant_id, dispatch.c.user_id, dispatch.c.kind, dispatch.c.subject_id, dispatch.c.run)
            .where(
                dispatch.c.state == WorkState.PENDING,
                dispatch.c.kind == kind,
                dispatch.c.attempts < self._policy.max_attempts,
                dispatch.c.next_attempt_at <= now,
                dispatch.c.publish_after <= now,
                or_(never_published, long_due) if lagging else true(),
            )
            .order_by(dispatch.c.next_attempt_at)
            .limit(at_most)
            .with_for_update(skip_locked=True, key_share=True)
            .cte("due")
        )
        marked = (
            update(dispatch)
            .where(_same_record(due))
            .values(publish_after=now + self._policy.republish)
            .returning(dispatch)
        )
        async with self._database.of_dispatch() as connection:
            records: Sequence[Row] = (await connection.execute(marked)).all()
            return records

    async def _unmark(self, records: Sequence[Row], now: datetime) -> None:
        """Redis did not take these: they are due again at the next beat."""
        subjects = [record.subject_id for record in records]
        async with self._database.of_dispatch() as connection:
            await connection.execute(
                update(dispatch)
                .where(dispatch.c.subject_id.in_(subjects), dispatch.c.state == WorkState.PENDING)
                .values(publish_after=now)
            )

    async def _release_expired(self) -> None:
        now = self._clock.now()
        attempts = range(1, self._policy.max_attempts + 1)
        longest = case(
            *((dispatch.c.attempts == n, self._policy.longest_pause_after(n).total_seconds()) for n in attempts),
            else_=0.0,
        )
        seconds = longest * (0.5 + func.random() / 2)  # as Policy.spread, for each record
        due_at = literal(now, _TIME) + func.make_interval(0, 0, 0, 0, 0, 0, seconds, type_=Interval)
        expired = (
            select(
                dispatch.c.tenant_id,
                dispatch.c.user_id,
                dispatch.c.kind,
                dispatch.c.subject_id,
                dispatch.c.run,
                due_at.label("due_at"),
            )
            .where(
                dispatch.c.state == WorkState.LEASED,
                dispatch.c.lease_until < now,
                dispatch.c.attempts < self._policy.max_attempts,
            )
            .with_for_update(skip_locked=True, key_share=True)
            .cte("expired")
        )
        released = (
            update(dispatch)
            .where(_same_record(expired))
            .values(
                state=WorkState.PENDING,
                lease_token=None,
                lease_until=None,
                next_attempt_at=expired.c.due_at,
                publish_after=expired.c.due_at,
                error_code="lease-expired",
            )
            .returning(dispatch.c.subject_id, dispatch.c.kind, dispatch.c.attempts)
        )
        async with self._database.of_dispatch() as connection:
            for row in await connection.execute(released):
                self._leases_expired.labels(row.kind).inc()
                _log.info("work.released", kind=row.kind, subject_id=str(row.subject_id), attempts=row.attempts)

    async def _end_hopeless(self) -> None:
        """End work that is out of attempts, and turns whose deadline passed while no agent held them."""
        for record in await self._hopeless():
            owner = Owner(tenant_id=record.tenant_id, user_id=record.user_id)
            try:
                async with self._database.of_user(owner) as tx:
                    await self._end(tx, record)
            except Exception as error:  # noqa: BLE001 - one unreadable record must not stop the others
                _log.error("work.not_ended", subject_id=str(record.subject_id), error=error)

    async def _hopeless(self) -> Sequence[Row]:
        now = self._clock.now()
        idle = or_(
            dispatch.c.state == WorkState.PENDING,
            and_(dispatch.c.state == WorkState.LEASED, dispatch.c.lease_until < now),
        )
        spent = dispatch.c.attempts >= self._policy.max_attempts
        late = and_(dispatch.c.kind == WorkKind.TURN, dispatch.c.deadline_at < now)
        async with self._database.of_dispatch() as connection:
            return (await connection.execute(select(dispatch).where(idle, or_(spent, late)).limit(_BATCH))).all()

    async def _end(self, tx: UserTransaction, found: Row) -> None:
        kind = WorkKind(found.kind)
        turn = None
        if kind is WorkKind.TURN:
            await lock_session(tx, found.session_id)
            turn = await find_turn(tx, found.subject_id, lock=True)
        record = await lock_work(tx, kind, found.subject_id, found.run)
        if not self._is_hopeless(record, tx.now):
            return  # it has moved since
        spent = record.attempts >= self._policy.max_attempts
        failure = FailureCode.ATTEMPTS_EXHAUSTED if spent else FailureCode.DEADLINE
        if turn is None:
            await revoke(tx, record, WorkState.DEAD, record.error_code or failure)
        elif TurnStatus(turn.status).open:
            await give_up(tx, turn, record, failure, WorkState.DEAD)
        _log.warning("work.dead", kind=kind, subject_id=str(record.subject_id), attempts=record.attempts)

    def _is_hopeless(self, record: Row, now: datetime) -> bool:
        """The same as the query above, said again under the lock: a lease may have been renewed meanwhile."""
        idle = record.state == WorkState.PENDING or (record.state == WorkState.LEASED and record.lease_until < now)
        spent = record.attempts >= self._policy.max_attempts
        late = record.kind == WorkKind.TURN and record.deadline_at is not None and record.deadline_at < now
        return bool(idle and (spent or late))


def _cause_of(record: Row) -> Cause:
    return Cause.REPLAY if record.run else Cause.SWEEP


def _same_record(due: Any) -> Any:
    return and_(
        dispatch.c.tenant_id == due.c.tenant_id,
        dispatch.c.user_id == due.c.user_id,
        dispatch.c.kind == due.c.kind,
        dispatch.c.subject_id == due.c.subject_id,
        dispatch.c.run == due.c.run,
    )
