"""Handles `turn.requested`: claim, work, finish. Whatever happens is recorded with memory or left to the lease's
end; the event is acked in any case, and the sweeper wakes what has not moved.

| what happens | what is recorded |
|---|---|
| lease lost, already done, session ended, memory cleared | nothing: the turn is no longer ours |
| memory does not answer | nothing: the lease runs out, and the turn is woken again |
| deadline, model unavailable or misbehaving, a limit | the turn fails, with an answer |
| shutdown | the turn is handed back; that spends no attempt |
| a bug | the turn is handed back and has spent an attempt |
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog

from agent.context.entries import EntryFactory
from agent.context.language import language_of
from agent.context.release import Releases
from agent.loop.guards.limits import LimitReached
from agent.loop.turn import Outcome, Turn, see_through
from agent.loop.turn_loop import TurnLoop
from agent.progress.feed import ProgressFeed, ProgressSink
from agent.turns.completed_event import EventPublisher, completed_event
from agent.turns.endings import failed, failure_of, store_ending, tell_ending
from agent.turns.lease import keep_lease
from agent.turns.leased_turn import LeasedTurn, MemoryCaller
from common.clock import Clock
from common.crash_points import CrashPoint, CrashPoints
from common.events import TurnRequested
from common.ids import IdFactory
from common.logs import get_logger
from common.memory_api.base import Owner
from common.memory_api.client import MemoryUnavailable
from common.memory_api.turns import ClaimedTurn, FailureCode
from common.problems import ProblemCode, ProblemError
from common.streams.consumer import AnyEvent
from common.streams.progress import ProgressEvent
from common.telemetry.metrics import Metrics
from common.telemetry.table import LEASES_LOST
from common.telemetry.traces import describe
from model_client.errors import ModelError

_log = get_logger(__name__)

_FINISH_MARGIN = 1.0
"""Seconds before the deadline at which the turn is failed, so that the failure is stored in time."""

_NO_LONGER_OURS = frozenset(
    {
        ProblemCode.LEASE_LOST,
        ProblemCode.LEASE_HELD,
        ProblemCode.NOT_DUE,
        ProblemCode.ALREADY_DONE,
        ProblemCode.SESSION_ENDED,
        ProblemCode.GENERATION_CHANGED,
        ProblemCode.NOT_FOUND,
    }
)


@dataclass(frozen=True)
class TurnTools:
    """What the worker makes a turn from."""

    memory: MemoryCaller
    loop: TurnLoop
    releases: Releases
    make: EntryFactory
    progress_of: Callable[[UUID, int], ProgressSink]
    publisher: EventPublisher
    clock: Clock
    new_id: IdFactory
    crash_points: CrashPoints
    metrics: Metrics


class TurnWorker:
    def __init__(self, tools: TurnTools) -> None:
        self._tools = tools
        self._leases_lost = tools.metrics.counter(LEASES_LOST)
        self._handing_back = asyncio.Event()

    def hand_back(self) -> None:
        """Hand back every turn at work, for a shutdown."""
        self._handing_back.set()

    async def handle(self, event: AnyEvent) -> None:
        """Work on the turn of a `turn.requested` event. Raises nothing but what is a bug in this method."""
        assert isinstance(event, TurnRequested)
        with structlog.contextvars.bound_contextvars(turn_id=str(event.turn_id)):
            owner = Owner(tenant_id=event.tenant_id, user_id=event.user_id)
            lease = LeasedTurn(self._tools.memory, owner, event.turn_id, self._tools.new_id())
            claimed = await self._claim(lease)
            if claimed is None:
                return
            _log.info("turn.claimed", attempt=claimed.attempt, head=claimed.head)
            describe(attempt=claimed.attempt)
            self._tools.crash_points.reach(CrashPoint.AGENT_CLAIMED)
            await self._hold(lease, claimed, owner)

    async def _claim(self, lease: LeasedTurn) -> ClaimedTurn | None:
        try:
            return await lease.claim()
        except ProblemError as problem:
            expected = problem.code in _NO_LONGER_OURS
            (_log.info if expected else _log.error)("turn.not_claimed", code=problem.code)
        except MemoryUnavailable:
            _log.warning("turn.not_claimed", code="memory-unavailable")
        return None

    async def _hold(self, lease: LeasedTurn, claimed: ClaimedTurn, owner: Owner) -> None:
        """Work while the lease is held and no shutdown comes."""
        working = asyncio.create_task(self._work(lease, claimed, owner), name="turn")
        keeping = asyncio.create_task(keep_lease(lease, claimed.lease_seconds, self._tools.clock), name="lease")
        leaving = asyncio.create_task(self._handing_back.wait(), name="hand-back")
        try:
            await asyncio.wait((working, keeping, leaving), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await working
                return
            await _cancelled(working)
            if keeping.done():
                self._leases_lost.labels(keeping.result()).inc()
                _log.info("turn.given_up", reason="lease lost")
            else:
                _log.info("turn.handed_back")
                await self._release(lease, error_code=None, spend_attempt=False)
        finally:
            for task in (working, keeping, leaving):
                await _cancelled(task)

    async def _work(self, lease: LeasedTurn, claimed: ClaimedTurn, owner: Owner) -> None:
        sink = self._tools.progress_of(claimed.turn_id, claimed.attempt)
        progress = ProgressFeed(sink)
        try:
            turn = self._begin(lease, claimed, progress)
            progress.emit(ProgressEvent.TURN_STARTED, {})
            outcome = await self._outcome_of(turn)
            await see_through(self._finish(turn, outcome, owner))
        except ProblemError as problem:
            await self._stopped_by(problem, lease)
        except MemoryUnavailable:
            _log.warning("turn.given_up", reason="memory unavailable")
        except Exception as error:  # noqa: BLE001 - the edge: a bug must end in a record, not in silence
            _log.error("turn.bug", error=error)
            await self._release(lease, error_code="bug", spend_attempt=True)
        finally:
            await progress.close()

    def _begin(self, lease: LeasedTurn, claimed: ClaimedTurn, progress: ProgressFeed) -> Turn:
        return Turn(
            claimed,
            lease,
            progress,
            self._tools.releases.of_session(claimed.release),
            language_of(claimed.text, claimed.settings.locale),
            give_up_at=self._tools.clock.monotonic() + _working_seconds(claimed),
        )

    async def _outcome_of(self, turn: Turn) -> Outcome:
        """The turn's answer, or its failure."""
        deadline = asyncio.timeout(_working_seconds(turn.claimed))
        try:
            async with deadline:
                return await self._tools.loop.run(turn)
        except (ModelError, LimitReached) as error:
            failure = failure_of(error)
            _log.warning("turn.failing", failure=failure, error=error)
        except TimeoutError:
            if not deadline.expired():
                raise
            failure = FailureCode.DEADLINE
            _log.warning("turn.failing", failure=failure)
        return failed(turn, failure, self._tools.make)

    async def _finish(self, turn: Turn, outcome: Outcome, owner: Owner) -> None:
        reach = self._tools.crash_points.reach
        reach(CrashPoint.AGENT_BEFORE_FINISH)
        reference = await store_ending(turn, outcome)
        reach(CrashPoint.AGENT_FINISHED)
        tell_ending(turn, outcome)
        await turn.progress.close()
        event = completed_event(owner, reference, self._tools.new_id(), self._tools.clock.now())
        await self._tools.publisher.publish(event, within=1.0)
        reach(CrashPoint.AGENT_PUBLISHED)
        _log.info("turn.finished", failure=outcome.failure, items=len(outcome.items), calls=turn.model_calls)

    async def _stopped_by(self, problem: ProblemError, lease: LeasedTurn) -> None:
        if problem.code in _NO_LONGER_OURS:
            _log.info("turn.given_up", reason=problem.code)
            return
        _log.error("turn.bug", code=problem.code, error=problem)
        await self._release(lease, error_code=problem.code, spend_attempt=True)

    async def _release(self, lease: LeasedTurn, *, error_code: str | None, spend_attempt: bool) -> None:
        """Best effort: without it the lease runs out by itself."""
        try:
            await lease.release(retry_in_seconds=0.0, error_code=error_code, spend_attempt=spend_attempt)
        except (ProblemError, MemoryUnavailable) as error:
            _log.info("turn.not_released", error=error)


def _working_seconds(claimed: ClaimedTurn) -> float:
    return max(0.0, claimed.deadline_seconds - min(_FINISH_MARGIN, claimed.deadline_seconds * 0.2))


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel the task and wait for its end; what it raises on the way has been logged or does not matter."""
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
